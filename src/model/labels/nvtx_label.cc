// SPDX-License-Identifier: Apache-2.0
#include "model/labels/nvtx_label.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/has_any.h"

namespace nl {

namespace {

bool DropPrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}
bool DropSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// The number at the front of `text`, which loses it; empty: there is none.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}
// The number behind `key`.
std::optional<int64_t> NumberAfter(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  return TakeNumber(text);
}
// The number before `key`: "3 ctx reqs".
std::optional<int64_t> CountBefore(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  size_t from = at;
  while (from > 0 && text[from - 1] >= '0' && text[from - 1] <= '9') --from;
  std::string_view digits = text.substr(from, at - from);
  return TakeNumber(digits);
}

std::optional<EngineStep> SglangStep(std::string_view text) {
  const std::optional<int64_t> batch = NumberAfter(text, " bs=");
  if (!batch || !text.ends_with(']')) return std::nullopt;
  EngineStep step;
  step.tokens = NumberAfter(text, " toks=");
  if (text.starts_with("DECODE") || text.starts_with("TARGET_VERIFY")) {
    step.generation = *batch;
    if (text.starts_with("DECODE") && !step.tokens) step.tokens = batch;
  } else if (text.starts_with("EXTEND") || text.starts_with("PREFILL") || text.starts_with("MIXED")) {
    step.context = *batch;
  }
  return step;
}

std::optional<EngineStep> VllmStep(std::string_view text) {
  const std::optional<int64_t> tokens = TakeNumber(text);  // older versions give none
  const std::optional<int64_t> context = NumberAfter(text, "context_"),
                               generation = NumberAfter(text, "generation_");
  if (!context || !generation) return std::nullopt;
  EngineStep step{*context, *generation, tokens, std::nullopt};
  text.remove_prefix(text.find("generation_"));
  if (text.find("(sq") != std::string_view::npos) step.generation_keys = NumberAfter(text, "sk");
  return step;
}

std::string Cleaned(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':';
    if (kept) {
      out += ToLower(c);
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  if (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

// First match wins; the order is the specification's.
std::string_view InferPrefix(std::string_view d) {
  if (HasAny(d, {"warmup"})) return "warmup";
  if (HasAny(d, {"setup", "init"})) return "setup";
  if (HasAny(d, {"verify", "validation", "check"})) return "verify";
  if (HasAny(d, {"cleanup", "teardown"})) return "cleanup";
  if (HasAny(d, {"prefetch"})) return "prefetch";
  if (HasAny(d,
             {"copy", "transfer", "memcpy", "h2d", "d2h", "host_to_device", "device_to_host", "zero_copy"}))
    return HasAny(d, {"async", "overlap", "pipelined", "stream"}) ? "transfer_async" : "transfer_sync";
  if (HasAny(d, {"reduce", "reduction"})) return "reduce";
  if (HasAny(d, {"barrier", "sync"})) return "barrier";
  if (HasAny(d, {"batch"})) return "batch";
  if (HasAny(d, {"iteration", "iter"})) return "iteration";
  if (HasAny(d, {"step"})) return "step";
  if (HasAny(d, {"graph"})) return "compute_graph";
  if (HasAny(d, {"matmul", "gemm", "attention", "mlp", "moe", "softmax", "layernorm", "norm", "ffn", "conv",
                 "transformer", "inference", "training", "prefill", "decode", "routing"}))
    return "compute_math";
  return "compute_kernel";
}

bool IsPrefix(std::string_view text) {
  return std::find(kNvtxPrefixes.begin(), kNvtxPrefixes.end(), text) != kNvtxPrefixes.end();
}

}  // namespace

std::string StandardLabel(std::string_view text) {
  const std::string cleaned = Cleaned(text);
  std::string_view label = cleaned;
  while (DropPrefix(label, "baseline_") || DropPrefix(label, "optimized_") ||
         DropSuffix(label, "_baseline") || DropSuffix(label, "_optimized")) {
  }
  if (label.empty()) return "compute_kernel:unnamed";
  const size_t colon = label.find(':');
  if (colon != std::string_view::npos && IsPrefix(label.substr(0, colon)))
    return std::string(label) + (colon + 1 == label.size() ? "unnamed" : "");
  return std::string(InferPrefix(label)) + ":" + std::string(label);
}

std::string_view LlmStageName(LlmStage stage) {
  switch (stage) {
    case LlmStage::kRequest: return "request";
    case LlmStage::kPrefill: return "prefill";
    case LlmStage::kDecodeAll: return "decode_all";
    case LlmStage::kDecodeStep: break;
  }
  return "decode_step";
}

std::optional<LlmLabel> ParseLlmLabel(std::string_view text) {
  if (!DropPrefix(text, "LLM@")) return std::nullopt;
  const size_t colons = std::min(text.find("::"), text.size());
  const std::string_view name = text.substr(0, colons);
  const std::string_view sub = colons < text.size() ? text.substr(colons + 2) : std::string_view();
  if (colons < text.size() && sub.empty()) return std::nullopt;
  for (size_t i = 0; i < kLlmStages; ++i) {
    const auto stage = static_cast<LlmStage>(i);
    if (name == LlmStageName(stage)) return LlmLabel{stage, sub};
  }
  return std::nullopt;
}

std::optional<EngineStep> ParseEngineLabel(std::string_view text) {
  std::optional<EngineStep> step;
  if (DropPrefix(text, "step[")) {
    step = SglangStep(text);
  } else if (DropPrefix(text, "execute_")) {
    step = VllmStep(text);
  } else if (DropPrefix(text, "[Executor] _forward_step ")) {
    const auto context = CountBefore(text, " ctx reqs"), generation = CountBefore(text, " gen reqs");
    if (context && generation) step = EngineStep{*context, *generation, std::nullopt, std::nullopt};
  }
  const bool idle = step && step->context == 0 && step->generation == 0;
  return idle ? std::nullopt : step;
}

bool IsStandardLabel(std::string_view text) { return ParseLlmLabel(text) || StandardLabel(text) == text; }

bool IsLabelCategory(std::string_view category) {
  return category == "user_annotation" || Cleaned(category).starts_with("nvtx");
}

bool IsFrameworkLabel(std::string_view text) {
  for (const std::string_view start :
       {"ProfilerStep#", "Optimizer.", "nccl:", "enumerate(DataLoader)", "DistributedDataParallel.",
        "FullyShardedDataParallel.", "Torch-Compiled Region", "## Call CompiledFxGraph"}) {
    if (text.starts_with(start)) return true;
  }
  return false;
}

}  // namespace nl
