// SPDX-License-Identifier: Apache-2.0
// `neurolens launch`: the cost of launching, and how far the host ran ahead of the device.

#include <fmt/format.h>

#include "analyze/facts/launch.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/units.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::launch {

namespace {

struct LaunchReply : LaunchSection {
  std::string run_id;
  std::optional<PhaseTime> phase;
  double wall_ms = 0;
};
void Describe(Record<LaunchReply>& r) {
  r.Name("LaunchReply", "Reply of `neurolens launch`");
  r.Field("run_id", &LaunchReply::run_id, "The run");
  r.Field("phase", &LaunchReply::phase, "Part of the run that this is about; null: the whole run");
  r.Field("wall_ms", &LaunchReply::wall_ms, Unit::kMs, "Time from the first to the last event of the run");
  r.Base<LaunchSection>();
}

class LaunchOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "launch";
    info.summary = "Cost of launching: API time, queue delay, queue length, launch-bound share";
    info.choose_when =
        "Choose it when the host may be the limit; `idle` shows how long the device waited for it.";
    info.example = "neurolens launch @latest";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<LaunchReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    params_.BindPhase(b);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_TRY(NeedTimeline(open));
    NL_ASSIGN(const LaunchFacts* facts, open.analysis->Need<LaunchFacts>());
    const auto& timeline = open.analysis->facts().Get<TimelineFacts>();
    LaunchReply reply;
    static_cast<LaunchSection&>(reply) = SectionOf(*facts, timeline, open.analysis->data());
    reply.run_id = open.run.run.run_id;
    reply.phase = open.phase;
    reply.wall_ms = Ms(timeline.wall_ns());
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<LaunchReply>();
    if (reply.launches == 0) {
      return reply.work_items == 0 ? "no device work recorded\n"
                                   : fmt::format("{} device work items, none with a recorded launch\n",
                                                 HumanCount(reply.work_items));
    }
    return PhaseLine(reply.phase) + FiguresText(reply) + "\n" + CallsText(reply, style) + "\n" +
           StreamsText(reply, style);
  }

 private:
  static std::string FiguresText(const LaunchReply& r) {
    std::string out = fmt::format("{} in {}: {} inside the calls ({:.1f} % of the wall time)\n",
                                  Counted(r.launches, "launch"), HumanMs(r.wall_ms), HumanMs(r.api_ms),
                                  r.wall_ms > 0 ? 100 * r.api_ms / r.wall_ms : 0.0);
    out += fmt::format("median call {} (p95 {}); its work starts {} after the call began (p95 {})\n",
                       HumanMs(r.api_p50_us.value_or(0) / 1e3), HumanMs(r.api_p95_us.value_or(0) / 1e3),
                       HumanMs(r.queue_delay_p50_us.value_or(0) / 1e3),
                       HumanMs(r.queue_delay_p95_us.value_or(0) / 1e3));
    out += fmt::format("{:.1f} % of the launches started work shorter than the call; longest queue {}\n",
                       100 * r.launch_bound_share.value_or(0), r.queue_max);
    out +=
        fmt::format("sum of delays {}: small when the device waits for the host, large when work queues up\n",
                    HumanMs(r.transition_ms));
    if (r.graph_launches > 0) out += fmt::format("{} of a graph\n", Counted(r.graph_launches, "launch"));
    if (r.without_launch > 0)
      out += fmt::format("{} without a recorded launch\n", Counted(r.without_launch, "work item"));
    if (r.negative_delays > 0) {
      out += fmt::format(
          "{} work items start before their launch: host and device clocks disagree; they are left out of "
          "the delays\n",
          HumanCount(r.negative_delays));
    }
    return out;
  }

  static std::string CallsText(const LaunchReply& r, const TextStyle& style) {
    TextTable calls({{"CALL", Align::kLeft, true, 20},
                     {"TIME", Align::kRight, false, 0},
                     {"CALLS", Align::kRight, false, 0},
                     {"MEAN", Align::kRight, false, 0}});
    for (const LaunchCall& c : r.calls)
      calls.AddRow(
          {c.name, HumanMs(c.ms), HumanCount(c.calls), HumanMs(c.ms / static_cast<double>(c.calls))});
    return calls.Render(style.width, style.color);
  }

  static std::string StreamsText(const LaunchReply& r, const TextStyle& style) {
    TextTable streams({{"DEVICE", Align::kRight, false, 0},
                       {"STREAM", Align::kRight, false, 0},
                       {"LONGEST QUEUE", Align::kRight, false, 0},
                       {"MEAN", Align::kRight, false, 0}});
    for (const LaunchQueue& s : r.streams) {
      streams.AddRow({s.device ? std::to_string(*s.device) : "?", s.stream ? std::to_string(*s.stream) : "?",
                      HumanCount(s.queue_max), fmt::format("{:.1f}", s.queue_mean)});
    }
    return streams.Render(style.width, style.color);
  }

  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<LaunchOp>(); }

}  // namespace nl::ops::launch
