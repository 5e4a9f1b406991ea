// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the analysis of the run knows about one event: findings that name it, and how near it is to the limits
// of the device. Thread rule: plain values; the function serves one request.

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/findings.h"
#include "analyze/facts/roofline.h"
#include "ops/op.h"

namespace nl::ops::timeline_event {

struct EventAnalysis {
  std::vector<Finding> findings;
  std::optional<RooflineRow> roofline;
  std::optional<std::string> roofline_reason;
  // Table and id of the same collective on other ranks or devices, by member; not part of the reply: the
  // chain has them.
  std::vector<std::pair<std::string, int64_t>> peers;
};
void Describe(Record<EventAnalysis>& r);

// What the event is, and what launched it.
struct EventIdentity {
  std::vector<std::pair<std::string, int64_t>>
      rows;                                         // table and id of the event, its launch and its operator
  std::optional<std::string> kernel, kernel_short;  // names of a kernel
  std::optional<std::string> op, op_shapes;         // the event's operator and its input shapes
};
Result<EventAnalysis> AnalyzeEvent(const OpContext& context, const std::string& run,
                                   const EventIdentity& event);

}  // namespace nl::ops::timeline_event
