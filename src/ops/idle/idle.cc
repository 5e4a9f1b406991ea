// SPDX-License-Identifier: Apache-2.0
// `neurolens idle`: why the devices of a run were idle.

#include <algorithm>

#include <fmt/format.h>

#include "analyze/facts/accounting.h"
#include "analyze/facts/idle.h"
#include "base/human.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::idle {

namespace {

class IdleOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "idle";
    info.summary = "Why the devices were idle: host, launch, sync or other, and what the host was doing";
    info.choose_when =
        "Choose it when `summary` shows a low utilization; `launch` tells the cost of launching itself.";
    info.example = "neurolens idle @latest";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(R"({"type": "object",
      "required": ["run_id", "wall_ms", "idle_ms", "host_ms", "launch_ms", "sync_ms", "other_ms", "gap_count", "devices", "causes", "largest"],
      "properties": {"run_id": {"type": "string"}, "wall_ms": {"type": "number"}, "idle_ms": {"type": "number"},
        "host_ms": {"type": "number"}, "launch_ms": {"type": "number"}, "sync_ms": {"type": "number"}, "other_ms": {"type": "number"},
        "gap_count": {"type": "integer"}, "floor_us": {"type": "number", "description": "launch latency floor of this trace"},
        "devices": {"type": "array"}, "causes_total": {"type": "integer"},
        "causes": {"type": "array", "items": {"type": "object", "required": ["what", "name", "ms", "share", "gaps"]}},
        "largest": {"type": "array", "items": {"type": "object", "required": ["device", "start_ms", "dur_ms", "cause", "name", "next"]}}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    b.Add("limit", limit_, "Causes to list; 0 lists all").Range(0, 1e9);
    b.Add("gaps", gaps_, "Longest gaps to list").Range(0, IdleFacts::kMaxListed);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_TRY(NeedTimeline(open));
    NL_ASSIGN(const IdleFacts* facts, open.analysis->Need<IdleFacts>());
    const auto& timeline = open.analysis->facts().Get<TimelineFacts>();
    Reply reply;
    reply.json = ToJson(*facts, timeline, open.analysis->data());
    reply.json["run_id"] = open.run.run.run_id;
    reply.json["wall_ms"] = static_cast<double>(timeline.wall_ns()) / 1e6;
    Json& causes = reply.json["causes"];
    reply.json["causes_total"] = causes.size();
    if (limit_ > 0 && causes.size() > static_cast<size_t>(limit_))
      causes.erase(causes.begin() + static_cast<ptrdiff_t>(limit_), causes.end());
    Json& largest = reply.json["largest"];
    if (largest.size() > static_cast<size_t>(gaps_))
      largest.erase(largest.begin() + static_cast<ptrdiff_t>(gaps_), largest.end());
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    if (r["devices"].empty()) return "no device work recorded, so no idle time to explain\n";
    std::string out;
    for (const Json& d : r["devices"]) out += DeviceText(d, r["wall_ms"]);
    TextTable causes({{"IDLE BECAUSE", Align::kLeft, false, 0},
                      {"NAME", Align::kLeft, true, 20},
                      {"TIME", Align::kRight, false, 0},
                      {"SHARE", Align::kRight, false, 0},
                      {"GAPS", Align::kRight, false, 0}});
    for (const Json& c : r["causes"]) {
      causes.AddRow({c["what"], c["name"].is_null() ? "" : c["name"].get<std::string>(), HumanMs(c["ms"]),
                     c["share"].is_null() ? "" : fmt::format("{:.1f} %", 100 * c["share"].get<double>()),
                     HumanCount(c["gaps"])});
    }
    if (!r["causes"].empty()) out += "\n" + causes.Render(style.width, style.color);
    if (r["causes_total"] > r["causes"].size())
      out += fmt::format("{} more causes; --limit 0 lists all\n",
                         r["causes_total"].get<size_t>() - r["causes"].size());
    if (!r["largest"].empty()) out += "\n" + GapsText(r["largest"], r["wall_ms"], style);
    return out;
  }

 private:
  static std::string DeviceText(const Json& d, double wall_ms) {
    const double idle = d["idle_ms"], paused = d["paused_ms"], recorded = wall_ms - paused;
    const auto part = [&](const char* key) {
      const double ms = d[key];
      return fmt::format("{} {} ({:.0f} %)", std::string(key).substr(0, std::string(key).size() - 3),
                         HumanMs(ms), idle > 0 ? 100 * ms / idle : 0.0);
    };
    return fmt::format("device {}{}: idle {} of {} ({:.1f} %){}\n  {}, {}, {}, {}\n",
                       d["index"].is_null() ? "?" : DumpJson(d["index"]),
                       d["rank"].is_null() ? "" : fmt::format(" of rank {}", d["rank"].get<int>()),
                       HumanMs(idle), HumanMs(recorded), recorded > 0 ? 100 * idle / recorded : 0.0,
                       paused > 0 ? fmt::format(", not recorded {}", HumanMs(paused)) : "", part("host_ms"),
                       part("launch_ms"), part("sync_ms"), part("other_ms"));
  }

  // What ended a gap; where it is no work, the run's end or a switch of the recording.
  static std::string EndText(const Json& gap, double wall_ms) {
    if (!gap["next"].is_null()) return gap["next"].get<std::string>();
    if (gap["cause"] == IdleCauseName(IdleCause::kNotRecorded)) return "(recording went on)";
    const double end_ms = gap["start_ms"].get<double>() + gap["dur_ms"].get<double>();
    return end_ms < wall_ms - 1e-6 ? "(recording paused)" : "(end of the run)";
  }

  static std::string GapsText(const Json& gaps, double wall_ms, const TextStyle& style) {
    TextTable table({{"AT", Align::kRight, false, 0},
                     {"GAP", Align::kRight, false, 0},
                     {"MOSTLY", Align::kLeft, false, 0},
                     {"NAME", Align::kLeft, true, 12},
                     {"ENDED BY", Align::kLeft, true, 12}});
    for (const Json& g : gaps) {
      table.AddRow({HumanMs(g["start_ms"]), HumanMs(g["dur_ms"]), g["cause"],
                    g["name"].is_null() ? "" : g["name"].get<std::string>(), EndText(g, wall_ms)});
    }
    return table.Render(style.width, style.color);
  }

  AnalysisParams params_;
  int64_t limit_ = 15, gaps_ = 5;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<IdleOp>(); }

}  // namespace nl::ops::idle
