// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/model_dims.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "analyze/cost_model/model_shapes.h"
#include "analyze/cost_model/peaks.h"

namespace nl {

namespace {

struct NamedDim {
  const char* name;
  Dim ModelShape::*dim;
  std::optional<int64_t> ModelShapeDims::*known;
};
constexpr NamedDim kDims[] = {
    {"layers", &ModelShape::layers, &ModelShapeDims::layers},
    {"d_model", &ModelShape::d_model, &ModelShapeDims::d_model},
    {"d_ff", &ModelShape::d_ff, &ModelShapeDims::d_ff},
    {"heads", &ModelShape::heads, &ModelShapeDims::heads},
    {"kv_heads", &ModelShape::kv_heads, &ModelShapeDims::kv_heads},
    {"head_dim", &ModelShape::head_dim, &ModelShapeDims::head_dim},
    {"vocab", &ModelShape::vocab, &ModelShapeDims::vocab},
    {"experts", &ModelShape::experts, &ModelShapeDims::experts},
    {"active_experts", &ModelShape::active_experts, &ModelShapeDims::active_experts}};

void Set(Dim& dim, int64_t value, std::string from) {
  dim.value = value;
  dim.from = std::move(from);
}

std::optional<int64_t> Positive(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer()) return std::nullopt;
  const int64_t value = it->get<int64_t>();
  return value > 0 ? std::optional<int64_t>(value) : std::nullopt;
}

// The first key that has a positive integer.
bool Take(Dim& dim, const Json& config, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const auto value = Positive(config, key)) {
      Set(dim, *value, fmt::format("model config: {}", key));
      return true;
    }
  }
  return false;
}

// Which families gate their feed-forward layer; Hugging Face configs do not say it directly.
constexpr std::string_view kGated[] = {"llama",    "mistral",  "mixtral",  "qwen",   "gemma",   "phi3",
                                       "deepseek", "gpt_oss",  "olmo",     "cohere", "granite", "yi",
                                       "internlm", "baichuan", "stablelm", "glm"};
constexpr std::string_view kPlain[] = {"gpt2",   "gptj", "gpt_neo", "opt",        "bloom",
                                       "falcon", "mpt",  "bert",    "starcoder2", "phi"};

void TakeGated(ModelShape& out, const Json& config) {
  const std::string type =
      config.value("model_type", Json("")).is_string() ? config.value("model_type", "") : "";
  const auto starts = [&](std::string_view family) { return std::string_view(type).starts_with(family); };
  if (!type.empty() && std::any_of(std::begin(kGated), std::end(kGated), starts)) {
    out.gated = true;
    out.gated_from = "model config: model_type " + type;
  } else if (!type.empty() && std::any_of(std::begin(kPlain), std::end(kPlain), starts)) {
    out.gated = false;
    out.gated_from = "model config: model_type " + type;
  } else {
    for (const char* key : {"hidden_act", "activation_function", "hidden_activation"}) {
      const Json act = config.value(key, Json());
      if (!act.is_string()) continue;
      const std::string text = act.get<std::string>();
      if (text == "silu" || text == "swish" || text == "swiglu" || text == "geglu") out.gated = true;
      if (text.starts_with("relu") || text == "gelu_new") out.gated = false;
      if (out.gated) {
        out.gated_from = fmt::format("model config: {} {}", key, text);
        return;
      }
    }
    out.gated_from = "the model config has neither a known model_type nor an activation that implies it";
  }
}

void TakeConfig(ModelShape& out, const Json& whole) {
  const bool nested =
      whole.contains("text_config") && whole["text_config"].is_object() && !whole.contains("hidden_size");
  const Json& config = nested ? whole["text_config"] : whole;
  Take(out.layers, config, {"num_hidden_layers", "n_layer", "num_layers"});
  Take(out.d_model, config, {"hidden_size", "n_embd", "d_model"});
  Take(out.heads, config, {"num_attention_heads", "n_head", "num_heads"});
  Take(out.vocab, config, {"vocab_size"});
  Take(out.experts, config, {"num_local_experts", "num_experts", "n_routed_experts"});
  if (out.experts.value)
    Take(out.active_experts, config, {"num_experts_per_tok", "experts_per_token", "top_k"});
  if (!(out.experts.value && Take(out.d_ff, config, {"moe_intermediate_size"})))
    Take(out.d_ff, config, {"intermediate_size", "n_inner", "ffn_dim", "d_ff"});
  Take(out.shared_d_ff, config, {"shared_expert_intermediate_size"});
  if (!out.d_ff.value && out.d_model.value && config.value("model_type", Json()) == Json("gpt2"))
    Set(out.d_ff, 4 * *out.d_model.value, "model config: 4 x n_embd (gpt2 without n_inner)");
  if (!Take(out.kv_heads, config, {"num_key_value_heads", "num_kv_heads"}) && out.heads.value)
    Set(out.kv_heads, *out.heads.value,
        "model config: equal to the attention heads (num_key_value_heads is absent)");
  if (!Take(out.head_dim, config, {"head_dim"}) && out.heads.value && out.d_model.value &&
      *out.d_model.value % *out.heads.value == 0)
    Set(out.head_dim, *out.d_model.value / *out.heads.value,
        "model config: hidden_size / num_attention_heads");
  TakeGated(out, config);
  if (config.contains("kv_lora_rank"))
    out.unfit.emplace_back("multi-head latent attention (kv_lora_rank) has different projections");
  for (const NamedDim& d : kDims) out.is_config = out.is_config || (out.*d.dim).value.has_value();
}

void TakeDocument(ModelShape& out, const Json& document) {
  if (!document.contains("model") || !document["model"].is_object()) return;
  const auto dims = document["model"].find("dims");
  if (dims == document["model"].end() || !dims->is_object()) return;
  for (const NamedDim& d : kDims) {
    const auto value = Positive(*dims, d.name);
    if (value && !(out.*d.dim).value)
      Set(out.*d.dim, *value, fmt::format("run document: model.dims.{}", d.name));
  }
}

void TakeShapes(ModelShape& out, const InferredShape& inferred) {
  for (const NamedDim& d : kDims) {
    Dim& to = out.*d.dim;
    const Dim& from = inferred.shape.*d.dim;
    if (to.value) continue;
    to = from;
    out.inferred = out.inferred || from.value.has_value();
  }
  if (!out.gated) {
    out.gated = inferred.shape.gated;
    if (out.gated || out.gated_from.empty()) out.gated_from = inferred.shape.gated_from;
  }
}

void TakeDtype(ModelShape& out, const RunData& data, const InferredShape& inferred) {
  if (!inferred.shape.dtype.empty()) {
    out.dtype = inferred.shape.dtype;
    out.dtype_from = inferred.shape.dtype_from;
  } else if (data.document.contains("software") && data.document["software"].is_object()) {
    const Json precision = data.document["software"].value("precision", Json());
    const std::string_view normal =
        precision.is_string() ? NormalDtype(precision.get_ref<const std::string&>()) : std::string_view();
    out.dtype = normal;
    out.dtype_from =
        normal.empty()
            ? "the precision of the run is not a single dtype and no operator shows the type of the weights"
            : "precision of the run";
  } else {
    out.dtype_from = "the run does not record its precision";
  }
  out.dtype_bytes = DtypeBytes(out.dtype);
}

double D(const Dim& dim) { return static_cast<double>(dim.value.value_or(0)); }

// Parameters that every token meets in one layer, and those of one expert.
struct LayerParams {
  double attention, dense, router, expert;
};
LayerParams ParamsOf(const ModelShape& s) {
  const double d = D(s.d_model), attention_width = D(s.heads) * D(s.head_dim);
  const double kv_width = D(s.kv_heads) * D(s.head_dim), matrices = s.gated.value_or(false) ? 3 : 2;
  LayerParams p{};
  p.attention = 2 * d * attention_width + 2 * d * kv_width;
  const double ff = matrices * d * D(s.d_ff);
  if (s.experts.value) {
    p.expert = ff;
    p.router = d * D(s.experts);
    p.dense = matrices * d * D(s.shared_d_ff);
  } else {
    p.dense = ff;
  }
  return p;
}

}  // namespace

std::string ModelShape::MissingFor() const {
  if (!unfit.empty()) return unfit.front();
  for (const NamedDim& d : kDims) {
    const bool optional = d.dim == &ModelShape::experts || d.dim == &ModelShape::active_experts;
    const Dim& dim = this->*d.dim;
    if (!dim.value && !optional) return fmt::format("{} is unknown: {}", d.name, dim.from);
  }
  if (experts.value && !active_experts.value)
    return "active_experts is unknown: the model config does not set it";
  if (!gated) return "whether the feed-forward layer is gated is unknown: " + gated_from;
  return {};
}

ModelShape FindModelShape(const RunData& data, const AnalysisOptions& options) {
  ModelShape out;
  if (options.model_config.is_object()) TakeConfig(out, options.model_config);
  TakeDocument(out, data.document);
  const InferredShape inferred = InferShape(data);
  TakeShapes(out, inferred);
  TakeDtype(out, data, inferred);
  return out;
}

double ForwardFlops(const ModelShape& s, const ForwardWork& w) {
  const LayerParams p = ParamsOf(s);
  const double active = s.experts.value ? D(s.active_experts) : 0;
  const double linear = 2 * w.tokens * (p.attention + p.dense + p.router + active * p.expert);
  // New tokens see all that came before them (rectangle) and each other causally (triangle). One new token
  // sees the whole context.
  const double width = D(s.heads) * D(s.head_dim), before = w.kv_len - w.q_len;
  const double pairs = w.q_len > 1 ? w.q_len * before + w.q_len * w.q_len / 2 : w.q_len * w.kv_len;
  const double attention = 4 * width * w.batch * pairs;
  return D(s.layers) * (linear + attention) + 2 * w.head_tokens * D(s.d_model) * D(s.vocab);
}

double ForwardWeightBytes(const ModelShape& s, const ForwardWork& w) {
  const LayerParams p = ParamsOf(s);
  // At most as many experts as the tokens choose.
  const double experts = s.experts.value ? std::min(D(s.experts), w.tokens * D(s.active_experts)) : 0;
  const double layer = p.attention + p.dense + p.router + experts * p.expert;
  const double head = w.head_tokens > 0 ? D(s.d_model) * D(s.vocab) : 0;
  return (D(s.layers) * layer + head) * s.dtype_bytes.value_or(0);
}

double ForwardKvBytes(const ModelShape& s, const ForwardWork& w) {
  return 2 * D(s.layers) * D(s.kv_heads) * D(s.head_dim) * w.batch * w.kv_len * s.dtype_bytes.value_or(0);
}

void Describe(Record<ModelShapeDims>& r) {
  r.Name("ModelShapeDims", "Dimensions of the model; null where unknown");
  r.Field("layers", &ModelShapeDims::layers, "Transformer layers");
  r.Field("d_model", &ModelShapeDims::d_model, "Width of the hidden state");
  r.Field("d_ff", &ModelShapeDims::d_ff,
          "Width of the feed-forward layer, of one expert in a mixture of experts");
  r.Field("heads", &ModelShapeDims::heads, "Attention heads");
  r.Field("kv_heads", &ModelShapeDims::kv_heads, "Key and value heads");
  r.Field("head_dim", &ModelShapeDims::head_dim, "Width of one head");
  r.Field("vocab", &ModelShapeDims::vocab, "Vocabulary size");
  r.Field("experts", &ModelShapeDims::experts, "Experts per layer; null: not a mixture of experts");
  r.Field("active_experts", &ModelShapeDims::active_experts, "Experts that each token uses");
  r.Field("gated", &ModelShapeDims::gated, "The feed-forward layer is gated (SwiGLU, GeGLU)");
  r.Field("dtype", &ModelShapeDims::dtype, "Type of the weights, such as bf16");
}

void Describe(Record<ModelSection>& r) {
  r.Name("ModelSection", "The model that the run executed");
  r.Field("dims", &ModelSection::dims, "Dimensions");
  r.Field("from", &ModelSection::from, "Source of each dimension, or why it is unknown");
  r.Field("inferred", &ModelSection::inferred, "Some dimension was inferred from operator shapes");
  r.Field("missing", &ModelSection::missing, "Why FLOPs cannot be computed; null when they can");
}

ModelSection SectionOf(const ModelShape& shape) {
  ModelSection out;
  const auto source = [&out](const char* name, const std::string& from) {
    if (!from.empty()) out.from[name] = from;
  };
  for (const NamedDim& d : kDims) {
    out.dims.*d.known = (shape.*d.dim).value;
    source(d.name, (shape.*d.dim).from);
  }
  out.dims.gated = shape.gated;
  source("gated", shape.gated_from);
  if (!shape.dtype.empty()) out.dims.dtype = shape.dtype;
  source("dtype", shape.dtype_from);
  out.inferred = shape.inferred;
  if (std::string missing = shape.MissingFor(); !missing.empty()) out.missing = std::move(missing);
  return out;
}

}  // namespace nl
