// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which operators of a run were recorded, and which are inferred from the same launches elsewhere
// (passes/timeline/complete_ops.h), in runs of which operators were observed in some steps only.
// Thread rule: read-only once built.

#include <map>
#include <string>
#include <vector>

#include "analyze/facts/phases.h"
#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"
#include "base/intervals.h"

namespace nl::program {

// Whether a node of the host tree is a copy: its name and row are right, its times are interpolated.
inline bool IsInferred(const TimelineFacts& t, uint32_t node) {
  const HostKind kind = t.host.kind[node];
  if (kind == HostKind::kOp) return t.node_of_op[t.host.row[node]] != node;
  return kind == HostKind::kRange && t.node_of_range[t.host.row[node]] != node;
}

inline constexpr Reads kObservedReads =
    NL_READS(Thread, process_id) | NL_READS(Range, thread_id, start_ns, dur_ns, name, category);

class ObservedSteps {
 public:
  explicit ObservedSteps(const RunData& data);

  bool all() const { return not_observed_.empty(); }
  // Where operators of a thread were not observed; in order, not overlapping.
  const std::vector<Interval>& NotObserved(ThreadId thread) const;
  int32_t ProcessOf(ThreadId thread) const;
  // Of a time on any thread of the run.
  bool Observed(int64_t start_ns, int64_t end_ns) const;
  // Whether operators were observed from the begin of the step to its end; of each step.
  std::vector<bool> Of(const std::vector<PhasesFacts::Step>& steps) const;

 private:
  const RunData& data_;
  std::map<int32_t, std::vector<Interval>> not_observed_;  // by process
  std::vector<Interval> any_;                              // of any process
};

}  // namespace nl::program
