// SPDX-License-Identifier: Apache-2.0
// `neurolens overlap`: how much of the communication and copies ran beside compute.

#include <fmt/format.h>

#include "analyze/facts/accounting.h"
#include "base/human.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::overlap {

namespace {

class OverlapOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "overlap";
    info.summary =
        "What ran at the same time: compute, communication and copies, per device; parts sum to the wall";
    info.choose_when = "Choose it when copies or collectives take time; `summary` gives the totals only.";
    info.example = "neurolens overlap @latest";
    info.cost = Cost::kSeconds;
    info.reply_schema =
        SchemaFromText(R"({"type": "object", "required": ["run_id", "wall_ms", "devices", "steps", "threads"],
      "properties": {"run_id": {"type": "string"}, "wall_ms": {"type": "number"},
        "devices": {"type": "array", "items": {"type": "object", "required": ["index", "rank", "name", "busy_ms", "idle_ms", "compute_ms",
          "communication_ms", "memory_ms", "overlap_ms", "utilization", "parts", "hidden_communication_share", "hidden_memory_share"]}},
        "steps": {"type": "array"}, "threads": {"type": "array"}}})");
    return info;
  }

  void Bind(ParamBinder& b) override { params_.BindRun(b); }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_TRY(NeedTimeline(open));
    NL_ASSIGN(const AccountingFacts* facts, open.analysis->Need<AccountingFacts>());
    Reply reply;
    reply.json = ToJson(*facts, open.analysis->facts().Get<TimelineFacts>(), open.analysis->data());
    reply.json["run_id"] = open.run.run.run_id;
    for (Json& d : reply.json["devices"]) {
      const double communication = d["communication_ms"], memory = d["memory_ms"];
      d["hidden_communication_share"] =
          communication > 0 ? Json(d["compute_communication_ms"].get<double>() / communication) : Json();
      d["hidden_memory_share"] = memory > 0 ? Json(d["compute_memory_ms"].get<double>() / memory) : Json();
    }
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    if (r["devices"].empty()) return "no device work recorded\n";
    std::string out = fmt::format("wall {}\n", HumanMs(r["wall_ms"]));
    for (const Json& d : r["devices"]) {
      out += fmt::format("\ndevice {}{}{}: busy {} ({:.1f} %)\n",
                         d["index"].is_null() ? "?" : DumpJson(d["index"]),
                         d["rank"].is_null() ? "" : fmt::format(" of rank {}", d["rank"].get<int>()),
                         d["name"].is_null() ? "" : " " + d["name"].get<std::string>(), HumanMs(d["busy_ms"]),
                         d["utilization"].is_null() ? 0.0 : 100 * d["utilization"].get<double>());
      out += Hidden("communication", d["hidden_communication_share"]) +
             Hidden("copies and memsets", d["hidden_memory_share"]);
      TextTable parts({{"WHAT RAN", Align::kLeft, false, 0},
                       {"TIME", Align::kRight, false, 0},
                       {"SHARE", Align::kRight, false, 0}});
      for (const Json& p : d["parts"]) {
        parts.AddRow({p["what"], HumanMs(p["ms"]),
                      p["share"].is_null() ? "" : fmt::format("{:.2f} %", 100 * p["share"].get<double>())});
      }
      out += parts.Render(style.width, style.color);
    }
    return out;
  }

 private:
  static std::string Hidden(const char* what, const Json& share) {
    return share.is_null()
               ? ""
               : fmt::format("  {:.1f} % of the {} ran beside compute\n", 100 * share.get<double>(), what);
  }

  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<OverlapOp>(); }

}  // namespace nl::ops::overlap
