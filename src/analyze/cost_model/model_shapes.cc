// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/model_shapes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/cost_model/peaks.h"

namespace nl {

namespace {

// Smaller than any projection of a model: rotary tables and the like.
constexpr int64_t kMinWidth = 32;

// What the ops of a run show, counted by distinct shape.
struct ShapeEvidence {
  std::map<std::pair<int64_t, int64_t>, int64_t> gemm;                 // (k, n) -> calls
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> attention;  // heads, kv_heads, head_dim
  std::map<std::pair<int64_t, int64_t>, int64_t> batched;              // (batch * heads, inner) -> calls
  std::map<std::pair<int64_t, int64_t>, int64_t> embedding;            // (rows, width)
  std::map<std::pair<int64_t, int64_t>, std::string> embedding_type;
  std::map<std::string, int64_t> gemm_type;
  std::map<int64_t, int64_t> batch;  // of embedding ids
  bool any_shapes = false;
};

std::string TypeOfInput(std::string_view types, size_t index) {
  const std::vector<std::string_view> names = ListElements(types);
  return index < names.size() ? std::string(NormalDtype(Unquoted(names[index]))) : "";
}

class Collector {
 public:
  explicit Collector(const RunData& data) : data_(data) {}

  ShapeEvidence Collect() {
    CountOps();
    for (const auto& [key, calls] : counts_) {
      const std::string_view name = data_.Text(static_cast<StringId>(key.name));
      const Shapes shapes = ParseShapes(data_.Text(static_cast<StringId>(key.dims)));
      const std::string_view types = data_.Text(static_cast<StringId>(key.types));
      if (shapes.empty()) continue;
      out_.any_shapes = true;
      Take(name, shapes, types, calls);
    }
    return std::move(out_);
  }

 private:
  struct Key {
    uint32_t name, dims, types;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      return (k.name * 0x9e3779b97f4a7c15u) ^ (k.dims * 0xc2b2ae3d27d4eb4fu) ^ (uint64_t{k.types} << 20);
    }
  };

  void CountOps() {
    std::vector<uint8_t> role(data_.strings->size(), 0xff);
    for (size_t i = 0; i < data_.op.name.size(); ++i) {
      if (IsNull(data_.op.name[i]) || IsNull(data_.op.input_dims[i])) continue;
      uint8_t& r = role[static_cast<uint32_t>(data_.op.name[i])];
      if (r == 0xff) r = static_cast<uint8_t>(RoleOf(data_.Text(data_.op.name[i])));
      if (r == static_cast<uint8_t>(OpRole::kNone)) continue;
      has_outer_ = has_outer_ || r == static_cast<uint8_t>(OpRole::kAttention);
      has_gemm_ = has_gemm_ || r == static_cast<uint8_t>(OpRole::kGemm);
      ++counts_[{static_cast<uint32_t>(data_.op.name[i]), static_cast<uint32_t>(data_.op.input_dims[i]),
                 static_cast<uint32_t>(data_.op.input_types[i])}];
    }
  }

  void Take(std::string_view name, const Shapes& shapes, std::string_view types, int64_t calls) {
    switch (RoleOf(name)) {
      case OpRole::kLinear:
        if (has_gemm_) return;  // the GEMM inside is counted
        [[fallthrough]];
      case OpRole::kGemm:
        if (const auto g = GemmOf(name, shapes); g && g->k >= kMinWidth && g->n >= kMinWidth) {
          out_.gemm[{g->k, g->n}] += calls;
          const std::string type = TypeOfInput(types, 1);
          if (!type.empty()) out_.gemm_type[type] += calls * g->k * g->n;
        }
        return;
      case OpRole::kInnerAttention:
        if (has_outer_) return;
        [[fallthrough]];
      case OpRole::kAttention:
        if (const auto a = AttentionOf(name, shapes))
          out_.attention[{a->heads, a->kv_heads, a->head_dim}] += calls;
        return;
      case OpRole::kBatchedGemm:
        if (shapes.size() >= 2 && shapes[0].size() == 3 && shapes[1].size() == 3 && shapes[0][2] >= kMinWidth)
          out_.batched[{shapes[0][0], shapes[0][2]}] += calls;
        return;
      case OpRole::kEmbedding:
        if (const auto e = EmbeddingOf(shapes)) {
          out_.embedding[{e->rows, e->width}] += calls;
          out_.embedding_type[{e->rows, e->width}] = TypeOfInput(types, 0);
          if (e->ids.size() == 2) out_.batch[e->ids[0]] += calls;
        }
        return;
      case OpRole::kNone: return;
    }
  }

  const RunData& data_;
  ShapeEvidence out_;
  std::unordered_map<Key, int64_t, KeyHash> counts_;
  bool has_outer_ = false, has_gemm_ = false;
};

class Inference {
 public:
  explicit Inference(ShapeEvidence evidence) : e_(std::move(evidence)) {}

  InferredShape Infer() {
    FindVocabulary();
    FindAttention();
    FindFeedForward();
    FindKvHeads();
    FindType();
    return std::move(out_);
  }

 private:
  static void Put(Dim& dim, int64_t value, std::string from) {
    dim.value = value;
    dim.from = "inferred from " + std::move(from);
  }
  std::string Reason(std::string_view needs) const {
    return e_.any_shapes ? fmt::format("no recorded operator shows {}", needs)
                         : "operator shapes were not recorded (record_shapes=True); use --model-config";
  }
  int64_t Gemms(int64_t k, int64_t n) const {
    const auto it = e_.gemm.find({k, n});
    return it == e_.gemm.end() ? 0 : it->second;
  }

  // The largest embedding table; without one the LM head, the GEMM that widens most.
  void FindVocabulary() {
    ModelShape& s = out_.shape;
    const auto table =
        std::max_element(e_.embedding.begin(), e_.embedding.end(), [](const auto& a, const auto& b) {
          return a.first.first * a.first.second < b.first.first * b.first.second;
        });
    if (table != e_.embedding.end()) {
      const auto [rows, width] = table->first;
      Put(s.vocab, rows, fmt::format("the table of aten::embedding, {} x {}", rows, width));
      Put(s.d_model, width, s.vocab.from.substr(sizeof("inferred from ") - 1));
      out_.forwards = table->second;
      return;
    }
    std::pair<int64_t, int64_t> head{0, 0};
    for (const auto& [shape, calls] : e_.gemm) {
      if (shape.second >= 8192 && shape.second >= 4 * shape.first && shape.second > head.second) head = shape;
    }
    if (head.second == 0) {
      s.vocab.from = s.d_model.from = Reason("an embedding or an LM head");
      return;
    }
    const std::string from =
        fmt::format("the widest GEMM, {} x {}, taken for the LM head", head.first, head.second);
    Put(s.vocab, head.second, from);
    Put(s.d_model, head.first, from);
    out_.forwards = Gemms(head.first, head.second);
  }

  void FindAttention() {
    ModelShape& s = out_.shape;
    const auto most = std::max_element(e_.attention.begin(), e_.attention.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != e_.attention.end()) {
      const auto [heads, kv_heads, head_dim] = most->first;
      const std::string from = "the inputs of fused attention";
      Put(s.heads, heads, from);
      Put(s.kv_heads, kv_heads, from);
      Put(s.head_dim, head_dim, from);
      attention_calls_ = most->second;
    } else {
      FindEagerAttention();
    }
    for (Dim* dim : {&s.heads, &s.kv_heads, &s.head_dim}) {
      if (!dim->value) dim->from = Reason("attention");
    }
    PutLayers(attention_calls_, "attention calls per forward");
  }

  // Q x K of [batch * heads, q, head_dim]: the inner width times the heads is the input of a projection to
  // d_model.
  void FindEagerAttention() {
    ModelShape& s = out_.shape;
    if (e_.batch.size() != 1 || !s.d_model.value) return;
    const int64_t batch = e_.batch.begin()->first;
    std::map<std::pair<int64_t, int64_t>, int64_t> fits;  // (heads, head_dim) -> calls
    for (const auto& [shape, calls] : e_.batched) {
      const auto [rows, inner] = shape;
      if (rows % batch == 0 && Gemms(rows / batch * inner, *s.d_model.value) > 0)
        fits[{rows / batch, inner}] += calls;
    }
    const auto most = std::max_element(fits.begin(), fits.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == fits.end()) return;
    const std::string from = "batched GEMMs of the attention";
    Put(s.heads, most->first.first, from);
    Put(s.kv_heads, most->first.first, from);
    Put(s.head_dim, most->first.second, from);
    attention_calls_ = most->second;
  }

  void PutLayers(int64_t calls, const std::string& what) {
    Dim& layers = out_.shape.layers;
    if (layers.value) return;
    if (calls > 0 && out_.forwards > 0 && calls % out_.forwards == 0) {
      Put(layers, calls / out_.forwards, fmt::format("{}: {} / {}", what, calls, out_.forwards));
    } else {
      layers.from = calls > 0 && out_.forwards > 0
                        ? fmt::format("{} calls do not divide by {} forwards", calls, out_.forwards)
                        : Reason("layers of a forward");
    }
  }

  // A width f with GEMMs d_model -> f (twice when gated, or once to 2f) and f -> d_model.
  void FindFeedForward() {
    ModelShape& s = out_.shape;
    s.d_ff.from = s.gated_from = Reason("the two GEMMs of a feed-forward layer");
    if (!s.d_model.value) return;
    const int64_t d = *s.d_model.value;
    const int64_t attention_width = s.heads.value.value_or(0) * s.head_dim.value.value_or(0);
    int64_t best = 0, best_weight = 0;
    for (const auto& [shape, calls] : e_.gemm) {
      const auto [k, n] = shape;
      if (n != d || k == s.vocab.value.value_or(0) || k == attention_width) continue;
      const int64_t up = Gemms(d, k), fused = Gemms(d, 2 * k);
      // Square projections and attention outputs have no such pairs of equal or double count.
      const bool pair = k != d && (up == calls || up == 2 * calls || (up == 0 && fused == calls));
      if (pair && calls * k > best_weight) {
        best = k;
        best_weight = calls * k;
      }
    }
    if (best == 0) return;
    const int64_t down = Gemms(best, d), up = Gemms(d, best);
    s.gated = up != down;
    const std::string from =
        fmt::format("{} GEMMs {} x {} and {} GEMMs {} x {}", up > 0 ? up : Gemms(d, 2 * best), d,
                    up > 0 ? best : 2 * best, down, best, d);
    Put(s.d_ff, best, from);
    s.gated_from = "inferred from " + from;
    PutLayers(down, "feed-forward GEMMs per forward");
  }

  // Attention that was given repeated K and V shows as many kv heads as heads; the projections know better.
  void FindKvHeads() {
    ModelShape& s = out_.shape;
    if (!s.heads.value || !s.head_dim.value || !s.layers.value || !s.d_model.value) return;
    if (*s.kv_heads.value != *s.heads.value) return;
    const int64_t per_forward = *s.layers.value * out_.forwards, hd = *s.head_dim.value,
                  heads = *s.heads.value;
    for (const auto& [shape, calls] : e_.gemm) {
      const auto [k, n] = shape;
      if (k != *s.d_model.value || n % hd != 0) continue;
      const bool separate = n < heads * hd && calls == 2 * per_forward;
      const bool fused = n > heads * hd && n < 3 * heads * hd && calls == per_forward &&
                         (n / hd - heads) % 2 == 0 && n != s.d_ff.value.value_or(0) &&
                         n != 2 * s.d_ff.value.value_or(0);
      if (!separate && !fused) continue;
      Put(s.kv_heads, separate ? n / hd : (n / hd - heads) / 2,
          fmt::format("{} projections {} x {}", calls, k, n));
      return;
    }
  }

  void FindType() {
    ModelShape& s = out_.shape;
    if (s.vocab.value && s.d_model.value) {
      const auto it = e_.embedding_type.find({*s.vocab.value, *s.d_model.value});
      if (it != e_.embedding_type.end() && DtypeBytes(it->second)) {
        s.dtype = it->second;
        s.dtype_from = "type of the embedding table";
        return;
      }
    }
    const auto most = std::max_element(e_.gemm_type.begin(), e_.gemm_type.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == e_.gemm_type.end()) return;
    s.dtype = most->first;
    s.dtype_from = "type of most GEMM weights";
  }

  ShapeEvidence e_;
  InferredShape out_;
  int64_t attention_calls_ = 0;
};

}  // namespace

OpRole RoleOf(std::string_view name) {
  if (name == "aten::mm" || name == "aten::addmm" || name == "aten::_scaled_mm") return OpRole::kGemm;
  if (name == "aten::linear") return OpRole::kLinear;
  if (name == "aten::bmm") return OpRole::kBatchedGemm;
  if (name == "aten::embedding") return OpRole::kEmbedding;
  if (name == "aten::scaled_dot_product_attention" || name.starts_with("vllm::unified_attention"))
    return OpRole::kAttention;
  if (name.starts_with("aten::_scaled_dot_product_") && !name.ends_with("_backward"))
    return OpRole::kInnerAttention;
  return OpRole::kNone;
}

std::optional<AttentionShape> AttentionOf(std::string_view name, const Shapes& s) {
  AttentionShape out;
  if (s.size() < 2 || s[0].size() != s[1].size()) return std::nullopt;
  if (name.starts_with("vllm::")) {
    if (s[0].size() != 3) return std::nullopt;
    out.q_len = s[0][0];
    out.heads = s[0][1];
    out.kv_heads = s[1][1];
    out.head_dim = s[0][2];
  } else {
    if (s[0].size() != 4) return std::nullopt;
    out.batch = s[0][0];
    out.heads = s[0][1];
    out.q_len = s[0][2];
    out.head_dim = s[0][3];
    out.kv_heads = s[1][1];
    out.kv_len = s[1][2];
  }
  const bool sane = out.heads > 0 && out.kv_heads > 0 && out.q_len > 0 && out.head_dim > 0;
  return sane ? std::optional<AttentionShape>(out) : std::nullopt;
}

std::optional<EmbeddingShape> EmbeddingOf(const Shapes& s) {
  if (s.size() < 2 || s[0].size() != 2 || s[1].empty()) return std::nullopt;
  EmbeddingShape out{s[0][0], s[0][1], s[1]};
  return out.rows > 0 && out.width > 0 ? std::optional<EmbeddingShape>(out) : std::nullopt;
}

InferredShape InferShape(const RunData& data) { return Inference(Collector(data).Collect()).Infer(); }

}  // namespace nl
