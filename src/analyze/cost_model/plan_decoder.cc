// SPDX-License-Identifier: Apache-2.0
// Decoders of Hugging Face transformers 5 as they run eagerly: llama and its relatives, gpt2, opt. Kernels
// were counted in H200 traces (torch 2.11, transformers 5).

#include <algorithm>
#include <cmath>

#include "analyze/cost_model/plan_builder.h"

namespace nl::plan {

namespace {

struct DecoderSizes {
  double layers, width, ff, heads, kv_heads, head, vocab, experts, active, window;
  bool qkv_bias, qk_norm, gemma, tied;
  double q_width() const { return heads * head; }
  double kv_width() const { return kv_heads * head; }
};

DecoderSizes ReadDecoder(Sizes& s, const std::string& family) {
  DecoderSizes d{};
  d.layers = s.Need("num_hidden_layers");
  d.width = s.Need("hidden_size");
  d.ff = s.Need("intermediate_size");
  d.heads = s.Need("num_attention_heads");
  d.kv_heads = s.Or("num_key_value_heads", d.heads);
  d.head = s.Or("head_dim", d.width / d.heads);
  d.vocab = s.Need("vocab_size");
  d.experts = family == "mixtral" ? s.Need("num_local_experts") : 0;
  d.active = family == "mixtral" ? s.Need("num_experts_per_tok") : 0;
  d.window = family == "mistral" || family == "mixtral" ? s.Or("sliding_window", 0) : 0;
  d.qkv_bias = family == "qwen2" || s.Flag("attention_bias", false);
  d.qk_norm = family == "qwen3";
  d.gemma = family == "gemma";
  d.tied = s.Flag("tie_word_embeddings", family == "gemma");
  return d;
}

// to fp32, square, mean, + eps, rsqrt, scale, then weight and back (gemma: weight in fp32).
void RmsNorm(ModuleBuilder module, double rows, double width, double bytes, bool gemma) {
  const double n = rows * width;
  module.Parameters(width);
  if (bytes < 4) module.Pass(KernelKind::kStrided, n, 0);
  module.Pass(n, 4, 4).Pass(n, 4, 0).Small(2).Pass(KernelKind::kStrided, n);
  if (gemma) {
    module.Small(2).Pass(KernelKind::kStrided, n).Pass(n, 4, bytes, 0);
  } else {
    if (bytes < 4) module.Pass(n, 4, bytes, 0);
    module.Pass(KernelKind::kStrided, n);
  }
}

class DecoderStage {
 public:
  DecoderStage(PlanStage& stage, const DecoderSizes& sizes, const Forward& forward, double bytes)
      : out_(stage, bytes), d_(sizes), f_(forward), bytes_(bytes) {}

  void Plan() {
    const double t = f_.tokens();
    auto embedding = out_.Module("embedding", 1, {"model.embed_tokens", "model"});
    embedding.Parameters(d_.vocab * d_.width).Pass(t * d_.width, bytes_, bytes_, 0).Small(4);
    if (d_.gemma) embedding.Pass(t * d_.width, bytes_, bytes_);
    out_.Module("rotary", 1, {"model.rotary_emb"}).Small(10);
    RmsNorm(out_.Module("norms", 2 * d_.layers,
                        {"model.layers.*.input_layernorm", "model.layers.*.post_attention_layernorm"}),
            t, d_.width, bytes_, d_.gemma);
    Attention();
    if (d_.experts > 0)
      Experts();
    else
      Mlp();
    out_.Module("residual", d_.layers, {"model.layers.*"}).Pass(2 * t * d_.width, 2 * bytes_, bytes_, 1, 2);
    RmsNorm(out_.Module("final_norm", 1, {"model.norm"}), t, d_.width, bytes_, d_.gemma);
    auto head = out_.Module("lm_head", 1, {"lm_head"});
    if (d_.tied)
      head.TiedLinear(f_.head_rows, d_.vocab, d_.width);
    else
      head.Linear(f_.head_rows, d_.vocab, d_.width, false);
  }

 private:
  void Attention() {
    const double t = f_.tokens();
    out_.Module("attention.qkv", d_.layers,
                {"model.layers.*.self_attn.q_proj", "model.layers.*.self_attn.k_proj",
                 "model.layers.*.self_attn.v_proj"})
        .Linear(t, d_.q_width(), d_.width, d_.qkv_bias)
        .Linear(t, d_.kv_width(), d_.width, d_.qkv_bias)
        .Linear(t, d_.kv_width(), d_.width, d_.qkv_bias);
    if (d_.qk_norm) {
      RmsNorm(out_.Module("attention.q_norm", d_.layers, {"model.layers.*.self_attn.q_norm"}), t * d_.heads,
              d_.head, bytes_, false);
      RmsNorm(out_.Module("attention.k_norm", d_.layers, {"model.layers.*.self_attn.k_norm"}),
              t * d_.kv_heads, d_.head, bytes_, false);
    }
    // Rotation: x cos, negate a half, join the halves, x sin, sum; of queries and of keys.
    const double q = t * d_.q_width(), k = t * d_.kv_width();
    const double cached = f_.batch * f_.kv_len * d_.kv_width();
    auto scores = out_.Module("attention.scores", d_.layers, {"model.layers.*.self_attn"});
    for (const double n : {q, k}) {
      scores.Pass(KernelKind::kStrided, n)
          .Pass(KernelKind::kStrided, n / 2)
          .Pass(KernelKind::kStrided, n, 0)
          .Pass(KernelKind::kStrided, n)
          .Pass(KernelKind::kStrided, n);
    }
    // The cache grows by joining: keys and values are copied whole.
    scores.Pass(KernelKind::kTransposed, 2 * cached, 0, 2).KvCache(4 * bytes_ * cached);
    const double seen = d_.window > 0 ? std::min(f_.kv_len, d_.window) : f_.kv_len;
    scores.Attention({f_.batch, d_.heads, d_.kv_heads, f_.q_len, f_.q_len > 1 ? f_.kv_len : seen, d_.head,
                      CausalPairs(f_.q_len, f_.kv_len, d_.window)});
    scores.KvCache(2 * bytes_ * cached);
    out_.Module("attention.output", d_.layers, {"model.layers.*.self_attn.o_proj"})
        .Linear(t, d_.width, d_.q_width(), false);
  }

  void Mlp() {
    const double t = f_.tokens();
    out_.Module("mlp.gate_up", d_.layers, {"model.layers.*.mlp.gate_proj", "model.layers.*.mlp.up_proj"})
        .Linear(t, d_.ff, d_.width, false)
        .Linear(t, d_.ff, d_.width, false);
    out_.Module("mlp.activation", d_.layers, {"model.layers.*.mlp.act_fn", "model.layers.*.mlp"})
        .Pass(t * d_.ff, bytes_, bytes_, 4)
        .Pass(t * d_.ff, 2 * bytes_, bytes_);
    out_.Module("mlp.down", d_.layers, {"model.layers.*.mlp.down_proj"}).Linear(t, d_.width, d_.ff, false);
  }

  void Experts() {
    const double t = f_.tokens(), rows = t * d_.active;
    const double used = UsedExperts(t, d_.experts, std::min(d_.active, d_.experts));
    out_.Module("router", d_.layers, {"model.layers.*.mlp.gate", "model.layers.*.mlp"})
        .Linear(t, d_.experts, d_.width, false)
        .Small(6);
    // Rows sorted by expert and gathered, a grouped product for gate and up and one for down; rows of experts
    // that this device does not hold are cleared around each. Then the gate, and weighting and summing in
    // fp32.
    out_.Module("experts", d_.layers, {"model.layers.*.mlp.experts", "model.layers.*.mlp.experts.act_fn"})
        .Small(30)
        .Pass(2 * rows * d_.width, 1.6 * bytes_, 1.6 * bytes_, 0, 2)
        .Pass(KernelKind::kStrided, 2 * rows * d_.width, 0, 2)
        .GroupedLinear(rows, 2 * d_.ff, d_.width, d_.experts, used)
        .Pass(KernelKind::kStrided, rows * 2 * d_.ff, 0)
        .Pass(rows * 2 * d_.ff, bytes_, bytes_, 0)
        .Pass(KernelKind::kStrided, rows * d_.ff, 4)
        .Pass(KernelKind::kStrided, rows * d_.ff)
        .GroupedLinear(rows, d_.width, d_.ff, d_.experts, used)
        .Pass(KernelKind::kStrided, 2 * rows * d_.width, 1, 2)
        .Pass(t * d_.width, 4, bytes_, 0);
  }

  StageBuilder out_;
  const DecoderSizes& d_;
  const Forward& f_;
  double bytes_;
};

// Full attention with biases, learned positions and layer norms: gpt2, opt.
struct PlainSizes {
  double layers, width, heads, ff, vocab, positions;
  double head() const { return width / heads; }
};

// gpt2's default activation is written out in Python: eight kernels.
void PlanGelu(ModuleBuilder& to, const std::string& kind, double n, double bytes) {
  if (kind == "gelu_new") {
    to.Pass(n, bytes, bytes).Pass(n, bytes, bytes).Pass(n, 2 * bytes, bytes).Pass(n, bytes, bytes);
    to.Pass(n, bytes, bytes).Pass(n, bytes, bytes).Pass(n, bytes, bytes).Pass(n, 2 * bytes, bytes);
  } else {
    to.Gelu(n);
  }
}

void PlainScores(ModuleBuilder to, const PlainSizes& d, const Forward& f, double bytes) {
  const double cached = f.batch * f.kv_len * d.width;
  to.Pass(KernelKind::kTransposed, 2 * cached, 0, 2).KvCache(6 * bytes * cached);
  to.Attention({f.batch, d.heads, d.heads, f.q_len, f.kv_len, d.head(), CausalPairs(f.q_len, f.kv_len)});
}

void Gpt2Stage(PlanStage& stage, const PlainSizes& d, const Forward& f, double bytes,
               const std::string& activation, bool tied) {
  StageBuilder out(stage, bytes);
  const double t = f.tokens();
  out.Module("embedding", 1, {"transformer.wte", "transformer.wpe", "transformer"})
      .Parameters((d.vocab + d.positions) * d.width)
      .Pass(t * d.width, bytes, bytes, 0)
      .Pass(t * d.width, 2 * bytes, bytes)
      .Small(3);
  out.Module("norms", 2 * d.layers, {"transformer.h.*.ln_1", "transformer.h.*.ln_2"}).LayerNorm(t, d.width);
  out.Module("attention.qkv", d.layers, {"transformer.h.*.attn.c_attn"})
      .Linear(t, 3 * d.width, d.width, true);
  PlainScores(out.Module("attention.scores", d.layers, {"transformer.h.*.attn"}), d, f, bytes);
  out.Module("attention.output", d.layers, {"transformer.h.*.attn.c_proj"}).Linear(t, d.width, d.width, true);
  out.Module("mlp.up", d.layers, {"transformer.h.*.mlp.c_fc"}).Linear(t, d.ff, d.width, true);
  auto act = out.Module("mlp.activation", d.layers, {"transformer.h.*.mlp.act"});
  PlanGelu(act, activation, t * d.ff, bytes);
  out.Module("mlp.down", d.layers, {"transformer.h.*.mlp.c_proj"}).Linear(t, d.width, d.ff, true);
  out.Module("residual", d.layers, {"transformer.h.*"}).Pass(2 * t * d.width, 2 * bytes, bytes, 1, 2);
  out.Module("final_norm", 1, {"transformer.ln_f"}).LayerNorm(t, d.width);
  auto head = out.Module("lm_head", 1, {"lm_head"});
  if (tied)
    head.TiedLinear(f.head_rows, d.vocab, d.width);
  else
    head.Linear(f.head_rows, d.vocab, d.width, false);
}

void OptStage(PlanStage& stage, const PlainSizes& d, const Forward& f, double bytes, bool tied) {
  StageBuilder out(stage, bytes);
  const double t = f.tokens();
  const std::string layer = "model.decoder.layers.*.";
  out.Module("embedding", 1, {"model.decoder.embed_tokens", "model.decoder.embed_positions", "model.decoder"})
      .Parameters((d.vocab + d.positions) * d.width)
      .Pass(t * d.width, bytes, bytes, 0)
      .Pass(t * d.width, bytes, bytes, 0)
      .Pass(t * d.width, 2 * bytes, bytes)
      .Small(6);
  out.Module("norms", 2 * d.layers, {layer + "self_attn_layer_norm", layer + "final_layer_norm"})
      .LayerNorm(t, d.width);
  out.Module("attention.qkv", d.layers,
             {layer + "self_attn.q_proj", layer + "self_attn.k_proj", layer + "self_attn.v_proj"})
      .Linear(t, d.width, d.width, true)
      .Linear(t, d.width, d.width, true)
      .Linear(t, d.width, d.width, true);
  auto scores = out.Module("attention.scores", d.layers, {layer + "self_attn"});
  scores.Pass(t * d.width, bytes, bytes);
  PlainScores(scores, d, f, bytes);
  out.Module("attention.output", d.layers, {layer + "self_attn.out_proj"}).Linear(t, d.width, d.width, true);
  out.Module("mlp.up", d.layers, {layer + "fc1"}).Linear(t, d.ff, d.width, true);
  out.Module("mlp.activation", d.layers, {layer + "activation_fn"}).Pass(t * d.ff, bytes, bytes);
  out.Module("mlp.down", d.layers, {layer + "fc2"}).Linear(t, d.width, d.ff, true);
  out.Module("residual", d.layers, {"model.decoder.layers.*"}).Pass(2 * t * d.width, 2 * bytes, bytes, 1, 2);
  out.Module("final_norm", 1, {"model.decoder.final_layer_norm"}).LayerNorm(t, d.width);
  auto head = out.Module("lm_head", 1, {"lm_head"});
  if (tied)
    head.TiedLinear(f.head_rows, d.vocab, d.width);
  else
    head.Linear(f.head_rows, d.vocab, d.width, false);
}

// After the last token: it is made, but never fed back.
double CachedTokens(const Inputs& in) { return in.batch * (in.prompt + in.output - 1); }

}  // namespace

void PlanDecoder(ModelPlan& plan, Sizes& s, const Inputs& in) {
  const DecoderSizes d = ReadDecoder(s, plan.family);
  PrefillAndDecode(plan, in, in.prompt, [&](PlanStage& stage, const Forward& f) {
    DecoderStage(stage, d, f, in.element_bytes).Plan();
  });
  plan.kv_cache_bytes = 2 * d.layers * d.kv_width() * CachedTokens(in) * in.element_bytes;
}

void PlanGpt2(ModelPlan& plan, Sizes& s, const Inputs& in) {
  PlainSizes d{};
  d.layers = s.Need("n_layer");
  d.width = s.Need("n_embd");
  d.heads = s.Need("n_head");
  d.ff = s.Or("n_inner", 4 * d.width);
  d.vocab = s.Need("vocab_size");
  d.positions = s.Or("n_positions", 1024);
  PrefillAndDecode(plan, in, in.prompt, [&](PlanStage& stage, const Forward& f) {
    Gpt2Stage(stage, d, f, in.element_bytes, s.TextOr("activation_function", "gelu_new"),
              s.Flag("tie_word_embeddings", true));
  });
  plan.kv_cache_bytes = 2 * d.layers * d.width * CachedTokens(in) * in.element_bytes;
}

void PlanOpt(ModelPlan& plan, Sizes& s, const Inputs& in) {
  PlainSizes d{};
  d.layers = s.Need("num_hidden_layers");
  d.width = s.Need("hidden_size");
  d.heads = s.Need("num_attention_heads");
  d.ff = s.Need("ffn_dim");
  d.vocab = s.Need("vocab_size");
  // The table of positions has two rows before the first.
  d.positions = s.Or("max_position_embeddings", 2048) + 2;
  if (s.Or("word_embed_proj_dim", d.width) != d.width)
    s.Refuse("an embedding of another width (word_embed_proj_dim) is not known to predict");
  PrefillAndDecode(plan, in, in.prompt, [&](PlanStage& stage, const Forward& f) {
    OptStage(stage, d, f, in.element_bytes, s.Flag("tie_word_embeddings", true));
  });
  plan.kv_cache_bytes = 2 * d.layers * d.width * CachedTokens(in) * in.element_bytes;
}

}  // namespace nl::plan
