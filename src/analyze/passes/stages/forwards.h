// SPDX-License-Identifier: Apache-2.0
#pragma once
// Forward passes of the model, found from the shapes of its ops: where each starts, how many
// tokens it processed and how long the context was.
// Thread rule: pure functions.

#include <optional>
#include <vector>

#include "analyze/cost_model/model_dims.h"
#include "analyze/facts/timeline.h"

namespace nl::passes::stages {

struct Forward {
  ThreadId thread = ThreadId::kNull;
  int64_t start_ns = 0, end_ns = 0;  // first to last op with a known role
  uint32_t first_node = kNone;       // of the host tree; kNone: not from ops
  std::optional<int64_t> tokens, head_tokens, batch, q_len, kv_len;
  bool language = false;   // begins with a lookup of token ids or ends with a language-model head
  bool text_head = false;  // does both, and the model has no table of token types, as BERT has

  // More than one new token per sequence; empty when the shapes do not show it.
  std::optional<bool> IsPrefill() const;
  // Why FLOPs are unknown; empty when `work` is complete.
  std::string ToWork(ForwardWork& work) const;
};

// Do these forwards show a model that generates text? An image or speech encoder, a diffusion model and BERT
// have attention and may look token ids up, but no key-value cache and no head of the size of their token
// table.
bool GenerateTokens(const std::vector<Forward>& forwards);

// By thread, then time.
std::vector<Forward> FindForwards(const RunData& data, const TimelineFacts& timeline,
                                  const ModelShape& model);

}  // namespace nl::passes::stages
