// SPDX-License-Identifier: Apache-2.0
// `neurolens roofline`: how close operators come to the peaks of the device.

#include <map>

#include <fmt/format.h>

#include "analyze/facts/roofline.h"
#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::roofline {

namespace {

struct RooflineReply : RooflineSection {
  std::string run_id;
  std::optional<PhaseTime> phase;
};
void Describe(Record<RooflineReply>& r) {
  r.Name("RooflineReply", "Reply of `neurolens roofline`");
  r.Field("run_id", &RooflineReply::run_id, "The run");
  r.Field("phase", &RooflineReply::phase, "Part of the run that this is about; null: the whole run");
  r.Base<RooflineSection>();
}

// [[8,512],[512,64],[],[]] as 8x512 512x64.
std::string Shapes(const std::optional<std::string>& dims) {
  if (!dims) return "-";
  std::string out;
  int depth = 0;
  for (const char c : *dims) {
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

std::string Number(const std::optional<double>& value) {
  if (!value) return "-";
  const double v = *value;
  return v >= 100 ? fmt::format("{:.0f}", v) : v >= 10 ? fmt::format("{:.1f}", v) : fmt::format("{:.2f}", v);
}

std::string Percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : "-";
}

std::string BoundText(const std::optional<RooflineBound>& bound) {
  return bound ? std::string(NamesOf(*bound)[static_cast<size_t>(*bound)]) : "-";
}

std::string Without(const std::string& text, std::string_view prefix) {
  return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
}

class RooflineOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "roofline";
    info.summary = "FLOPs, bytes and efficiency of each operator and shape against the peaks of the device";
    info.choose_when =
        "Choose it to see which operators are slow for the work they do. `kernels` shows where the time "
        "goes, `critical-path` whether it matters.";
    info.example = "neurolens roofline @latest --limit 20";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<RooflineReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    params_.BindPhase(b);
    params_.BindPeaks(b);
    b.Add("limit", limit_, "Points to list").Range(1, 100000);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const RooflineFacts* facts, open.analysis->Need<RooflineFacts>());
    RooflineReply reply;
    static_cast<RooflineSection&>(reply) =
        SectionOf(*facts, open.analysis->data(), static_cast<size_t>(limit_));
    reply.run_id = open.run.run.run_id;
    reply.phase = open.phase;
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<RooflineReply>();
    std::string out = PhaseLine(reply.phase);
    for (const RooflinePeaks& p : reply.peaks) out += Line(PeaksText(p, KindName(p.kind)), style);
    for (const RooflinePeaks& p : reply.measured_peaks) out += Line(PeaksText(p, "measured"), style);
    if (reply.peaks_reason) out += Line("efficiency is unknown: " + *reply.peaks_reason, style);
    if (reply.points.empty())
      return out + "no kernel of this run is linked to a framework operator\n" + CountedText(reply, style);
    out += Line(fmt::format("efficiency is known for {} of {} kernel time; FLOPs and bytes from input shapes",
                            HumanMs(reply.assessed_ms), HumanMs(reply.device_ms)),
                style);
    return out + "\n" + PointsText(reply, style) + CountedText(reply, style);
  }

 private:
  static std::string PointsText(const RooflineReply& reply, const TextStyle& style) {
    std::vector<TextColumn> columns = {
        {"OP", Align::kLeft, true, 10},       {"SHAPES", Align::kLeft, true, 10},
        {"CALLS", Align::kRight, false, 0},   {"GPU", Align::kRight, false, 0},
        {"TFLOP/s", Align::kRight, false, 0}, {"GB/s", Align::kRight, false, 0},
        {"AI", Align::kRight, false, 0},      {"BOUND", Align::kLeft, false, 0},
        {"EFF", Align::kRight, false, 0}};
    // EFF is relative to the first line of peaks above, this one to the measured ones.
    const bool measured = !reply.measured_peaks.empty();
    if (measured) columns.push_back({"EFF MEASURED", Align::kRight, false, 0});
    TextTable table(std::move(columns));
    std::map<std::string, double> unknown_ms;  // by reason
    double named_ms = 0;
    for (const RooflineRow& p : reply.points) {
      std::vector<std::string> row = {p.op ? Without(*p.op, "aten::") : "-",
                                      Shapes(p.shapes),
                                      HumanCount(p.calls),
                                      HumanMs(p.t_measured_ms),
                                      Number(p.tflops),
                                      Number(p.gbps),
                                      Number(p.ai),
                                      BoundText(p.bound),
                                      Percent(p.efficiency)};
      if (measured) row.push_back(Percent(p.efficiency_measured));
      table.AddRow(std::move(row));
      if (p.reason) unknown_ms[*p.reason] += p.t_measured_ms;
      if (p.types_from == TypeSource::kKernelName) named_ms += p.t_measured_ms;
    }
    std::string out = table.Render(style.width, style.color) + MoreText(reply.points_total, reply.points);
    if (named_ms > 0) {
      out += Line(
          fmt::format("{} of the above: the types of the inputs were not recorded; they are taken from the "
                      "names of the kernels",
                      HumanMs(named_ms)),
          style);
    }
    for (const auto& [reason, ms] : unknown_ms) {
      if (reply.peaks_reason != reason)
        out += Line(fmt::format("not assessed, {} of the above: {}", HumanMs(ms), reason), style);
    }
    return out;
  }

  // Kernels with hardware counters: what was measured, not what shapes imply.
  static std::string CountedText(const RooflineReply& reply, const TextStyle& style) {
    if (reply.counted.empty()) return "";
    std::string out =
        "\n" +
        Line(fmt::format("measured by counters, {} of {} kernel time; EFF is the larger of SM and DRAM "
                         "throughput against its peak",
                         HumanMs(reply.counted_ms), HumanMs(reply.device_ms)),
             style);
    TextTable table({{"KERNEL", Align::kLeft, true, 16},
                     {"CALLS", Align::kRight, false, 0},
                     {"GPU", Align::kRight, false, 0},
                     {"TFLOP/s", Align::kRight, false, 0},
                     {"GB/s", Align::kRight, false, 0},
                     {"AI", Align::kRight, false, 0},
                     {"BOUND", Align::kLeft, false, 0},
                     {"EFF", Align::kRight, false, 0}});
    for (const RooflineRow& p : reply.counted) {
      table.AddRow({p.kernel.value_or("-"), HumanCount(p.calls), HumanMs(p.t_measured_ms), Number(p.tflops),
                    Number(p.gbps), Number(p.ai), BoundText(p.bound), Percent(p.efficiency)});
    }
    return out + "\n" + table.Render(style.width, style.color) + MoreText(reply.counted_total, reply.counted);
  }

  static std::string MoreText(int64_t total, const std::vector<RooflineRow>& shown) {
    const int64_t more = total - static_cast<int64_t>(shown.size());
    return more > 0 ? fmt::format("{} more; --limit shows them\n", HumanCount(more)) : "";
  }
  static std::string Line(const std::string& text, const TextStyle& style) {
    return Wrap(text, style.width, 2) + "\n";
  }
  static std::string PeaksText(const RooflinePeaks& p, std::string_view kind) {
    return fmt::format("{} peaks of {}: bf16 {}, tf32 {}, fp32 {} TFLOP/s, memory {} GB/s ({})", kind,
                       p.device, Number(p.bf16_tflops), Number(p.tf32_tflops), Number(p.fp32_tflops),
                       Number(p.dram_gbps), p.source);
  }

  AnalysisParams params_;
  int64_t limit_ = 20;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<RooflineOp>(); }

}  // namespace nl::ops::roofline
