// SPDX-License-Identifier: Apache-2.0
// `neurolens stages`: prefill and decode of an LLM run, with MFU, MBU and how they were computed.

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_analysis.h"
#include "ops/stages/reply.h"
#include "report/text_table.h"

namespace nl::ops::stages {

namespace {

std::string Percent(const std::optional<double>& share) { return share ? HumanPercent(*share, 1) : "-"; }
std::string Time(const std::optional<double>& ms) { return ms ? HumanMs(*ms) : "-"; }
std::string Count(const std::optional<double>& value) {
  return value ? HumanCount(static_cast<int64_t>(*value)) : "-";
}

std::string PrefillText(const StageSummary& s) {
  std::string out = fmt::format("prefill takes {}", HumanMs(s.p50_ms));
  if (s.tokens) out += fmt::format(" for {} tokens", Count(*s.tokens / static_cast<double>(s.count)));
  return out + (s.mfu ? fmt::format(" (MFU {})", Percent(s.mfu)) : "");
}

std::string DecodeText(const StageSummary& s) {
  std::string out = fmt::format("a decode step takes {}", HumanMs(s.p50_ms));
  if (s.idle_share) out += fmt::format(", with the device idle for {} of that time", Percent(s.idle_share));
  return out + (s.mbu ? fmt::format(" (MBU {})", Percent(s.mbu)) : "");
}

std::string Verdict(const StagesReply& r) {
  if (r.stages.empty()) return fmt::format("No LLM stages: {}.", r.reason.value_or("unknown"));
  std::string out;
  const StageSummary *prefill = r.Find("prefill"), *step = r.Find("decode_step");
  if (prefill != nullptr) out += PrefillText(*prefill);
  if (step != nullptr) out += (out.empty() ? "" : "; ") + DecodeText(*step);
  if (out.empty())
    out = fmt::format("{} labelled stages, but neither prefill nor decode_step", r.stages.size());
  out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out + ".";
}

std::string NotAssessed(const StageSummary& s, const char* what, const std::optional<std::string>& reason) {
  return fmt::format("{} {}: not assessed: {}", s.name, what, reason.value_or("unknown"));
}

std::string SomeText(const StageSummary& s) {
  return s.work_executions < s.count
             ? fmt::format(", {} of {} executions with recorded shapes", s.work_executions, s.count)
             : "";
}

// The share of the measured peak, after the one that MFU and MBU are defined by.
std::string MeasuredText(const std::optional<double>& share, const std::optional<double>& peak,
                         const char* unit) {
  if (!share || !peak) return "";
  return fmt::format("; {} of the measured {:.4g} {}", Percent(share), *peak, unit);
}

// How a utilization was computed, or why it is unknown.
std::string MfuText(const StageSummary& s) {
  if (!s.mfu) return NotAssessed(s, "MFU", s.mfu_reason);
  return fmt::format(
      "{} MFU {} = {:.4g} TFLOP / ({:g} TFLOP/s {} x {:.4g} s){}{}", s.name, Percent(s.mfu),
      s.flops.value_or(0) / 1e12, s.peak.tflops.value_or(0), s.peak.dtype.value_or(""), s.work_device_s,
      SomeText(s),
      MeasuredText(s.mfu_measured, s.peak_measured ? s.peak_measured->tflops : std::nullopt, "TFLOP/s"));
}
std::string MbuText(const StageSummary& s) {
  if (!s.mbu) return NotAssessed(s, "MBU", s.mbu_reason);
  return fmt::format(
      "{} MBU {} = ({:.4g} GB weights + {:.4g} GB KV) / ({:g} GB/s x {:.4g} s){}{}", s.name, Percent(s.mbu),
      s.weight_bytes.value_or(0) / 1e9, s.kv_bytes.value_or(0) / 1e9, s.peak.gbps.value_or(0),
      s.work_device_s, SomeText(s),
      MeasuredText(s.mbu_measured, s.peak_measured ? s.peak_measured->gbps : std::nullopt, "GB/s"));
}

std::string ModelText(const ModelSection& model) {
  const ModelShapeDims& d = model.dims;
  const std::pair<const char*, std::optional<int64_t>> numbers[] = {
      {"layers", d.layers}, {"d_model", d.d_model},   {"d_ff", d.d_ff},
      {"heads", d.heads},   {"kv_heads", d.kv_heads}, {"head_dim", d.head_dim},
      {"vocab", d.vocab},   {"experts", d.experts},   {"active_experts", d.active_experts}};
  std::vector<std::string> known;
  for (const auto& [name, value] : numbers) {
    if (value) known.push_back(fmt::format("{} {}", name, *value));
  }
  if (d.gated) known.push_back(fmt::format("gated {}", *d.gated));
  if (d.dtype) known.push_back(fmt::format("dtype {}", *d.dtype));
  if (known.empty()) return "";
  return fmt::format("model: {}{}", fmt::join(known, ", "),
                     model.inferred ? " (inferred from operator shapes)" : "");
}

class StagesOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "stages";
    info.summary = "Stages of LLM inference: prefill and decode latency, tokens/s, TTFT, TPOT, MFU and MBU";
    info.choose_when =
        "Choose it for a language model. `summary` works for any run; `nvtx check` shows why a label was not "
        "found.";
    info.example = "neurolens stages @latest";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<StagesReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    params_.BindRun(b);
    params_.BindModel(b);
    params_.BindPeaks(b);
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const OpenAnalysis open, Analyze(context, params_));
    NL_ASSIGN(const StagesFacts* facts, open.analysis->Need<StagesFacts>());
    StagesReply reply;
    static_cast<StagesSection&>(reply) = SectionOf(*facts);
    reply.run_id = open.run.run.run_id;
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& r = any.As<StagesReply>();
    std::string out = Wrap(Verdict(r), style.width, 2) + "\n";
    if (r.stages.empty()) return out;
    out += "\n" + StagesText(r, style) + "\n";
    out += Wrap(fmt::format("TTFT {}; TPOT p50 {}, p95 {}, p99 {}. Stages found from {}{}.", Time(r.ttft_ms),
                            Time(r.tpot_ms), Time(r.tpot_p95_ms), Time(r.tpot_p99_ms), r.source.value_or(""),
                            r.source == "labels" ? "" : " (inferred)"),
                style.width, 2);
    return out + "\nHow MFU and MBU were computed:\n" + HowText(r, style);
  }

 private:
  static std::string StagesText(const StagesReply& r, const TextStyle& style) {
    TextTable table({{"STAGE", Align::kLeft, true, 12},
                     {"N", Align::kRight, false, 0},
                     {"P50", Align::kRight, false, 0},
                     {"TOKENS/s", Align::kRight, false, 0},
                     {"KERNELS", Align::kRight, false, 0},
                     {"LAUNCH", Align::kRight, false, 0},
                     {"IDLE", Align::kRight, false, 0},
                     {"MFU", Align::kRight, false, 0},
                     {"MBU", Align::kRight, false, 0}});
    for (const StageSummary& s : r.stages) {
      table.AddRow({(s.parent ? "  " : "") + s.name, HumanCount(s.count), HumanMs(s.p50_ms),
                    Count(s.tokens_per_s), HumanCount(s.kernels), Percent(s.launch_share),
                    Percent(s.idle_share), Percent(s.mfu), Percent(s.mbu)});
    }
    return table.Render(style.width, style.color);
  }

  static std::string HowText(const StagesReply& r, const TextStyle& style) {
    std::vector<std::string> lines;
    for (const StageSummary& s : r.stages) {
      if (s.name != "prefill" && s.name != "decode_step") continue;
      lines.push_back(MfuText(s));
      lines.push_back(MbuText(s));
    }
    if (const auto& source = r.stages[0].peak.source) {
      const auto kind = r.stages[0].peak.kind;
      lines.push_back(
          fmt::format("peaks{}: {}", kind ? " (" + std::string(KindName(*kind)) + ")" : "", *source));
    }
    if (const auto& measured = r.stages[0].peak_measured)
      lines.push_back("measured peaks: " + measured->source.value_or(""));
    lines.push_back(ModelText(r.model));
    std::string out;
    for (const std::string& line : lines) {
      if (!line.empty()) out += "  " + Wrap(line, style.width, 4) + "\n";
    }
    return out;
  }

  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<StagesOp>(); }

}  // namespace nl::ops::stages
