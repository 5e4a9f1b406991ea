// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/run_plants.h"

namespace nl::synthetic::plants {

Plant EagerAttention() {
  return {"attention without fusion",
          Cause::kAttentionImplChanged,
          Cause::kAttentionImplChanged,
          {},
          "",
          "Attention",
          "",
          [](Scenario& s) { s.llm.fused_attention = !s.llm.fused_attention; }};
}

Plant OtherAttention(double factor) {
  return {
      fmt::format("another fused attention x{}", factor),
      Cause::kAttentionImplChanged,
      Cause::kAttentionImplChanged,
      {},
      "",
      "Attention",
      "",
      Adds({Change({"", "attn.sdpa"}, [factor](Call& c) {
        c.op = "aten::_efficient_attention_forward";
        c.around = {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_efficient_attention"};
        for (Work& w : c.work) {
          w.name =
              "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::"
              "bfloat16_t, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)";
          w.us *= factor;
        }
      })})};
}

Plant GraphAdded() {
  return {"decode as a CUDA graph",
          Cause::kGraphAdded,
          Cause::kGraphRemoved,
          {},
          "decode_step",
          "",
          "",
          [](Scenario& s) { s.llm.graph = !s.llm.graph; }};
}

Plant Contention(double us) {
  return {fmt::format("another thread's kernels of {} us", us),
          Cause::kContention,
          Cause::kContention,
          {},
          "",
          "",
          "",
          [us](Scenario& s) { s.neighbour_us = us; }};
}

Plant Clock(double factor) {
  return {
      fmt::format("clock x{}", factor),           Cause::kClockChanged, Cause::kClockChanged, {}, "", "", "",
      [factor](Scenario& s) { s.clock = factor; }};
}

Plant WorkChanged(const std::string& name, const std::function<void(Scenario&)>& apply) {
  return {name, Cause::kWorkChanged, Cause::kWorkChanged, {}, "", "", "", apply};
}

Plant Nothing() {
  return {"nothing", Cause::kNoise, Cause::kNoise, {}, "", "", "", [](Scenario&) {}};
}

}  // namespace nl::synthetic::plants
