// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report model: one JSON object from which every form of a report is made (report.json
// is the model itself). Sections come from the passes' facts under the pass's name; what a
// run does not have is absent. docs/report.md lists the members.
// Thread rule: pure functions over a finished analysis.

#include <string>

#include "analyze/analysis.h"
#include "base/json.h"

namespace nl {

inline constexpr int kReportSchemaVersion = 1;

// What comes from the snapshot rather than from facts: lists that other commands give too.
struct ReportLists {
  Json operators = Json::array(), kernels = Json::array(), copies = Json::array();
  size_t operators_total = 0, kernels_total = 0;  // before a limit
  Json memory;                                    // MemoryJson, or null
};

// Runs every pass that has not run yet.
Result<Json> BuildReport(Analysis& analysis, const std::string& run_id, ReportLists lists);

// Device memory as the allocator reported it: {peaks: [{device, allocated_bytes,
// reserved_bytes}], events, series: [{device, at_ms[], allocated_bytes[]}]}; null when the run
// has no allocation events.
Result<Json> MemoryJson(Snapshot& snapshot);

}  // namespace nl
