// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `report` and `analyze` share: the model of one run's report, its forms as files, and
// the few lines of it for a terminal.
// Thread rule: one request, one thread.

#include <string>
#include <vector>

#include "ops/open_analysis.h"

namespace nl {

// Rows a report carries of operators and of kernels; the commands of these names give all.
inline constexpr size_t kMaxReportRows = 1000;

// The report model (report/report_model.h) of an opened run.
Result<Json> MakeReport(OpenAnalysis& open);

// What to write where; empty: not.
struct ReportFiles {
  std::string md, html, json, operators_md, kernels_md, stakeholder_md;
};
// Writes each file whole, making its folder. Gives [{path, form, bytes}].
Result<Json> WriteReport(const Json& report, const ReportFiles& files);

// {run_id, wall_ms, verdict, diagnosis, breakdown, findings}: what the text says, from the model.
Json ReportReply(const Json& report);
Json ReportReplySchema();
std::string ReportReplyText(const Json& reply, const TextStyle& style);

}  // namespace nl
