// SPDX-License-Identifier: Apache-2.0
#pragma once
// The formulas behind flops.h: one call of an op as its inputs, and what each kind of op
// computes and moves. flops.cc says which op takes which formula.
// Thread rule: pure functions. Ownership: a Call points into the texts it was read from.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/cost_model/flops.h"
#include "analyze/cost_model/op_shapes.h"

namespace nl::flops {

struct Input {
  std::vector<Shape> tensors;  // one, several of a list, or none
  std::string_view type, scalar;
  bool is_tensor = false;  // a single tensor, perhaps of no dimension
};

struct Call {
  std::vector<Input> inputs;

  const Shape* Tensor(size_t i) const {
    return i < inputs.size() && inputs[i].is_tensor ? &inputs[i].tensors[0] : nullptr;
  }
  std::string_view Scalar(size_t i) const {
    return i < inputs.size() ? inputs[i].scalar : std::string_view();
  }
  std::optional<double> Size(size_t i) const;   // bytes of one element
  std::optional<double> Bytes(size_t i) const;  // of a whole tensor
};

Call ReadCall(std::string_view dims, std::string_view types, std::string_view concrete);
OpCost Unknown(std::string reason);
double Numel(const Shape& shape);
// Bytes of an element by its number in c10::ScalarType, as concrete inputs give an output dtype.
std::optional<double> ScalarTypeBytes(std::string_view number);

// Products; `a` is the place of the left operand.
OpCost Mm(const Call& call, size_t a);
OpCost Bmm(const Call& call, size_t a);
OpCost Mv(const Call& call, size_t a);
OpCost Dot(const Call& call);
OpCost Linear(const Call& call);
OpCost Matmul(const Call& call);
OpCost ScaledMm(const Call& call);
// (a, b, ...) with groups of rows multiplied by one matrix each: [M, K] x [E, K, N], [M, K] x [K, N] cut
// along K, or a batch.
OpCost GroupedMm(const Call& call);
// vLLM: (out, a, b, ...); `packed` elements of a byte (two of fp4).
OpCost OutMm(const Call& call, double packed);
// (tokens, w1, w2, weights, ids, ...): every token through the experts its ids name.
OpCost FusedExperts(const Call& call);

constexpr size_t kNoPlace = SIZE_MAX;
struct ConvPlaces {  // of the arguments; kNoPlace: the op has none
  size_t stride, padding, dilation, transposed, output_padding, groups;
};
OpCost Convolution(const Call& call, const ConvPlaces& at);
OpCost ConvolutionBackward(const Call& call);
// Of one gradient: (size of the result, grad_output, weight or input, padding, ...).
OpCost ConvolutionBackwardPart(const Call& call, bool of_weight);

struct Attention {
  size_t query;     // place of q; k and v follow
  size_t causal;    // place of is_causal
  bool heads_last;  // [B, N, H, d] instead of [B, H, N, d]
  bool backward;
};
OpCost AttentionCost(const Call& call, const Attention& at);
// (q, k, v, cu_seqlens_q, cu_seqlens_k, max_q, max_k, dropout, scale, causal): sequences packed in one
// tensor; known when all have the longest length.
OpCost PackedAttention(const Call& call);

struct Traffic {
  double per_element = 1;                         // FLOPs
  std::optional<double> out_size = std::nullopt;  // bytes of an output element; empty: as the widest input
  bool in_place = false;                          // writes its first input
  bool reads_first = true;
  bool by_input = false;  // FLOPs per element read, not written
  double outputs = 1;
  size_t args = 0;  // arguments before an `out` tensor, which is written and not read; 0: it has none
};
OpCost Pointwise(const Call& call, const Traffic& traffic);
// Normalisation and softmax: the input read, as much written, parameters read.
OpCost Norm(const Call& call, size_t input);
OpCost Reduction(const Call& call);
// max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode)
OpCost MaxPool(const Call& call);
OpCost MaxPoolBackward(const Call& call);
// A kernel that torch.compile generated: each tensor among its arguments touched once.
OpCost FusedPointwise(const Call& call);
// Elements, or whole rows, of a table picked by an index: read and written.
OpCost Pick(const Call& call, size_t table, size_t index, bool whole_rows);
OpCost IndexSelect(const Call& call);

}  // namespace nl::flops
