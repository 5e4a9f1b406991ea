// SPDX-License-Identifier: Apache-2.0
// Encoders of Hugging Face transformers 5 as they run eagerly: bert, vit, and whisper with its decoder.

#include "analyze/cost_model/plan_builder.h"

namespace nl::plan {

namespace {

struct EncoderLayer {
  double layers, width, heads, ff;
};

// Attention and feed-forward of a layer over `batch` sequences of `length`; names of paths differ.
struct EncoderPaths {
  std::string q, k, v, scores, output, up, activation, down;
};
void PlanEncoderLayer(StageBuilder& out, const EncoderLayer& d, double batch, double length,
                      const EncoderPaths& paths) {
  const double t = batch * length;
  out.Module("attention.qkv", d.layers, {paths.q, paths.k, paths.v})
      .Linear(t, d.width, d.width, true)
      .Linear(t, d.width, d.width, true)
      .Linear(t, d.width, d.width, true);
  out.Module("attention.scores", d.layers, {paths.scores})
      .Attention({batch, d.heads, d.heads, length, length, d.width / d.heads, length * length});
  out.Module("attention.output", d.layers, {paths.output}).Linear(t, d.width, d.width, true);
  out.Module("mlp.up", d.layers, {paths.up}).Linear(t, d.ff, d.width, true);
  out.Module("mlp.activation", d.layers, {paths.activation}).Gelu(t * d.ff);
  out.Module("mlp.down", d.layers, {paths.down}).Linear(t, d.width, d.ff, true);
}

struct SpeechSizes {
  double width, vocab, mels, source, positions;
  EncoderLayer encoder, decoder;
};

void WhisperEncoder(PlanStage& stage, const SpeechSizes& d, double batch, double bytes) {
  StageBuilder out(stage, bytes);
  const EncoderLayer& e = d.encoder;
  const double t = batch * d.source, frames = 2 * d.source;
  // The second convolution halves the frames.
  out.Module("encoder.convolutions", 1, {"conv1", "conv2"})
      .Convolution({batch, d.mels, d.width, 3, frames, frames, true})
      .Convolution({batch, d.width, d.width, 3, d.source, frames, true});
  out.Module("encoder.embedding", 1, {"WhisperEncoder", "embed_positions"})
      .Parameters(d.source * d.width)
      .Gelu(2 * t * d.width)
      .Gelu(t * d.width)
      .Pass(KernelKind::kTransposed, t * d.width)
      .Small(2);
  // The hidden state keeps the layout of the convolutions: every norm copies it first, every residual mixes
  // layouts.
  out.Module("encoder.norms", 2 * e.layers, {"layers.*.self_attn_layer_norm", "layers.*.final_layer_norm"})
      .Pass(KernelKind::kTransposed, t * d.width, 0)
      .LayerNorm(t, d.width);
  out.Module("encoder.attention.qkv", e.layers,
             {"layers.*.self_attn.q_proj", "layers.*.self_attn.k_proj", "layers.*.self_attn.v_proj"})
      .Linear(t, d.width, d.width, true)
      .Linear(t, d.width, d.width, false)
      .Linear(t, d.width, d.width, true);
  out.Module("encoder.attention.scores", e.layers, {"layers.*.self_attn"})
      .Pass(t * d.width, bytes, bytes)
      .Pass(KernelKind::kStrided, 4 * t * d.width, 0, 4)
      .Attention({batch, e.heads, e.heads, d.source, d.source, d.width / e.heads, d.source * d.source});
  out.Module("encoder.attention.output", e.layers, {"layers.*.self_attn.out_proj"})
      .Linear(t, d.width, d.width, true);
  out.Module("encoder.mlp.up", e.layers, {"layers.*.fc1"}).Linear(t, e.ff, d.width, true);
  out.Module("encoder.mlp.activation", e.layers, {"layers.*.activation_fn"}).Gelu(t * e.ff);
  out.Module("encoder.mlp.down", e.layers, {"layers.*.fc2"}).Linear(t, d.width, e.ff, true);
  out.Module("encoder.residual", e.layers, {"layers.*"}).Pass(KernelKind::kTransposed, 2 * t * d.width, 1, 2);
  out.Module("encoder.final_norm", 1, {"layer_norm"})
      .Pass(KernelKind::kTransposed, t * d.width, 0)
      .LayerNorm(t, d.width);
}

void WhisperCross(StageBuilder& out, const SpeechSizes& d, const Forward& f, double bytes) {
  const EncoderLayer& e = d.decoder;
  const std::string cross = "model.decoder.layers.*.encoder_attn";
  const double t = f.tokens(), source = f.batch * d.source;
  auto qkv = out.Module("decoder.cross_attention.qkv", e.layers,
                        {cross + ".q_proj", cross + ".k_proj", cross + ".v_proj"});
  qkv.Linear(t, d.width, d.width, true);
  // Keys and values of the audio are computed once and stay in the cache.
  if (f.q_len > 1) qkv.Linear(source, d.width, d.width, false).Linear(source, d.width, d.width, true);
  auto scores = out.Module("decoder.cross_attention.scores", e.layers, {cross});
  scores.Pass(t * d.width, bytes, bytes);
  scores.Pass(KernelKind::kStrided, 2 * t * d.width, 0, 2);
  if (f.q_len > 1) {
    scores.Pass(KernelKind::kStrided, 2 * source * d.width, 0, 2)
        .Pass(KernelKind::kTransposed, 2 * source * d.width, 0, 2);
  }
  scores.KvCache(2 * bytes * source * d.width)
      .Attention({f.batch, e.heads, e.heads, f.q_len, d.source, d.width / e.heads, f.q_len * d.source});
  out.Module("decoder.cross_attention.output", e.layers, {cross + ".out_proj"})
      .Linear(t, d.width, d.width, true);
}

void WhisperDecoder(PlanStage& stage, const SpeechSizes& d, const Forward& f, double bytes) {
  StageBuilder out(stage, bytes);
  const EncoderLayer& e = d.decoder;
  const std::string layer = "model.decoder.layers.*.", own = layer + "self_attn";
  const double t = f.tokens(), cached = f.batch * f.kv_len * d.width;
  out.Module("decoder.embedding", 1,
             {"model.decoder.embed_tokens", "model.decoder.embed_positions", "model.decoder"})
      .Parameters((d.vocab + d.positions) * d.width)
      .Pass(t * d.width, bytes, bytes, 0)
      .Pass(t * d.width, 2 * bytes, bytes)
      .Small(6);
  out.Module("decoder.norms", 3 * e.layers,
             {layer + "self_attn_layer_norm", layer + "encoder_attn_layer_norm", layer + "final_layer_norm"})
      .LayerNorm(t, d.width);
  out.Module("decoder.attention.qkv", e.layers, {own + ".q_proj", own + ".k_proj", own + ".v_proj"})
      .Linear(t, d.width, d.width, true)
      .Linear(t, d.width, d.width, false)
      .Linear(t, d.width, d.width, true);
  out.Module("decoder.attention.scores", e.layers, {own})
      .Pass(t * d.width, bytes, bytes)
      .Pass(KernelKind::kStrided, 4 * t * d.width, 0, 4)
      .Pass(KernelKind::kTransposed, 2 * cached, 0, 2)
      .KvCache(6 * bytes * cached)
      .Attention(
          {f.batch, e.heads, e.heads, f.q_len, f.kv_len, d.width / e.heads, CausalPairs(f.q_len, f.kv_len)});
  out.Module("decoder.attention.output", e.layers, {own + ".out_proj"}).Linear(t, d.width, d.width, true);
  WhisperCross(out, d, f, bytes);
  out.Module("decoder.mlp.up", e.layers, {layer + "fc1"}).Linear(t, e.ff, d.width, true);
  out.Module("decoder.mlp.activation", e.layers, {layer + "activation_fn"}).Gelu(t * e.ff);
  out.Module("decoder.mlp.down", e.layers, {layer + "fc2"}).Linear(t, d.width, e.ff, true);
  out.Module("decoder.residual", e.layers, {"model.decoder.layers.*"})
      .Pass(3 * t * d.width, 2 * bytes, bytes, 1, 3);
  out.Module("decoder.final_norm", 1, {"model.decoder.layer_norm"}).LayerNorm(t, d.width);
  // Every position has logits: whisper takes no logits_to_keep.
  out.Module("lm_head", 1, {"proj_out"}).TiedLinear(t, d.vocab, d.width);
}

}  // namespace

void PlanBert(ModelPlan& plan, Sizes& s, const Inputs& in) {
  const EncoderLayer d{s.Need("num_hidden_layers"), s.Need("hidden_size"), s.Need("num_attention_heads"),
                       s.Need("intermediate_size")};
  const double tables =
      s.Need("vocab_size") + s.Or("max_position_embeddings", 512) + s.Or("type_vocab_size", 2);
  const double bytes = in.element_bytes, t = in.batch * in.prompt;
  StageBuilder out(AddStage(plan, "forward", 1, t, in.prompt), bytes);
  const std::string layer = "encoder.layer.*.";
  // Three lookups, two sums.
  out.Module("embedding", 1,
             {"embeddings.word_embeddings", "embeddings.token_type_embeddings",
              "embeddings.position_embeddings", "embeddings"})
      .Parameters(tables * d.width)
      .Pass(t * d.width, bytes, bytes, 0)
      .Pass(t * d.width, bytes, bytes, 0)
      .Pass(2 * t * d.width, 2 * bytes, bytes, 1, 2)
      .Small(2);
  out.Module("embedding.norm", 1, {"embeddings.LayerNorm"}).LayerNorm(t, d.width);
  PlanEncoderLayer(
      out, d, in.batch, in.prompt,
      {layer + "attention.self.query", layer + "attention.self.key", layer + "attention.self.value",
       layer + "attention.self", layer + "attention.output.dense", layer + "intermediate.dense",
       layer + "intermediate.intermediate_act_fn", layer + "output.dense"});
  out.Module("norms", 2 * d.layers, {layer + "attention.output.LayerNorm", layer + "output.LayerNorm"})
      .LayerNorm(t, d.width);
  out.Module("residual", d.layers, {layer + "attention.output", layer + "output"})
      .Pass(2 * t * d.width, 2 * bytes, bytes, 1, 2);
  out.Module("pooler", 1, {"pooler", "pooler.dense", "pooler.activation"})
      .Linear(in.batch, d.width, d.width, true)
      .Small(1);
}

void PlanVit(ModelPlan& plan, Sizes& s, const Inputs& in) {
  const EncoderLayer d{s.Need("num_hidden_layers"), s.Need("hidden_size"), s.Need("num_attention_heads"),
                       s.Need("intermediate_size")};
  const double patch = s.Or("patch_size", 16), image = s.Or("image_size", 224),
               channels = s.Or("num_channels", 3);
  const double labels = s.Or("num_labels", 2), side = image / patch, patches = side * side,
               length = patches + 1;
  const double bytes = in.element_bytes, t = in.batch * length;
  StageBuilder out(AddStage(plan, "forward", 1, t, length), bytes);
  const std::string layer = "vit.layers.*.";
  out.Module("patch_embedding", 1, {"vit.embeddings.patch_embeddings.projection"})
      .Convolution({in.batch, channels, d.width, patch * patch, patches, image * image, true});
  // The class token joined to the patches, positions added.
  out.Module("embedding", 1, {"vit.embeddings", "vit.embeddings.patch_embeddings"})
      .Parameters(d.width * (length + 1))
      .Pass(KernelKind::kTransposed, t * d.width, 0)
      .Pass(KernelKind::kStrided, t * d.width);
  out.Module("norms", 2 * d.layers, {layer + "layernorm_before", layer + "layernorm_after"})
      .LayerNorm(t, d.width);
  PlanEncoderLayer(out, d, in.batch, length,
                   {layer + "attention.q_proj", layer + "attention.k_proj", layer + "attention.v_proj",
                    layer + "attention", layer + "attention.o_proj", layer + "mlp.fc1",
                    layer + "mlp.activation_fn", layer + "mlp.fc2"});
  out.Module("residual", d.layers, {"vit.layers.*"}).Pass(2 * t * d.width, 2 * bytes, bytes, 1, 2);
  out.Module("final_norm", 1, {"vit.layernorm"}).LayerNorm(t, d.width);
  out.Module("classifier", 1, {"classifier"}).Linear(in.batch, labels, d.width, true);
}

void PlanWhisper(ModelPlan& plan, Sizes& s, const Inputs& in) {
  SpeechSizes d{};
  d.width = s.Need("d_model");
  d.vocab = s.Need("vocab_size");
  d.mels = s.Or("num_mel_bins", 80);
  d.source = s.Or("max_source_positions", 1500);
  d.positions = s.Or("max_target_positions", 448);
  d.encoder = {s.Need("encoder_layers"), d.width, s.Need("encoder_attention_heads"),
               s.Need("encoder_ffn_dim")};
  d.decoder = {s.Need("decoder_layers"), d.width, s.Need("decoder_attention_heads"),
               s.Need("decoder_ffn_dim")};
  WhisperEncoder(AddStage(plan, "prefill::encoder", 1, in.batch * d.source, d.source), d, in.batch,
                 in.element_bytes);
  PrefillAndDecode(plan, in, in.prompt, [&](PlanStage& stage, const Forward& f) {
    WhisperDecoder(stage, d, f, in.element_bytes);
  });
  plan.kv_cache_bytes =
      2 * d.decoder.layers * d.width * in.batch * (in.prompt + in.output - 1 + d.source) * in.element_bytes;
}

}  // namespace nl::plan
