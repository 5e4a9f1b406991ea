// SPDX-License-Identifier: Apache-2.0
#include "ops/timeline_request.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_analysis.h"

namespace nl {

Result<TimelineRun> OpenTimelineRun(const OpContext& context, const std::string& ref) {
  TimelineRun out;
  NL_ASSIGN(FoundRun found, FindRun(context, ref));
  out.run = std::move(found.run);
  out.in_use = std::move(found.in_use);
  OpenTimelineOptions options;
  options.cancelled = context.cancelled;
  options.too_long = context.too_long;
  if (context.progress) {
    options.progress = [&context](int64_t done_bytes, int64_t total_bytes) {
      context.progress("overview of the timeline", done_bytes, total_bytes);
    };
  }
  NL_ASSIGN(out.timeline, OpenTimeline(*found.store, out.run, options));
  if (out.timeline->order_only()) return WithoutTimeline();
  return out;
}

namespace {

// Whether `wanted` names lane `i` or one above it.
bool Names(const std::vector<LaneNode>& lanes, const std::string& wanted, size_t i) {
  int64_t number = -1;
  const char* end = wanted.data() + wanted.size();
  if (const auto [at, bad] = std::from_chars(wanted.data(), end, number); bad != std::errc() || at != end)
    number = -1;
  // Boxes of stacks repeat the samples above them: they are drawn when they are asked for themselves.
  const bool is_alone = lanes[i].kind == TimelineLaneKind::kStacks;
  for (std::optional<int64_t> at = static_cast<int64_t>(i); at;
       at = is_alone ? std::nullopt : lanes[static_cast<size_t>(*at)].parent) {
    const LaneNode& lane = lanes[static_cast<size_t>(*at)];
    if (number >= 0 ? *at == number
                    : wanted == NamesOf(lane.kind)[static_cast<size_t>(lane.kind)] ||
                          lane.name.find(wanted) != std::string::npos)
      return true;
  }
  return false;
}

}  // namespace

Result<std::vector<int64_t>> ChooseLanes(const Timeline& timeline, const std::vector<std::string>& wanted) {
  const std::vector<LaneNode>& lanes = timeline.lanes();
  std::vector<char> chosen(lanes.size(), 0);
  for (size_t i = 0; wanted.empty() && i < lanes.size(); ++i)
    chosen[i] = lanes[i].kind == TimelineLaneKind::kStacks ? 0 : 1;
  for (const std::string& name : wanted) {
    bool found = false;
    for (size_t i = 0; i < lanes.size(); ++i) {
      if (!Names(lanes, name, i)) continue;
      chosen[i] = 1;
      found = true;
    }
    if (!found) {
      return InvalidInput(fmt::format("no lane of this run is named by '{}'", PrintableName(name, 80)))
          .Hint("`neurolens timeline-lanes` lists the lanes");
    }
  }
  std::vector<int64_t> out;
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (chosen[i] != 0) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

void TimeWindow::Bind(ParamBinder& b) {
  b.Add("from_ns", from_ns, "Start of the window in ns from the first event of the run")
      .Range(-4.6e18, 4.6e18);
  b.Add("to_ns", to_ns, "End of the window in ns; 0: the end of the run").Range(-4.6e18, 4.6e18);
}

Status TimeWindow::Complete(const Timeline& timeline) {
  if (to_ns == 0) to_ns = std::max(timeline.overview().last_ns, int64_t{1});
  if (from_ns < to_ns && to_ns - from_ns <= kMostTime_ns) return {};
  return InvalidInput(fmt::format("the window from {} ns to {} ns is {}", from_ns, to_ns,
                                  from_ns < to_ns ? "too long" : "empty"))
      .Hint(fmt::format("this run lasts {} ns ({})", timeline.overview().last_ns,
                        HumanMs(static_cast<double>(timeline.overview().last_ns) / 1e6)));
}

}  // namespace nl
