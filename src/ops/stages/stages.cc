// SPDX-License-Identifier: Apache-2.0
// `neurolens stages`: prefill and decode of an LLM run, with MFU and MBU and how they were computed.

#include "analyze/facts/stages.h"

#include <fmt/format.h>

#include "base/human.h"
#include "ops/open_analysis.h"
#include "report/text_table.h"

namespace nl::ops::stages {

namespace {

const Json* FindStage(const Json& r, std::string_view name) {
  for (const Json& s : r["stages"]) {
    if (s["name"] == name) return &s;
  }
  return nullptr;
}

std::string Percent(const Json& share) { return share.is_null() ? "-" : HumanPercent(share, 1); }

std::string PrefillText(const Json& s) {
  std::string out = fmt::format("prefill takes {}", HumanMs(s["p50_ms"]));
  if (!s["tokens"].is_null())
    out +=
        fmt::format(" for {} tokens",
                    HumanCount(static_cast<int64_t>(s["tokens"].get<double>() / s["count"].get<double>())));
  return out + (s["mfu"].is_null() ? "" : fmt::format(" (MFU {})", Percent(s["mfu"])));
}

std::string DecodeText(const Json& s) {
  std::string out = fmt::format("a decode step takes {}", HumanMs(s["p50_ms"]));
  if (!s["idle_share"].is_null())
    out += fmt::format(", the device idle for {} of it", Percent(s["idle_share"]));
  return out + (s["mbu"].is_null() ? "" : fmt::format(" (MBU {})", Percent(s["mbu"])));
}

std::string Verdict(const Json& r) {
  if (r["stages"].empty()) return fmt::format("No LLM stages: {}.\n", r["reason"].get<std::string>());
  std::string out;
  const Json *prefill = FindStage(r, "prefill"), *step = FindStage(r, "decode_step");
  if (prefill != nullptr) out += PrefillText(*prefill);
  if (step != nullptr) out += (out.empty() ? "" : "; ") + DecodeText(*step);
  if (out.empty())
    out = fmt::format("{} labelled stages, none of them prefill or decode_step", r["stages"].size());
  out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out + ".\n";
}

// How one utilisation came about, or why there is none.
std::string Computed(const Json& s, bool flops) {
  const std::string name = s["name"];
  const char* what = flops ? "MFU" : "MBU";
  const Json& value = s[flops ? "mfu" : "mbu"];
  if (value.is_null()) {
    const Json& reason = s[flops ? "mfu_reason" : "mbu_reason"];
    return fmt::format("  {} {}: not assessed: {}\n", name, what,
                       reason.is_null() ? "unknown" : reason.get<std::string>());
  }
  if (flops) {
    return fmt::format("  {} MFU {} = {:.4g} TFLOP / ({:g} TFLOP/s {} x {:.4g} s)\n", name, Percent(value),
                       s["flops"].get<double>() / 1e12, s["peak"]["tflops"].get<double>(),
                       s["peak"]["dtype"].get<std::string>(), s["device_s"].get<double>());
  }
  return fmt::format("  {} MBU {} = ({:.4g} GB weights + {:.4g} GB KV) / ({:g} GB/s x {:.4g} s)\n", name,
                     Percent(value), s["weight_bytes"].get<double>() / 1e9, s["kv_bytes"].get<double>() / 1e9,
                     s["peak"]["gbps"].get<double>(), s["device_s"].get<double>());
}

std::string ModelText(const Json& model) {
  std::string dims;
  for (const auto& [name, value] : model["dims"].items()) {
    if (!value.is_null())
      dims += fmt::format("{}{} {}", dims.empty() ? "" : ", ", name,
                          value.is_string() ? value.get<std::string>() : DumpJson(value));
  }
  if (dims.empty()) return "";
  return fmt::format("  model: {}{}\n", dims,
                     model["inferred"].get<bool>() ? " (inferred from op shapes)" : "");
}

// Lines of at most `width` columns; what is wrapped is indented.
std::string Wrapped(const std::string& text, size_t width) {
  std::string out;
  size_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", at + 1), text.size());
    if (text[at] == '\n') {
      column = 0;
    } else if (width > 20 && column + (end - at) > width) {
      out += "\n   ";
      column = 3;
    }
    out += text.substr(at, end - at);
    column += end - at - (text[at] == '\n');
    at = end;
  }
  return out;
}

class StagesOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "stages";
    info.summary = "Stages of LLM inference: prefill and decode latency, tokens/s, TTFT, TPOT, MFU and MBU";
    info.choose_when =
        "Choose it for a language model; `summary` for any run, `nvtx check` when a label is not found.";
    info.example = "neurolens stages @latest";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(
        R"({"type": "object", "required": ["run_id", "source", "reason", "stages", "ttft_ms", "tpot_ms", "model", "device"],
      "definitions": {"number": {"type": ["number", "null"]}, "text": {"type": ["string", "null"]}},
      "properties": {"run_id": {"type": "string"}, "source": {"$ref": "#/definitions/text"}, "reason": {"$ref": "#/definitions/text"},
        "ttft_ms": {"$ref": "#/definitions/number"}, "tpot_ms": {"$ref": "#/definitions/number"},
        "tpot_p95_ms": {"$ref": "#/definitions/number"}, "tpot_p99_ms": {"$ref": "#/definitions/number"},
        "model": {"type": "object", "required": ["dims", "from", "inferred", "missing"]},
        "stages": {"type": "array", "items": {"type": "object",
          "required": ["name", "inferred", "count", "total_ms", "p50_ms", "p95_ms", "p99_ms", "tokens", "tokens_per_s", "kernels",
            "launch_share", "idle_share", "mfu", "mbu", "flops", "bytes", "peak"],
          "properties": {"name": {"type": "string"}, "parent": {"$ref": "#/definitions/text"}, "inferred": {"type": "boolean"},
            "count": {"type": "integer"}, "total_ms": {"type": "number"}, "p50_ms": {"type": "number"}, "p95_ms": {"type": "number"},
            "p99_ms": {"type": "number"}, "tokens": {"$ref": "#/definitions/number"}, "tokens_per_s": {"$ref": "#/definitions/number"},
            "kernels": {"type": "integer"}, "launch_share": {"$ref": "#/definitions/number"},
            "idle_share": {"$ref": "#/definitions/number"}, "mfu": {"$ref": "#/definitions/number"},
            "mbu": {"$ref": "#/definitions/number"}, "flops": {"$ref": "#/definitions/number"},
            "bytes": {"$ref": "#/definitions/number"},
            "peak": {"type": "object", "required": ["tflops", "gbps", "source"]}}}}}})");
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
    Reply reply;
    reply.json = {{"run_id", open.run.run.run_id}};
    reply.json.update(ToJson(*facts, open.analysis->data()));
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& r = reply.json;
    const auto width = static_cast<size_t>(std::max(style.width, 0));
    std::string out = Wrapped(Verdict(r), width);
    if (r["stages"].empty()) return out;
    TextTable table({{"STAGE", Align::kLeft, true, 12},
                     {"N", Align::kRight, false, 0},
                     {"P50", Align::kRight, false, 0},
                     {"TOKENS/s", Align::kRight, false, 0},
                     {"KERNELS", Align::kRight, false, 0},
                     {"LAUNCH", Align::kRight, false, 0},
                     {"IDLE", Align::kRight, false, 0},
                     {"MFU", Align::kRight, false, 0},
                     {"MBU", Align::kRight, false, 0}});
    for (const Json& s : r["stages"]) {
      const bool sub = !s["parent"].is_null();
      table.AddRow(
          {(sub ? "  " : "") + s["name"].get<std::string>(), HumanCount(s["count"]), HumanMs(s["p50_ms"]),
           s["tokens_per_s"].is_null() ? "-"
                                       : HumanCount(static_cast<int64_t>(s["tokens_per_s"].get<double>())),
           HumanCount(s["kernels"]), Percent(s["launch_share"]), Percent(s["idle_share"]), Percent(s["mfu"]),
           Percent(s["mbu"])});
    }
    out += "\n" + table.Render(style.width, style.color) + "\n";
    const auto ms = [](const Json& v) { return v.is_null() ? std::string("-") : HumanMs(v); };
    out += fmt::format("TTFT {}; TPOT p50 {}, p95 {}, p99 {}. Stages from {}{}.\n", ms(r["ttft_ms"]),
                       ms(r["tpot_ms"]), ms(r["tpot_p95_ms"]), ms(r["tpot_p99_ms"]),
                       r["source"].get<std::string>(), r["source"] == "labels" ? "" : " (inferred)");
    return out + Wrapped(HowText(r), width);
  }

 private:
  static std::string HowText(const Json& r) {
    std::string out = "How the shares of the peaks were computed:\n";
    for (const Json& s : r["stages"]) {
      if (s["name"] != "prefill" && s["name"] != "decode_step") continue;
      out += Computed(s, true) + Computed(s, false);
    }
    const Json& peak = r["stages"][0]["peak"];
    if (!peak["source"].is_null()) out += fmt::format("  peaks: {}\n", peak["source"].get<std::string>());
    return out + ModelText(r["model"]);
  }

  AnalysisParams params_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<StagesOp>(); }

}  // namespace nl::ops::stages
