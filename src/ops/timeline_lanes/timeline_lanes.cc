// SPDX-License-Identifier: Apache-2.0
// `neurolens timeline-lanes`: the tree of lanes of a run's timeline.

#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "ops/timeline_request.h"
#include "report/text_table.h"

namespace nl::ops::timeline_lanes {

namespace {

struct TimelineLane {
  int64_t id = 0;
  std::optional<int64_t> parent;
  TimelineLaneKind kind{};
  std::string name;
  int64_t depths = 0, count = 0;
  std::optional<int64_t> first_ns, last_ns;
};
void Describe(Record<TimelineLane>& r) {
  using T = TimelineLane;
  r.Name("TimelineLane", "One lane of the timeline, or what lanes are drawn below");
  r.Field("id", &T::id, "Number of the lane in this run, in drawing order");
  r.Field("parent", &T::parent, "Lane it is drawn below; null: none");
  r.Field("kind", &T::kind, "What it is; counter and memory are lines, the others have spans");
  r.Field("name", &T::name, "Name within its parent");
  r.Field("depths", &T::depths, "Rows that its nested spans need");
  r.Field("count", &T::count, "Spans or values, those below it included");
  r.Field("first_ns", &T::first_ns, Unit::kNs,
          "First start, from the zero of the timeline; null: nothing has a time");
  r.Field("last_ns", &T::last_ns, Unit::kNs, "Last end");
}

struct LanesReply {
  std::string run_id;
  int64_t zero_ns = 0, first_ns = 0, last_ns = 0, events = 0;
  std::vector<TimelineLane> lanes;
};
void Describe(Record<LanesReply>& r) {
  using T = LanesReply;
  r.Name("TimelineLanesReply", "Reply of `neurolens timeline-lanes`");
  r.Field("run_id", &T::run_id, "The run");
  r.Field("zero_ns", &T::zero_ns, Unit::kNs,
          "Run clock (start_ns of the tables) at the zero of the timeline");
  r.Field("first_ns", &T::first_ns, Unit::kNs,
          "Start of the timeline: 0, or below where instants or samples are earlier");
  r.Field("last_ns", &T::last_ns, Unit::kNs, "End of the timeline");
  r.Field("events", &T::events, "Spans of all lanes");
  r.Field("lanes", &T::lanes, "Lanes in drawing order, each after its parent");
}

class TimelineLanesOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "timeline-lanes";
    info.summary = "Lanes of a run's timeline: devices, streams, threads, counters";
    info.choose_when =
        "Choose it before `timeline`, for the numbers of lanes. `timeline-window` lists what ran in a "
        "window by name.";
    info.example = "neurolens timeline-lanes @latest";
    info.cost = Cost::kSeconds;
    info.quick_when_open = true;
    info.reply = ReplyOf<LanesReply>();
    return info;
  }

  void Bind(ParamBinder& b) override { b.Add("run", run_, "Run to look at").Positional().Run(); }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const TimelineRun open, OpenTimelineRun(context, run_));
    const Overview& overview = open.timeline->overview();
    LanesReply reply;
    reply.run_id = open.run.run_id;
    reply.zero_ns = open.timeline->spans().zero_ns();
    reply.first_ns = overview.first_ns;
    reply.last_ns = overview.last_ns;
    reply.events = overview.events;
    for (const LaneNode& lane : open.timeline->lanes()) {
      reply.lanes.push_back({static_cast<int64_t>(reply.lanes.size()), lane.parent, lane.kind, lane.name,
                             lane.depths, lane.count, lane.first_ns, lane.last_ns});
    }
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<LanesReply>();
    if (r.lanes.empty()) return "this run has no events with a time\n";
    TextTable table({{"LANE", Align::kRight, false, 0},
                     {"KIND", Align::kLeft, false, 0},
                     {"NAME", Align::kLeft, true, 20},
                     {"DEPTHS", Align::kRight, false, 0},
                     {"EVENTS", Align::kRight, false, 0},
                     {"FROM", Align::kRight, false, 0},
                     {"TO", Align::kRight, false, 0}});
    for (const TimelineLane& lane : r.lanes) {
      size_t indent = 0;
      for (std::optional<int64_t> at = lane.parent; at; at = r.lanes[static_cast<size_t>(*at)].parent)
        indent += 2;
      const auto time = [](std::optional<int64_t> ns) {
        return ns ? HumanMs(static_cast<double>(*ns) / 1e6) : std::string();
      };
      table.AddRow({std::to_string(lane.id), std::string(NamesOf(lane.kind)[static_cast<size_t>(lane.kind)]),
                    std::string(indent, ' ') + lane.name, lane.depths == 0 ? "" : std::to_string(lane.depths),
                    HumanCount(lane.count), time(lane.first_ns), time(lane.last_ns)});
    }
    return table.Render(style.width, style.color);
  }

 private:
  std::string run_ = "@latest";
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<TimelineLanesOp>(); }

}  // namespace nl::ops::timeline_lanes
