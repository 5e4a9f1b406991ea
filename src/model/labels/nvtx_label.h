// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVTX labels: the prefix:detail taxonomy and the LLM stage labels. Capture, importers,
// the stage analysis and `neurolens nvtx check` all read labels through here.
// Thread rule: pure functions.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nl {

inline constexpr std::array<std::string_view, 16> kNvtxPrefixes = {
    "setup",         "warmup",   "compute_kernel", "compute_math", "compute_graph", "transfer_async",
    "transfer_sync", "prefetch", "barrier",        "reduce",       "verify",        "cleanup",
    "batch",         "tile",     "iteration",      "step"};

// The standard form of a free label: "baseline_matmul_pytorch" -> "compute_math:matmul_pytorch".
// A standard form is its own standard form.
std::string StandardLabel(std::string_view text);

enum class LlmStage : uint8_t { kRequest, kPrefill, kDecodeAll, kDecodeStep };
inline constexpr size_t kLlmStages = 4;

struct LlmLabel {
  LlmStage stage;
  std::string_view sub;  // "vision" of LLM@prefill::vision, may have :: itself; empty: the stage
};
// "LLM@prefill", "LLM@decode_step::attention"; empty for any other text.
std::optional<LlmLabel> ParseLlmLabel(std::string_view text);
std::string_view LlmStageName(LlmStage stage);  // "prefill"

// One forward of a serving engine, as the engine itself labels it: SGLang "step[DECODE bs=32]", vLLM
// "execute_32_context_0(sq0sk0...)_generation_32(sq32sk32785...)", TensorRT-LLM
// "[Executor] _forward_step 7: 1 ctx reqs, 5 gen reqs".
struct EngineStep {
  int64_t context = 0, generation = 0;  // sequences in their prompt, sequences that get one more token
  std::optional<int64_t> tokens;        // new ones of all sequences
  std::optional<int64_t>
      generation_keys;  // tokens that those in generation attend to, summed over the sequences
  // A step with prompt tokens counts as prefill, whatever else it does.
  LlmStage stage() const { return context > 0 ? LlmStage::kPrefill : LlmStage::kDecodeStep; }
};
std::optional<EngineStep> ParseEngineLabel(std::string_view text);

// An LLM stage label, or a label that is its own standard form.
bool IsStandardLabel(std::string_view text);

// Does this range category hold labels (user_annotation, nvtx), not the device's copy of them?
bool IsLabelCategory(std::string_view category);
// Labels that PyTorch itself puts among the user's: ProfilerStep#3, Optimizer.step#SGD.step, nccl:...
bool IsFrameworkLabel(std::string_view text);

}  // namespace nl
