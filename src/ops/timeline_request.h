// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the operations about a run's timeline: opening it, choosing lanes, the window.
// Thread rule: one request, one thread.

#include <memory>
#include <string>
#include <vector>

#include "ops/find_run.h"
#include "ops/op.h"
#include "ops/open_store.h"
#include "timeline/timeline.h"

namespace nl {

struct TimelineRun {
  CatalogRun run;
  std::shared_ptr<UniqueFd> in_use;  // of a partial run
  std::shared_ptr<const Timeline> timeline;
};
// Unsupported where the source recorded durations without times.
Result<TimelineRun> OpenTimelineRun(const OpContext& context, const std::string& ref);

inline constexpr char kLanesHelp[] =
    "Only these lanes: number of a lane or of one it is below (`timeline-lanes` lists them), its kind "
    "(stream, thread, ...) or text in its name; stacks of CPU samples by their own number, or all as stacks";
// Numbers of the lanes that `wanted` names, in order; all but stacks when it is empty. One that names nothing
// is InvalidInput.
Result<std::vector<int64_t>> ChooseLanes(const Timeline& timeline, const std::vector<std::string>& wanted);

// A window in ns from the zero of the timeline; `to_ns` 0 is the end of the run.
struct TimeWindow {
  int64_t from_ns = 0, to_ns = 0;
  void Bind(ParamBinder& binder);
  Status Complete(const Timeline& timeline);  // an empty window is InvalidInput
};

}  // namespace nl
