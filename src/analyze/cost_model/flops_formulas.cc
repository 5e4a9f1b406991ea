// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/flops_formulas.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "analyze/cost_model/peaks.h"

namespace nl::flops {

double Numel(const Shape& shape) {
  double n = 1;
  for (const int64_t d : shape) n *= static_cast<double>(d);
  return n;
}

std::optional<double> Call::Size(size_t i) const {
  return i < inputs.size() ? DtypeBytes(inputs[i].type) : std::nullopt;
}
std::optional<double> Call::Bytes(size_t i) const {
  const auto size = Size(i);
  if (!Tensor(i) || !size) return std::nullopt;
  return Numel(*Tensor(i)) * *size;
}

static bool IsScalarType(std::string_view type) {
  return type.empty() || type == "Scalar" || type == "ScalarList" || type == "GenericList";
}

Call ReadCall(std::string_view dims, std::string_view types, std::string_view concrete) {
  Call call;
  const auto shapes = ListElements(dims), names = ListElements(types), scalars = ListElements(concrete);
  call.inputs.resize(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    Input& in = call.inputs[i];
    in.type = i < names.size() ? Unquoted(names[i]) : std::string_view();
    in.scalar = i < scalars.size() ? Unquoted(scalars[i]) : std::string_view();
    if (in.type == "TensorList") {
      for (const std::string_view e : ListElements(shapes[i])) {
        if (auto shape = ParseShape(e)) in.tensors.push_back(std::move(*shape));
      }
      continue;
    }
    if (IsScalarType(in.type)) continue;
    if (auto shape = ParseShape(shapes[i])) {
      in.tensors.push_back(std::move(*shape));
      in.is_tensor = true;
    }
  }
  return call;
}

OpCost Unknown(std::string reason) {
  OpCost out;
  out.reason = std::move(reason);
  return out;
}
static const char* const kOddShapes = "its input shapes are not those this op takes";

// ---- products ----
// `outer` bytes: what is neither of the two operands nor the result.
static OpCost Product(const Call& call, size_t a, double m, double n, double k, double batch,
                      double other_bytes = 0) {
  OpCost out;
  out.matrix = true;
  out.dtype = NormalDtype(call.inputs[a].type);
  out.flops = 2 * batch * m * n * k;
  const auto left = call.Bytes(a), right = call.Bytes(a + 1), size = call.Size(a);
  if (left && right && size) {
    out.bytes = *left + *right + batch * m * n * *size + other_bytes;
  } else {
    out.reason = "the type of an input is unknown";
  }
  return out;
}

OpCost Mm(const Call& call, size_t a) {
  const Shape *x = call.Tensor(a), *y = call.Tensor(a + 1);
  if (!x || !y || x->size() != 2 || y->size() != 2 || (*x)[1] != (*y)[0]) return Unknown(kOddShapes);
  return Product(call, a, static_cast<double>((*x)[0]), static_cast<double>((*y)[1]),
                 static_cast<double>((*x)[1]), 1, a > 0 ? call.Bytes(0).value_or(0) : 0);
}
OpCost Bmm(const Call& call, size_t a) {
  const Shape *x = call.Tensor(a), *y = call.Tensor(a + 1);
  if (!x || !y || x->size() != 3 || y->size() != 3 || (*x)[0] != (*y)[0] || (*x)[2] != (*y)[1])
    return Unknown(kOddShapes);
  return Product(call, a, static_cast<double>((*x)[1]), static_cast<double>((*y)[2]),
                 static_cast<double>((*x)[2]), static_cast<double>((*x)[0]),
                 a > 0 ? call.Bytes(0).value_or(0) : 0);
}
OpCost Mv(const Call& call, size_t a) {
  const Shape *x = call.Tensor(a), *y = call.Tensor(a + 1);
  if (!x || !y || x->size() != 2 || y->size() != 1 || (*x)[1] != (*y)[0]) return Unknown(kOddShapes);
  return Product(call, a, static_cast<double>((*x)[0]), 1, static_cast<double>((*x)[1]), 1);
}
OpCost Dot(const Call& call) {
  const Shape *x = call.Tensor(0), *y = call.Tensor(1);
  if (!x || !y || x->size() != 1 || *x != *y) return Unknown(kOddShapes);
  return Product(call, 0, 1, 1, static_cast<double>((*x)[0]), 1);
}
// input [..., K], weight [N, K], perhaps bias.
OpCost Linear(const Call& call) {
  const Shape *x = call.Tensor(0), *w = call.Tensor(1);
  if (!x || !w || x->empty() || w->size() != 2 || x->back() != (*w)[1]) return Unknown(kOddShapes);
  const auto k = static_cast<double>(x->back());
  return Product(call, 0, k > 0 ? Numel(*x) / k : 0, static_cast<double>((*w)[0]), k, 1,
                 call.Bytes(2).value_or(0));
}

static std::optional<Shape> Broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

OpCost Matmul(const Call& call) {
  const Shape *p = call.Tensor(0), *q = call.Tensor(1);
  if (!p || !q || p->empty() || q->empty()) return Unknown(kOddShapes);
  Shape x = *p, y = *q;
  if (x.size() == 1) x.insert(x.begin(), 1);
  if (y.size() == 1) y.push_back(1);
  const auto batch = Broadcast(Shape(x.begin(), x.end() - 2), Shape(y.begin(), y.end() - 2));
  if (!batch || x.back() != y[y.size() - 2]) return Unknown(kOddShapes);
  return Product(call, 0, static_cast<double>(x[x.size() - 2]), static_cast<double>(y.back()),
                 static_cast<double>(x.back()), Numel(*batch));
}

std::optional<double> ScalarTypeBytes(std::string_view number) {
  static const std::map<std::string_view, double> kBytes = {{"0", 1},  {"1", 1},  {"2", 2},  {"3", 4},
                                                            {"4", 8},  {"5", 2},  {"6", 4},  {"7", 8},
                                                            {"11", 1}, {"15", 2}, {"23", 1}, {"24", 1}};
  const auto it = kBytes.find(number);
  return it == kBytes.end() ? std::nullopt : std::optional<double>(it->second);
}

// _scaled_mm(a, b, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum)
OpCost ScaledMm(const Call& call) {
  OpCost out = Mm(call, 0);
  const auto size = ScalarTypeBytes(call.Scalar(6));
  if (!out.bytes) return out;
  if (!size) {
    out.bytes.reset();
    out.reason = "the type of its output was not recorded";
    return out;
  }
  const double elements =
      static_cast<double>((*call.Tensor(0))[0]) * static_cast<double>((*call.Tensor(1))[1]);
  *out.bytes += elements * (*size - *call.Size(0));
  return out;
}

OpCost GroupedMm(const Call& call) {
  const Shape *x = call.Tensor(0), *y = call.Tensor(1);
  if (!x || !y || x->size() < 2 || y->size() < 2 || x->size() > 3 || y->size() > 3)
    return Unknown(kOddShapes);
  const auto m = static_cast<double>((*x)[x->size() - 2]), n = static_cast<double>(y->back()),
             k = static_cast<double>(x->back());
  if (x->back() != (*y)[y->size() - 2]) return Unknown(kOddShapes);
  // A result of [M, N]; of a matrix per group only where both operands have one, or are cut along K.
  const bool both = x->size() == 3 && y->size() == 3;
  if (x->size() == 2 && y->size() == 2) return Unknown("the number of its groups is not among its shapes");
  if (both && (*x)[0] != (*y)[0]) return Unknown(kOddShapes);
  const double batch = both ? static_cast<double>((*x)[0]) : 1;
  // The result of fp8 operands is bf16 unless it is asked for otherwise.
  const double wider = call.Size(0).value_or(2) < 2 ? batch * m * n : 0;
  return Product(call, 0, m, n, k, batch, wider);
}

OpCost OutMm(const Call& call, double packed) {
  const Shape *result = call.Tensor(0), *x = call.Tensor(1), *y = call.Tensor(2);
  if (!result || !x || !y || result->size() != 2 || x->size() != 2 || y->size() != 2)
    return Unknown(kOddShapes);
  // The right operand is [K, N], or [N, K] as fp4 has it.
  const bool fits =
      ((*x)[1] == (*y)[0] && (*y)[1] == (*result)[1]) || ((*x)[1] == (*y)[1] && (*y)[0] == (*result)[1]);
  if (!fits || (*x)[0] != (*result)[0]) return Unknown(kOddShapes);
  OpCost out;
  out.matrix = true;
  out.dtype = packed > 1 ? "fp4" : NormalDtype(call.inputs[1].type);
  out.flops = 2 * Numel(*result) * static_cast<double>((*x)[1]) * packed;
  const auto rb = call.Bytes(0), xb = call.Bytes(1), yb = call.Bytes(2);
  if (rb && xb && yb) {
    out.bytes = *rb + *xb + *yb;
  } else {
    out.reason = "the type of an input is unknown";
  }
  return out;
}

OpCost FusedExperts(const Call& call) {
  const Shape *x = call.Tensor(0), *w1 = call.Tensor(1), *w2 = call.Tensor(2), *ids = call.Tensor(4);
  if (!x || !w1 || !w2 || !ids || x->size() != 2 || w1->size() != 3 || w2->size() != 3 || ids->size() != 2 ||
      (*w1)[2] != (*x)[1] || (*w2)[1] != (*x)[1] || (*ids)[0] != (*x)[0] || (*w1)[0] != (*w2)[0])
    return Unknown(kOddShapes);
  const double pairs = Numel(*ids), experts = static_cast<double>((*w1)[0]);
  OpCost out;
  out.matrix = true;
  out.dtype = NormalDtype(call.inputs[1].type);
  out.flops = experts > 0 ? 2 * pairs * (Numel(*w1) + Numel(*w2)) / experts : 0;
  const auto xb = call.Bytes(0), b1 = call.Bytes(1), b2 = call.Bytes(2);
  if (xb && b1 && b2 && experts > 0) {
    // Which experts were chosen is not recorded: all of them, or as many as there are choices.
    out.bytes = 2 * *xb + (*b1 + *b2) * std::min(1.0, pairs / experts);
  } else {
    out.reason = "the type of an input is unknown";
  }
  return out;
}

// ---- convolution ----

// One number for all dimensions is legal too.
static std::optional<Shape> PerDimension(std::string_view text, size_t n) {
  if (const auto one = ParseInteger(text)) return Shape(n, *one);
  auto out = ParseShape(text);
  if (!out) return std::nullopt;
  if (out->size() == 1) out->assign(n, (*out)[0]);
  return out->size() == n ? out : std::nullopt;
}

OpCost Convolution(const Call& call, const ConvPlaces& at) {
  const Shape *x = call.Tensor(0), *w = call.Tensor(1);
  if (!x || !w || x->size() < 3 || x->size() != w->size()) return Unknown(kOddShapes);
  const size_t n = x->size() - 2;
  const auto stride = PerDimension(call.Scalar(at.stride), n),
             padding = PerDimension(call.Scalar(at.padding), n),
             dilation = PerDimension(call.Scalar(at.dilation), n);
  if (!stride || !padding || !dilation) return Unknown("its stride, padding or dilation was not recorded");
  const bool transposed = at.transposed != kNoPlace && call.Scalar(at.transposed) == "True";
  const auto extra = transposed ? PerDimension(call.Scalar(at.output_padding), n) : Shape(n, 0);
  const auto groups =
      at.groups == kNoPlace ? std::optional<int64_t>(1) : ParseInteger(call.Scalar(at.groups));
  if (!extra || !groups || *groups < 1) return Unknown("its groups or output padding were not recorded");
  double out_places = 1, in_places = 1, kernel = 1;
  for (size_t d = 0; d < n; ++d) {
    const int64_t reach = (*dilation)[d] * ((*w)[d + 2] - 1);
    if ((*stride)[d] < 1) return Unknown(kOddShapes);
    const int64_t size = transposed
                             ? ((*x)[d + 2] - 1) * (*stride)[d] - 2 * (*padding)[d] + reach + (*extra)[d] + 1
                             : ((*x)[d + 2] + 2 * (*padding)[d] - reach - 1) / (*stride)[d] + 1;
    if (size < 0) return Unknown(kOddShapes);
    out_places *= static_cast<double>(size);
    in_places *= static_cast<double>((*x)[d + 2]);
    kernel *= static_cast<double>((*w)[d + 2]);
  }
  const auto batch = static_cast<double>((*x)[0]);
  // Weights are [out, in / groups, ...], transposed ones [in, out / groups, ...].
  const double pairs = static_cast<double>((*w)[0]) * static_cast<double>((*w)[1]);
  const double out_channels =
      transposed ? static_cast<double>((*w)[1] * *groups) : static_cast<double>((*w)[0]);
  OpCost out;
  out.matrix = true;
  out.dtype = NormalDtype(call.inputs[0].type);
  out.flops = 2 * batch * pairs * kernel * (transposed ? in_places : out_places);
  const auto in_bytes = call.Bytes(0), w_bytes = call.Bytes(1), size = call.Size(0);
  if (in_bytes && w_bytes && size) {
    out.bytes = *in_bytes + *w_bytes + batch * out_channels * out_places * *size + call.Bytes(2).value_or(0);
  } else {
    out.reason = "the type of an input is unknown";
  }
  return out;
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
// mask)
OpCost ConvolutionBackward(const Call& call) {
  const Shape *g = call.Tensor(0), *x = call.Tensor(1), *w = call.Tensor(2);
  if (!g || !x || !w || g->size() < 3 || g->size() != w->size() || x->size() != w->size())
    return Unknown(kOddShapes);
  const auto mask = ListElements(call.Scalar(10));
  if (mask.size() != 3 || call.Scalar(7).empty())
    return Unknown("which gradients it computes was not recorded");
  const bool transposed = call.Scalar(7) == "True", wants_input = mask[0] == "True",
             wants_weight = mask[1] == "True";
  double places = static_cast<double>((*g)[0]), kernel = 1;
  for (size_t d = 2; d < g->size(); ++d) {
    places *= static_cast<double>(transposed ? (*x)[d] : (*g)[d]);
    kernel *= static_cast<double>((*w)[d]);
  }
  OpCost out;
  out.matrix = true;
  out.dtype = NormalDtype(call.inputs[1].type);
  const double forward = 2 * places * kernel * static_cast<double>((*w)[0]) * static_cast<double>((*w)[1]);
  out.flops = forward * ((wants_input ? 1 : 0) + (wants_weight ? 1 : 0));
  const auto gb = call.Bytes(0), xb = call.Bytes(1), wb = call.Bytes(2);
  if (gb && xb && wb) {
    out.bytes = *gb + (wants_input ? *wb + *xb : 0) + (wants_weight ? *xb + *wb : 0);
  } else {
    out.reason = "the type of an input is unknown";
  }
  return out;
}

OpCost ConvolutionBackwardPart(const Call& call, bool of_weight) {
  const Shape *g = call.Tensor(1), *other = call.Tensor(2);
  const auto result = ParseShape(call.Scalar(0));
  if (!g || !other || g->size() < 3 || g->size() != other->size()) return Unknown(kOddShapes);
  if (!result || result->size() != g->size()) return Unknown("the size of its result was not recorded");
  const Shape& w = of_weight ? *result : *other;
  double places = static_cast<double>((*g)[0]);
  for (size_t d = 2; d < g->size(); ++d) places *= static_cast<double>((*g)[d]);
  OpCost out;
  out.matrix = true;
  out.dtype = NormalDtype(call.inputs[1].type);
  out.flops = 2 * places * Numel(w);
  const auto gb = call.Bytes(1), ob = call.Bytes(2), size = call.Size(1);
  if (gb && ob && size) {
    out.bytes = *gb + *ob + Numel(*result) * *size;
  } else {
    out.reason = "the type of an input is unknown";
  }
  return out;
}

// ---- attention ----

OpCost AttentionCost(const Call& call, const Attention& at) {
  const Shape *q = call.Tensor(at.query), *k = call.Tensor(at.query + 1), *v = call.Tensor(at.query + 2);
  if (q && q->size() == 3)
    return Unknown("sequences of different lengths packed in one tensor: their lengths are not recorded");
  if (!q || !k || !v || q->size() != 4 || k->size() != 4 || v->size() != 4) return Unknown(kOddShapes);
  const size_t head = at.heads_last ? 2 : 1, token = at.heads_last ? 1 : 2;
  const auto batch = static_cast<double>((*q)[0]), heads = static_cast<double>((*q)[head]);
  const auto nq = static_cast<double>((*q)[token]), nkv = static_cast<double>((*k)[token]);
  const auto dqk = static_cast<double>((*q)[3]), dv = static_cast<double>((*v)[3]);
  OpCost out;
  out.matrix = true;
  out.dtype = NormalDtype(call.inputs[at.query].type);
  const std::string_view causal = call.Scalar(at.causal);
  // _efficient_attention_forward gives the kind of mask: 1 and 2 are causal.
  const bool halved = causal == "True" || causal == "1" || causal == "2";
  if (nq == nkv && nq > 1 && causal.empty()) {
    out.reason = "whether it is causal was not recorded";
  } else {
    // Backward: scores again, then the gradients of scores, values, queries and keys.
    const double width = at.backward ? 3 * dqk + 2 * dv : dqk + dv;
    out.flops = 2 * batch * heads * nq * nkv * width * (halved && nq == nkv ? 0.5 : 1);
  }
  const auto qb = call.Bytes(at.query), kb = call.Bytes(at.query + 1), vb = call.Bytes(at.query + 2),
             size = call.Size(at.query);
  if (qb && kb && vb && size) {
    const double result = batch * heads * nq * dv * *size;
    out.bytes = at.backward ? 2 * (*qb + *kb + *vb) + 2 * result : *qb + *kb + *vb + result;
  } else {
    out.reason = "the type of an input is unknown";
  }
  return out;
}

OpCost PackedAttention(const Call& call) {
  const Shape *q = call.Tensor(0), *k = call.Tensor(1), *v = call.Tensor(2), *starts_q = call.Tensor(3),
              *starts_k = call.Tensor(4);
  if (!q || !k || !v || !starts_q || !starts_k || q->size() != 3 || k->size() != 3 || v->size() != 3 ||
      starts_q->size() != 1 || *starts_q != *starts_k || (*starts_q)[0] < 2)
    return Unknown("the lengths of its sequences are not among its inputs");
  const auto nq = ParseInteger(call.Scalar(5)), nkv = ParseInteger(call.Scalar(6));
  const int64_t batch = (*starts_q)[0] - 1;
  if (!nq || !nkv || (*q)[0] != batch * *nq || (*k)[0] != batch * *nkv)
    return Unknown("its sequences differ in length, and only the longest is recorded");
  const bool causal = call.Scalar(9) == "True";
  OpCost out;
  out.matrix = true;
  out.dtype = NormalDtype(call.inputs[0].type);
  const auto heads = static_cast<double>((*q)[1]), width = static_cast<double>((*q)[2] + (*v)[2]);
  const bool halved = causal && *nq == *nkv;
  out.flops =
      2 * static_cast<double>((*q)[0]) * heads * static_cast<double>(*nkv) * width * (halved ? 0.5 : 1);
  const auto qb = call.Bytes(0), kb = call.Bytes(1), vb = call.Bytes(2);
  if (qb && kb && vb) {
    out.bytes = 2 * *qb + *kb + *vb;
  } else {
    out.reason = "the type of an input is unknown";
  }
  return out;
}

// ---- by bytes ----
static bool IsFloating(std::string_view dtype) {
  return !dtype.empty() && (dtype[0] == 'f' || dtype[0] == 'b') && dtype != "bool";
}

// The dtype a pointwise op works in: of its tensors with dimensions, floating before integer, wide before
// narrow.
static size_t Widest(const Call& call) {
  size_t best = SIZE_MAX;
  std::array<double, 3> best_rank{};
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.Tensor(i)) continue;
    const std::array<double, 3> rank = {call.Tensor(i)->empty() ? 0.0 : 1.0,
                                        IsFloating(NormalDtype(call.inputs[i].type)) ? 1.0 : 0.0,
                                        call.Size(i).value_or(0)};
    if (best == SIZE_MAX || rank > best_rank) {
      best = i;
      best_rank = rank;
    }
  }
  return best;
}

OpCost Pointwise(const Call& call, const Traffic& t) {
  const size_t widest = Widest(call);
  if (widest == SIZE_MAX) return Unknown("its inputs were not recorded");
  OpCost out;
  out.dtype = NormalDtype(call.inputs[widest].type);
  Shape shape;
  double read = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.Tensor(i)) continue;
    const auto bytes = call.Bytes(i);
    if (!bytes) return Unknown("the type of an input is unknown");
    const bool written = t.args > 0 && i >= t.args && i + 1 == call.inputs.size();
    if (written) continue;
    if (i > 0 || t.reads_first) read += *bytes;
    auto wider = Broadcast(shape, *call.Tensor(i));
    if (!t.in_place && wider) shape = std::move(*wider);
  }
  if (t.in_place) {
    if (!call.Tensor(0)) return Unknown(kOddShapes);
    shape = *call.Tensor(0);
  }
  const auto size = t.in_place ? call.Size(0) : t.out_size ? t.out_size : call.Size(widest);
  if (!size) return Unknown("the type of its output is unknown");
  out.flops = t.per_element * Numel(shape);
  out.bytes = read + t.outputs * Numel(shape) * *size;
  return out;
}

OpCost Norm(const Call& call, size_t input) {
  const auto bytes = call.Bytes(input);
  if (!bytes) return Unknown(kOddShapes);
  OpCost out;
  out.dtype = NormalDtype(call.inputs[input].type);
  out.flops = 5 * Numel(*call.Tensor(input));
  out.bytes = *bytes;
  for (size_t i = input; i < call.inputs.size(); ++i) *out.bytes += call.Bytes(i).value_or(0);
  return out;
}

OpCost Reduction(const Call& call) {
  const Shape* x = call.Tensor(0);
  const auto bytes = call.Bytes(0);
  if (!x || !bytes) return Unknown(kOddShapes);
  OpCost out;
  out.dtype = NormalDtype(call.inputs[0].type);
  out.flops = Numel(*x);
  double kept = 1;
  auto dims = ParseShape(call.Scalar(1));
  if (const auto one = ParseInteger(call.Scalar(1)); one && call.inputs.size() > 2) dims = Shape{*one};
  if (dims && !dims->empty()) {
    kept = Numel(*x);
    for (const int64_t d : *dims) {
      const auto rank = static_cast<int64_t>(x->size());
      const int64_t at = d < 0 ? d + rank : d;
      if (at < 0 || at >= rank) return Unknown(kOddShapes);
      if ((*x)[static_cast<size_t>(at)] > 0) kept /= static_cast<double>((*x)[static_cast<size_t>(at)]);
    }
  }
  out.bytes = *bytes + kept * *call.Size(0);
  return out;
}

OpCost MaxPool(const Call& call) {
  const Shape* x = call.Tensor(0);
  const auto bytes = call.Bytes(0), size = call.Size(0);
  if (!x || !bytes || x->size() != 4) return Unknown(kOddShapes);
  const auto kernel = PerDimension(call.Scalar(1), 2), padding = PerDimension(call.Scalar(3), 2),
             dilation = PerDimension(call.Scalar(4), 2);
  const auto stride =
      call.Scalar(2).empty() || call.Scalar(2) == "[]" ? kernel : PerDimension(call.Scalar(2), 2);
  if (!kernel || !stride || !padding || !dilation) return Unknown("its window was not recorded");
  double places = static_cast<double>((*x)[0]) * static_cast<double>((*x)[1]);
  for (size_t d = 0; d < 2; ++d) {
    if ((*stride)[d] < 1) return Unknown(kOddShapes);
    const int64_t reach = (*dilation)[d] * ((*kernel)[d] - 1) + 1,
                  room = (*x)[d + 2] + 2 * (*padding)[d] - reach;
    const int64_t up = call.Scalar(5) == "True" ? (*stride)[d] - 1 : 0;
    if (room < 0) return Unknown(kOddShapes);
    places *= static_cast<double>((room + up) / (*stride)[d] + 1);
  }
  OpCost out;
  out.dtype = NormalDtype(call.inputs[0].type);
  out.flops = places * Numel(*kernel);
  out.bytes = *bytes + places * (*size + 8);  // indices are 64-bit
  return out;
}

// (grad_output, x, kernel, stride, padding, dilation, ceil_mode, indices)
OpCost MaxPoolBackward(const Call& call) {
  const Shape* g = call.Tensor(0);
  const auto gb = call.Bytes(0), xb = call.Bytes(1), indices = call.Bytes(7);
  if (!g || !gb || !xb || !indices) return Unknown(kOddShapes);
  OpCost out;
  out.dtype = NormalDtype(call.inputs[0].type);
  out.flops = Numel(*g);
  out.bytes = *gb + *indices + *xb;
  return out;
}

OpCost FusedPointwise(const Call& call) {
  OpCost out;
  double bytes = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.Tensor(i)) continue;
    const auto part = call.Bytes(i);
    if (!part) return Unknown("the type of an input is unknown");
    if (out.dtype.empty()) out.dtype = NormalDtype(call.inputs[i].type);
    bytes += *part;
  }
  if (bytes <= 0) return Unknown("its inputs were not recorded");
  out.bytes = bytes;
  out.memory_only = true;
  return out;
}

OpCost Pick(const Call& call, size_t table, size_t index, bool whole_rows) {
  const Shape *x = call.Tensor(table), *at = call.Tensor(index);
  const auto size = call.Size(table), index_bytes = call.Bytes(index);
  if (!x || !at || !size || !index_bytes || x->empty()) return Unknown(kOddShapes);
  OpCost out;
  out.dtype = NormalDtype(call.inputs[table].type);
  double elements = Numel(*at);
  if (whole_rows) elements *= Numel(Shape(x->begin() + 1, x->end()));
  out.flops = 0;
  out.bytes = *index_bytes + 2 * elements * *size;
  return out;
}
// index_select(x, dim, index): the whole of every other dimension.
OpCost IndexSelect(const Call& call) {
  const Shape *x = call.Tensor(0), *at = call.Tensor(2);
  const auto dim = ParseInteger(call.Scalar(1));
  const auto size = call.Size(0), index_bytes = call.Bytes(2);
  if (!x || !at || !size || !index_bytes) return Unknown(kOddShapes);
  if (!dim) return Unknown("its dimension was not recorded");
  const int64_t d = *dim < 0 ? *dim + static_cast<int64_t>(x->size()) : *dim;
  if (d < 0 || d >= static_cast<int64_t>(x->size()) || (*x)[static_cast<size_t>(d)] < 1)
    return Unknown(kOddShapes);
  OpCost out;
  out.dtype = NormalDtype(call.inputs[0].type);
  out.flops = 0;
  out.bytes =
      *index_bytes + 2 * Numel(*at) * Numel(*x) / static_cast<double>((*x)[static_cast<size_t>(d)]) * *size;
  return out;
}

}  // namespace nl::flops
