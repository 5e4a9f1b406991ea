// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: a Llama-shaped model that answers one request: prefill, then decode steps.
// Call for call what an eager recording shows (40 operators with device work a layer).
// Thread rule: pure functions.

#include "testing/synthetic/kernels.h"
#include "testing/synthetic/simulate.h"

namespace nl::synthetic {

struct LlmOptions {
  int layers = 8, steps = 12;
  int64_t batch = 8, prompt = 512, d = 2048, heads = 32, kv_heads = 8, d_ff = 5632, vocab = 32000;
  Type type = Type::kBf16;
  bool graph = false;           // decode steps replay a CUDA graph
  bool ask_each_step = false;   // the token is read back after each step
  bool fused_attention = true;  // else two batched products and a softmax
};

// One request on one thread.
Program LlmProgram(const LlmOptions& options, const Recording& recording);

}  // namespace nl::synthetic
