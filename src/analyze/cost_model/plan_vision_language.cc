// SPDX-License-Identifier: Apache-2.0
// The vision-language model of python/neurolens/models/deepseek_ocr.py as it runs eagerly.

#include <algorithm>
#include <cmath>

#include "analyze/cost_model/plan_builder.h"

namespace nl::plan {

namespace {

struct VisionSizes {
  double image, patch, sam_width, sam_layers, sam_heads, window, global_layers, neck, first, second;
  double clip_width, clip_layers, clip_heads, clip_ff, out_width;
  double side() const { return image / patch; }
  double tokens() const { return side() * side() / 16; }
};

struct ExpertSizes {
  double vocab, width, layers, heads, ff, dense_layers, experts, active, shared, expert_ff;
};

VisionSizes ReadVision(Sizes& s) {
  VisionSizes v{};
  v.image = s.Need("image_size");
  v.patch = s.Need("patch_size");
  v.sam_width = s.Need("sam_width");
  v.sam_layers = s.Need("sam_layers");
  v.sam_heads = s.Need("sam_heads");
  v.window = s.Need("sam_window");
  for (const double layer : s.List("sam_global_layers")) v.global_layers += layer < v.sam_layers ? 1 : 0;
  v.neck = s.Need("neck_width");
  const std::vector<double> widths = s.List("compressor_widths");
  if (widths.size() == 2) {
    v.first = widths[0];
    v.second = widths[1];
  } else {
    s.Refuse("compressor_widths must have two entries");
  }
  v.clip_width = s.Need("clip_width");
  v.clip_layers = s.Need("clip_layers");
  v.clip_heads = s.Need("clip_heads");
  v.clip_ff = s.Need("clip_ff");
  v.out_width = s.Need("hidden_size");
  return v;
}

ExpertSizes ReadExperts(Sizes& s) {
  ExpertSizes d{};
  d.vocab = s.Need("vocab_size");
  d.width = s.Need("hidden_size");
  d.layers = s.Need("num_hidden_layers");
  d.heads = s.Need("num_attention_heads");
  d.ff = s.Need("intermediate_size");
  d.dense_layers = std::min(d.layers, s.Or("first_dense_layers", 1));
  d.experts = s.Need("n_routed_experts");
  d.active = std::min(d.experts, s.Need("num_experts_per_tok"));
  d.shared = s.Need("n_shared_experts");
  d.expert_ff = s.Need("moe_intermediate_size");
  return d;
}

struct Block {
  double layers, width, heads, ff;
  double sequences, length;  // that attention sees
  double tokens;             // that the rest sees
};
void PlanBlocks(StageBuilder& out, const std::string& name, const Block& b, double bytes) {
  const std::string at = "vision." + name + ".*";
  const double rows = b.sequences * b.length;
  out.Module(name + ".norms", b.layers, {at + ".norm1", at + ".norm2"})
      .LayerNorm(b.tokens, b.width)
      .LayerNorm(b.tokens, b.width);
  out.Module(name + ".attention.qkv", b.layers, {at + ".attn.qkv"}).Linear(rows, 3 * b.width, b.width, true);
  out.Module(name + ".attention.scores", b.layers, {at + ".attn"})
      .Attention({b.sequences, b.heads, b.heads, b.length, b.length, b.width / b.heads, b.length * b.length});
  out.Module(name + ".attention.output", b.layers, {at + ".attn.proj"}).Linear(rows, b.width, b.width, true);
  out.Module(name + ".mlp.up", b.layers, {at + ".mlp.fc1"}).Linear(b.tokens, b.ff, b.width, true);
  out.Module(name + ".mlp.activation", b.layers, {at + ".mlp"}).Gelu(b.tokens * b.ff);
  out.Module(name + ".mlp.down", b.layers, {at + ".mlp.fc2"}).Linear(b.tokens, b.width, b.ff, true);
  auto residual = out.Module(name + ".residual", b.layers, {at});
  residual.Pass(2 * b.tokens * b.width, 2 * bytes, bytes, 1, 2);
  // Padded, cut into windows, put together and cropped.
  if (rows != b.tokens) residual.Pass(KernelKind::kStrided, 4 * rows * b.width, 0, 4);
}

void PlanVision(PlanStage& stage, const VisionSizes& v, double batch, double bytes) {
  StageBuilder out(stage, bytes);
  const double patches = v.side() * v.side(), t = batch * patches;
  out.Module("patch_embedding", 1, {"vision.patch"})
      .Convolution({batch, 3, v.sam_width, v.patch * v.patch, patches, v.image * v.image, true});
  const double windows = std::ceil(v.side() / v.window);
  Block local{v.sam_layers - v.global_layers,
              v.sam_width,
              v.sam_heads,
              4 * v.sam_width,
              batch * windows * windows,
              v.window * v.window,
              t};
  Block global = local;
  global.layers = v.global_layers;
  global.sequences = batch;
  global.length = patches;
  PlanBlocks(out, "sam", local, bytes);
  PlanBlocks(out, "sam", global, bytes);
  const double half = patches / 4, quarter = patches / 16, length = quarter + 1;
  auto neck = out.Module("compressor", 1,
                         {"vision.neck.*", "vision.neck", "vision.compressor", "vision.compressor.*"});
  neck.Convolution({batch, v.sam_width, v.neck, 1, patches, patches, false})
      .Convolution({batch, v.neck, v.neck, 9, patches, patches, false})
      .Convolution({batch, v.neck, v.first, 9, half, patches, false})
      .Convolution({batch, v.first, v.second, 9, quarter, half, false});
  // Two norms over channels, each between two changes of layout.
  for (int i = 0; i < 2; ++i) neck.LayerNorm(t, v.neck).Pass(KernelKind::kTransposed, 2 * t * v.neck, 0, 2);
  const double clip = batch * length;
  out.Module("vision.join", 1, {"vision"})
      .Parameters(patches * v.sam_width + v.clip_width + length * v.clip_width)
      .Pass(t * v.sam_width, 2 * bytes, bytes)
      .Pass(t * v.sam_width, bytes, bytes, 0)
      .Pass(clip * v.clip_width, bytes, bytes, 0)
      .Pass(clip * v.clip_width, 2 * bytes, bytes)
      .Pass(2 * clip * v.clip_width, bytes, bytes, 0);
  out.Module("clip.first_norm", 1, {"vision.clip_norm"}).LayerNorm(clip, v.clip_width);
  PlanBlocks(out, "clip", {v.clip_layers, v.clip_width, v.clip_heads, v.clip_ff, batch, length, clip}, bytes);
  out.Module("projector", 1, {"projector"}).Linear(batch * quarter, v.out_width, 2 * v.clip_width, true);
}

void PlanExperts(StageBuilder& out, const ExpertSizes& d, double t, double bytes) {
  const double layers = d.layers - d.dense_layers, rows = t * d.active;
  const double used = UsedExperts(t, d.experts, d.active), each = rows / used;
  out.Module("router", layers, {"decoder.layers.*.experts.router"}).Linear(t, d.experts, d.width, false);
  // Choosing and sorting, rows gathered; per expert two products and the gate; joined, weighted, summed back.
  auto experts = out.Module("experts", layers, {"decoder.layers.*.experts"});
  experts.Small(16).Pass(rows * d.width, bytes, bytes, 0);
  out.Module("experts", layers * used, {})
      .TiedLinear(each, 2 * d.expert_ff, d.width)
      .Pass(KernelKind::kStrided, each * d.expert_ff, 4)
      .Pass(KernelKind::kStrided, each * d.expert_ff)
      .TiedLinear(each, d.width, d.expert_ff);
  out.Module("experts", layers, {})
      .Parameters(d.experts * 3 * d.width * d.expert_ff)
      .Pass(rows * d.width, bytes, bytes, 0)
      .Pass(rows * d.width, bytes, bytes)
      .Pass(rows * d.width, 2 * bytes, bytes);
  const double shared = d.shared * d.expert_ff;
  out.Module("shared_experts", layers,
             {"decoder.layers.*.shared_experts", "decoder.layers.*.shared_experts.gate_proj",
              "decoder.layers.*.shared_experts.up_proj", "decoder.layers.*.shared_experts.down_proj"})
      .Linear(t, shared, d.width, false)
      .Linear(t, shared, d.width, false)
      .Pass(t * shared, bytes, bytes, 4)
      .Pass(t * shared, 2 * bytes, bytes)
      .Linear(t, d.width, shared, false);
}

void PlanDecoderStage(PlanStage& stage, const ExpertSizes& d, const Forward& f, double image_tokens,
                      double bytes) {
  StageBuilder out(stage, bytes);
  const double t = f.tokens(), n = t * d.width, cached = f.batch * f.kv_len * d.width;
  const std::string layer = "decoder.layers.*", own = layer + ".self_attn";
  const double text = f.q_len > 1 ? f.batch * (f.q_len - image_tokens) : t;
  auto embedding = out.Module("embedding", 1, {"decoder.embed_tokens", "decoder"});
  embedding.Parameters(d.vocab * d.width).Pass(text * d.width, bytes, bytes, 0).Small(12);
  if (f.q_len > 1) embedding.Pass(n, bytes, bytes, 0);
  out.Module("norms", 2 * d.layers, {layer + ".input_layernorm", layer + ".post_attention_layernorm"})
      .LayerNorm(t, d.width, false);
  out.Module("attention.qkv", d.layers, {own + ".q_proj", own + ".k_proj", own + ".v_proj"})
      .Linear(t, d.width, d.width, false)
      .Linear(t, d.width, d.width, false)
      .Linear(t, d.width, d.width, false);
  auto scores = out.Module("attention.scores", d.layers, {own});
  for (int i = 0; i < 2; ++i) {
    scores.Pass(KernelKind::kStrided, n)
        .Pass(KernelKind::kStrided, n / 2)
        .Pass(KernelKind::kStrided, n, 0)
        .Pass(KernelKind::kStrided, n)
        .Pass(KernelKind::kStrided, n);
  }
  if (f.q_len == 1) scores.Pass(KernelKind::kTransposed, 2 * cached, 0, 2).KvCache(4 * bytes * cached);
  scores.KvCache(2 * bytes * cached)
      .Attention(
          {f.batch, d.heads, d.heads, f.q_len, f.kv_len, d.width / d.heads, CausalPairs(f.q_len, f.kv_len)});
  out.Module("attention.output", d.layers, {own + ".o_proj"}).Linear(t, d.width, d.width, false);
  out.Module("mlp", d.dense_layers,
             {layer + ".mlp", layer + ".mlp.gate_proj", layer + ".mlp.up_proj", layer + ".mlp.down_proj"})
      .Linear(t, d.ff, d.width, false)
      .Linear(t, d.ff, d.width, false)
      .Pass(t * d.ff, bytes, bytes, 4)
      .Pass(t * d.ff, 2 * bytes, bytes)
      .Linear(t, d.width, d.ff, false);
  PlanExperts(out, d, t, bytes);
  out.Module("residual", d.layers, {layer}).Pass(2 * n, 2 * bytes, bytes, 1, 2);
  out.Module("residual", d.layers - d.dense_layers, {}).Pass(n, 2 * bytes, bytes);
  // Only the last token goes on.
  out.Module("final_norm", 1, {"decoder.norm"}).LayerNorm(f.batch, d.width, false);
  out.Module("lm_head", 1, {"decoder.lm_head"}).Linear(f.batch, d.vocab, d.width, false);
}

}  // namespace

void PlanVisionLanguage(ModelPlan& plan, Sizes& s, const Inputs& in) {
  const VisionSizes v = ReadVision(s);
  const ExpertSizes d = ReadExperts(s);
  if (s.error()) return;
  const double image = v.tokens(), prompt = in.prompt + image;
  PlanVision(AddStage(plan, "prefill::vision", 1, in.batch * image, v.side() * v.side()), v, in.batch,
             in.element_bytes);
  PrefillAndDecode(plan, in, prompt, [&](PlanStage& stage, const Forward& f) {
    PlanDecoderStage(stage, d, f, image, in.element_bytes);
  });
  plan.kv_cache_bytes = 2 * d.layers * d.width * in.batch * (prompt + in.output - 1) * in.element_bytes;
}

}  // namespace nl::plan
