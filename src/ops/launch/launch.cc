// SPDX-License-Identifier: Apache-2.0
// `neurolens launch`: what launching cost, and how far the host ran ahead of the device.

#include <fmt/format.h>

#include "analyze/facts/launch.h"
#include "base/human.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::launch {

namespace {

class LaunchOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "launch";
    info.summary = "What launching cost: API time, queue delay, queue length, launch-bound share";
    info.choose_when = "Choose it when the host may be the limit; `idle` tells what the device lost by it.";
    info.example = "neurolens launch @latest";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(R"({"type": "object",
      "required": ["run_id", "wall_ms", "launches", "api_ms", "queue_delay_p50_us", "launch_bound_share", "transition_ms", "streams", "calls"],
      "properties": {"run_id": {"type": "string"}, "wall_ms": {"type": "number"}, "launches": {"type": "integer"},
        "graph_launches": {"type": "integer"}, "work_items": {"type": "integer"}, "without_launch": {"type": "integer"},
        "api_ms": {"type": "number"}, "api_p50_us": {"type": ["number", "null"]}, "api_p95_us": {"type": ["number", "null"]},
        "queue_delay_p50_us": {"type": ["number", "null"]}, "queue_delay_p95_us": {"type": ["number", "null"]},
        "transition_ms": {"type": "number", "description": "sum over launches of gpu_start - launch_start"},
        "launch_bound_share": {"type": ["number", "null"], "description": "launches whose work ran shorter than the call, 0..1"},
        "queue_max": {"type": "integer"},
        "streams": {"type": "array", "items": {"type": "object", "required": ["device", "stream", "queue_max", "queue_mean"]}},
        "calls": {"type": "array", "items": {"type": "object", "required": ["name", "calls", "ms"]}}}})");
    return info;
  }

  void Bind(ParamBinder& b) override { params_.BindRun(b); }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_TRY(NeedTimeline(open));
    NL_ASSIGN(const LaunchFacts* facts, open.analysis->Need<LaunchFacts>());
    const auto& timeline = open.analysis->facts().Get<TimelineFacts>();
    Reply reply;
    reply.json = ToJson(*facts, timeline, open.analysis->data());
    reply.json["run_id"] = open.run.run.run_id;
    reply.json["wall_ms"] = static_cast<double>(timeline.wall_ns()) / 1e6;
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    if (r["launches"] == 0) {
      return r["work_items"] == 0 ? "no device work recorded\n"
                                  : fmt::format("{} device work items, none with a recorded launch\n",
                                                HumanCount(r["work_items"]));
    }
    const double wall_ms = r["wall_ms"], api_ms = r["api_ms"];
    std::string out = fmt::format("{} launches in {}: {} inside the calls ({:.1f} % of the wall)\n",
                                  HumanCount(r["launches"]), HumanMs(wall_ms), HumanMs(api_ms),
                                  wall_ms > 0 ? 100 * api_ms / wall_ms : 0.0);
    out += fmt::format(
        "a call takes {:.1f} us (p95 {:.1f}); work starts {:.1f} us after it began (p95 {:.1f})\n",
        r["api_p50_us"].get<double>(), r["api_p95_us"].get<double>(), r["queue_delay_p50_us"].get<double>(),
        r["queue_delay_p95_us"].get<double>());
    out += fmt::format("{:.1f} % of the launches started work shorter than the call; longest queue {}\n",
                       100 * r["launch_bound_share"].get<double>(), r["queue_max"].get<int64_t>());
    out += fmt::format("transition metric {}: {}\n", HumanMs(r["transition_ms"]),
                       "small when the device waits for the host, large when work queues up");
    if (r["graph_launches"] > 0)
      out += fmt::format("{} of them launch a graph\n", HumanCount(r["graph_launches"]));
    if (r["without_launch"] > 0)
      out += fmt::format("{} work items have no recorded launch\n", HumanCount(r["without_launch"]));
    if (r["negative_delays"] > 0) {
      out += fmt::format(
          "{} start before their launch: host and device clocks disagree; they are left out of the delays\n",
          HumanCount(r["negative_delays"]));
    }
    TextTable calls({{"CALL", Align::kLeft, true, 20},
                     {"TIME", Align::kRight, false, 0},
                     {"CALLS", Align::kRight, false, 0},
                     {"MEAN", Align::kRight, false, 0}});
    for (const Json& c : r["calls"]) {
      calls.AddRow({c["name"], HumanMs(c["ms"]), HumanCount(c["calls"]),
                    HumanMs(c["ms"].get<double>() / c["calls"].get<double>())});
    }
    TextTable streams({{"DEVICE", Align::kRight, false, 0},
                       {"STREAM", Align::kRight, false, 0},
                       {"LONGEST QUEUE", Align::kRight, false, 0},
                       {"MEAN", Align::kRight, false, 0}});
    for (const Json& s : r["streams"]) {
      streams.AddRow({s["device"].is_null() ? "?" : DumpJson(s["device"]),
                      s["stream"].is_null() ? "?" : DumpJson(s["stream"]), HumanCount(s["queue_max"]),
                      fmt::format("{:.1f}", s["queue_mean"].get<double>())});
    }
    return out + "\n" + calls.Render(style.width, style.color) + "\n" +
           streams.Render(style.width, style.color);
  }

 private:
  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<LaunchOp>(); }

}  // namespace nl::ops::launch
