// SPDX-License-Identifier: Apache-2.0
#pragma once
// The dimensions of the model a run executed, each with its source: a Hugging Face
// config.json (--model-config), else the run document, else the shapes of recorded ops.
// An unknown dimension has a reason instead of a value: never a default.
// Also the shapes of single ops, from which the stage analysis counts tokens.
// Thread rule: pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/cost_model/op_shapes.h"
#include "analyze/pass.h"
#include "analyze/run_data.h"
#include "base/record.h"

namespace nl {

struct AttentionShape {
  // Batch is empty where the source packs sequences ([tokens, heads, head_dim]); then
  // q_len is all tokens and kv_len is unknown.
  std::optional<int64_t> batch, kv_len;
  int64_t heads = 0, kv_heads = 0, q_len = 0, head_dim = 0;
};
struct EmbeddingShape {
  int64_t rows = 0, width = 0;  // of the table
  std::vector<int64_t> ids;     // dims of the ids: [batch, length] or [tokens]
};

enum class OpRole : uint8_t { kNone, kGemm, kLinear, kBatchedGemm, kAttention, kInnerAttention, kEmbedding };
// By operator name; kInnerAttention: the ops inside aten::scaled_dot_product_attention.
OpRole RoleOf(std::string_view op_name);
std::optional<AttentionShape> AttentionOf(std::string_view op_name, const Shapes& shapes);
std::optional<EmbeddingShape> EmbeddingOf(const Shapes& shapes);

struct Dim {
  std::optional<int64_t> value;
  std::string from;  // source of the value, or why there is none
};

struct ModelShape {
  Dim layers, d_model, d_ff, heads, kv_heads, head_dim, vocab;
  Dim experts, active_experts, shared_d_ff;  // empty without a reason: not a mixture of experts
  std::optional<bool> gated;
  std::string gated_from;
  std::string dtype, dtype_from;  // normalised: bf16; empty when unknown
  std::optional<double> dtype_bytes;
  bool inferred = false;  // some value comes from op shapes
  bool is_config =
      false;  // some value comes from --model-config, which describes the whole model, not one rank's part
  std::vector<std::string> unfit;  // what makes the usual formulas wrong for this model

  // Why FLOPs cannot be computed; empty when they can.
  std::string MissingFor() const;
};
inline constexpr Reads kModelShapeReads = NL_READS(Op, name, input_dims, input_types);
ModelShape FindModelShape(const RunData& data, const AnalysisOptions& options);

// One forward: `batch` sequences of `q_len` new tokens that attend to `kv_len` tokens in all.
struct ForwardWork {
  double tokens = 0;       // through the layers
  double head_tokens = 0;  // through the LM head
  double batch = 0, q_len = 0, kv_len = 0;
};
// Only when MissingFor() is empty. Dense formulas; attention is causal.
double ForwardFlops(const ModelShape& shape, const ForwardWork& work);
double ForwardWeightBytes(const ModelShape& shape, const ForwardWork& work);
double ForwardKvBytes(const ModelShape& shape, const ForwardWork& work);

// The shape as reports and `neurolens stages` give it.
struct ModelShapeDims {
  std::optional<int64_t> layers, d_model, d_ff, heads, kv_heads, head_dim, vocab, experts, active_experts;
  std::optional<bool> gated;
  std::optional<std::string> dtype;
};
struct ModelSection {
  ModelShapeDims dims;
  std::map<std::string, std::string> from;  // by name of a dimension
  bool inferred = false;
  std::optional<std::string> missing;
};
void Describe(Record<ModelShapeDims>& r);
void Describe(Record<ModelSection>& r);

ModelSection SectionOf(const ModelShape& shape);

}  // namespace nl
