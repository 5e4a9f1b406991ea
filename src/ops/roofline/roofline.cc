// SPDX-License-Identifier: Apache-2.0
// `neurolens roofline`: how close ops come to what the device can do.

#include <fmt/format.h>

#include "analyze/facts/roofline.h"
#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::roofline {

namespace {

// [[8,512],[512,64],[],[]] as 8x512 512x64.
std::string Shapes(const Json& dims) {
  if (!dims.is_string()) return "-";
  std::string out;
  int depth = 0;
  for (const char c : dims.get<std::string>()) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ' ' || c == '[' || c == ']') continue;
    const bool between = c == ',' && depth == 1;
    if (!between) {
      out += c == ',' ? 'x' : c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.empty() ? "-" : out;
}

std::string Number(const Json& value) {
  if (value.is_null()) return "-";
  const double v = value;
  return v >= 100 ? fmt::format("{:.0f}", v) : v >= 10 ? fmt::format("{:.1f}", v) : fmt::format("{:.2f}", v);
}

std::string Without(std::string text, std::string_view prefix) {
  return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
}

class RooflineOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "roofline";
    info.summary = "FLOPs, bytes and efficiency of each op and shape against the peaks of the device";
    info.choose_when =
        "Choose it to see which ops are slow for what they compute. `kernels` tells where the time goes, "
        "`critical-path` whether it matters.";
    info.example = "neurolens roofline @latest --limit 20";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["run_id", "points", "kernels", "peaks", "peaks_reason", "device_ms", "assessed_ms"],
      "properties": {"run_id": {"type": "string"},
        "points": {"type": "array", "items": {"$ref": "#/definitions/point"}},
        "kernels": {"type": "array", "items": {"$ref": "#/definitions/point"}},
        "counted": {"type": "array", "description": "kernels by their measured counters", "items": {"$ref": "#/definitions/point"}},
        "counted_ms": {"type": "number"},
        "peaks": {"type": "array", "items": {"type": "object", "required": ["device", "source"]}},
        "peaks_reason": {"type": ["string", "null"]},
        "device_ms": {"type": "number"}, "assessed_ms": {"type": "number"}},
      "definitions": {"point": {"type": "object",
        "required": ["op", "kernel", "flops", "bytes", "ai", "tflops", "gbps", "t_roof_ms", "t_measured_ms", "efficiency", "bound",
          "source", "reason"],
        "properties": {"bound": {"enum": ["compute", "memory", null]}, "t_measured_ms": {"type": "number"},
          "efficiency": {"type": ["number", "null"]}}}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    params_.BindPeaks(b);
    b.Add("limit", limit_, "Points to list").Range(1, 100000);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const RooflineFacts* facts, open.analysis->Need<RooflineFacts>());
    Reply reply;
    reply.json["run_id"] = open.run.run.run_id;
    reply.json.update(ToJson(*facts, open.analysis->data(), static_cast<size_t>(limit_)));
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    std::string out;
    for (const Json& p : r["peaks"]) out += Line(PeaksText(p), style);
    if (r["peaks_reason"].is_string())
      out += Line("efficiency is unknown: " + r["peaks_reason"].get<std::string>(), style);
    if (r["points"].empty())
      return out + "no kernel of this run is linked to a framework op\n" + CountedText(r, style);
    out += Line(fmt::format("efficiency is known for {} of {} kernel time; FLOPs and bytes from input shapes",
                            HumanMs(r["assessed_ms"]), HumanMs(r["device_ms"])),
                style);
    TextTable table({{"OP", Align::kLeft, true, 10},
                     {"SHAPES", Align::kLeft, true, 10},
                     {"CALLS", Align::kRight, false, 0},
                     {"GPU", Align::kRight, false, 0},
                     {"TFLOP/s", Align::kRight, false, 0},
                     {"GB/s", Align::kRight, false, 0},
                     {"AI", Align::kRight, false, 0},
                     {"BOUND", Align::kLeft, false, 0},
                     {"EFF", Align::kRight, false, 0}});
    std::map<std::string, double> unknown;  // reason -> ms
    for (const Json& p : r["points"]) {
      const Json& efficiency = p["efficiency"];
      table.AddRow({p["op"].is_null() ? "-" : Without(p["op"], "aten::"), Shapes(p["shapes"]),
                    HumanCount(p["calls"]), HumanMs(p["t_measured_ms"]), Number(p["tflops"]),
                    Number(p["gbps"]), Number(p["ai"]),
                    p["bound"].is_null() ? "-" : p["bound"].get<std::string>(),
                    efficiency.is_null() ? "-" : fmt::format("{:.0f} %", 100 * efficiency.get<double>())});
      if (p["reason"].is_string()) unknown[p["reason"]] += p["t_measured_ms"].get<double>();
    }
    out += "\n" + table.Render(style.width, style.color);
    const size_t total = r["points_total"], shown = r["points"].size();
    if (total > shown)
      out += fmt::format("{} more; --limit shows them\n", HumanCount(static_cast<int64_t>(total - shown)));
    for (const auto& [reason, ms] : unknown) {
      if (r["peaks_reason"] != reason)
        out += Line(fmt::format("not assessed, {} of the above: {}", HumanMs(ms), reason), style);
    }
    return out + CountedText(r, style);
  }

 private:
  // Kernels with hardware counters: what was measured, not what shapes tell.
  static std::string CountedText(const Json& r, const TextStyle& style) {
    if (r["counted"].empty()) return "";
    std::string out =
        "\n" +
        Line(fmt::format("measured by counters, {} of {} kernel time; EFF is the larger of SM and DRAM "
                         "throughput against its peak",
                         HumanMs(r["counted_ms"]), HumanMs(r["device_ms"])),
             style);
    TextTable table({{"KERNEL", Align::kLeft, true, 16},
                     {"CALLS", Align::kRight, false, 0},
                     {"GPU", Align::kRight, false, 0},
                     {"TFLOP/s", Align::kRight, false, 0},
                     {"GB/s", Align::kRight, false, 0},
                     {"AI", Align::kRight, false, 0},
                     {"BOUND", Align::kLeft, false, 0},
                     {"EFF", Align::kRight, false, 0}});
    for (const Json& p : r["counted"]) {
      const Json& efficiency = p["efficiency"];
      table.AddRow({p["kernel"].is_null() ? "-" : p["kernel"].get<std::string>(), HumanCount(p["calls"]),
                    HumanMs(p["t_measured_ms"]), Number(p["tflops"]), Number(p["gbps"]), Number(p["ai"]),
                    p["bound"].is_null() ? "-" : p["bound"].get<std::string>(),
                    efficiency.is_null() ? "-" : fmt::format("{:.0f} %", 100 * efficiency.get<double>())});
    }
    out += "\n" + table.Render(style.width, style.color);
    const size_t total = r["counted_total"], shown = r["counted"].size();
    if (total > shown)
      out += fmt::format("{} more; --limit shows them\n", HumanCount(static_cast<int64_t>(total - shown)));
    return out;
  }
  static std::string Line(const std::string& text, const TextStyle& style) {
    return Wrap(text, style.width, 2) + "\n";
  }
  static std::string PeaksText(const Json& p) {
    const auto peak = [&](const char* key) {
      return p.contains(key) && p[key].is_number() ? Number(p[key]) : "-";
    };
    return fmt::format("peaks of {}: bf16 {}, tf32 {}, fp32 {} TFLOP/s, memory {} GB/s ({})",
                       p["device"].get<std::string>(), peak("bf16_tflops"), peak("tf32_tflops"),
                       peak("fp32_tflops"), peak("dram_gbps"), p["source"].get<std::string>());
  }

  AnalysisParams params_;
  int64_t limit_ = 20;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RooflineOp>(); }

}  // namespace nl::ops::roofline
