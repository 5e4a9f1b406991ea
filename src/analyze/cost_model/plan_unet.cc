// SPDX-License-Identifier: Apache-2.0
// The U-Net of python/neurolens/models/sd_unet.py as it runs eagerly.

#include "analyze/cost_model/plan_builder.h"

namespace nl::plan {

namespace {

class UnetPlan {
 public:
  UnetPlan(PlanStage& stage, double bytes, double batch) : out_(stage, bytes), bytes_(bytes), batch_(batch) {}

  double time_width = 0, heads = 0, context_width = 0, context_length = 0;

  void Time(double first) {
    out_.Module("time_embedding", 1, {"time_1", "time_2"})
        .Linear(batch_, time_width, first, true)
        .Linear(batch_, time_width, time_width, true);
  }

  void Conv(const char* name, std::initializer_list<std::string> paths, double in, double out, double area,
            double out_pixels, double in_pixels) {
    out_.Module(name, 1, paths).Convolution({batch_, in, out, area, out_pixels, in_pixels, true});
  }

  // Moments, then scale and shift: the input is read twice.
  void GroupNorm(const char* name, std::initializer_list<std::string> paths, double width, double pixels) {
    const double n = batch_ * width * pixels;
    out_.Module(name, 1, paths)
        .Parameters(2 * width)
        .Pass(KernelKind::kMoments, n, 4)
        .Small(1)
        .Pass(KernelKind::kStrided, n, 2);
  }

  void ResBlock(double in, double out, double pixels) {
    const double n = batch_ * out * pixels;
    GroupNorm("resblock.norms",
              {"down_res.*.norm1", "down_res.*.norm2", "mid_res.*.norm1", "mid_res.*.norm2", "up_res.*.norm1",
               "up_res.*.norm2"},
              in, pixels);
    const std::initializer_list<std::string> convs = {"down_res.*.conv1", "down_res.*.conv2",
                                                      "mid_res.*.conv1",  "mid_res.*.conv2",
                                                      "up_res.*.conv1",   "up_res.*.conv2"};
    Conv("resblock.convolutions", convs, in, out, 9, pixels, pixels);
    out_.Module("resblock.time", 1, {"down_res.*.time_proj", "mid_res.*.time_proj", "up_res.*.time_proj"})
        .Linear(batch_, out, time_width, true);
    GroupNorm("resblock.norms", {}, out, pixels);
    Conv("resblock.convolutions", {}, out, out, 9, pixels, pixels);
    if (in != out)
      Conv("resblock.shortcut", {"down_res.*.shortcut", "up_res.*.shortcut"}, in, out, 1, pixels, pixels);
    // SiLU twice, the time added to every pixel, the residual.
    out_.Module("resblock.elementwise", 1, {"down_res.*", "mid_res.*", "up_res.*"})
        .Pass(batch_ * in * pixels, bytes_, bytes_, 4)
        .Small(1)
        .Pass(KernelKind::kStrided, n)
        .Pass(n, bytes_, bytes_, 4)
        .Pass(n, 2 * bytes_, bytes_);
  }

  void Attention(const std::string& kind, double width, double length, double key_width, double keys) {
    const double t = batch_ * length, rows = batch_ * keys;
    const std::string down = "down_attn.*." + kind, mid = "mid_attn." + kind, up = "up_attn.*." + kind;
    out_.Module(kind + ".qkv", 1,
                {down + ".to_q", down + ".to_k", down + ".to_v", mid + ".to_q", mid + ".to_k", mid + ".to_v",
                 up + ".to_q", up + ".to_k", up + ".to_v"})
        .Linear(t, width, width, false)
        .Linear(rows, width, key_width, false)
        .Linear(rows, width, key_width, false);
    out_.Module(kind + ".scores", 1, {down, mid, up})
        .Attention({batch_, heads, heads, length, keys, width / heads, length * keys});
    out_.Module(kind + ".output", 1, {down + ".to_out", mid + ".to_out", up + ".to_out"})
        .Linear(t, width, width, true);
  }

  void Transformer(double width, double pixels) {
    const double t = batch_ * pixels, n = t * width;
    GroupNorm("transformer.group_norm", {"down_attn.*.norm", "mid_attn.norm", "up_attn.*.norm"}, width,
              pixels);
    Conv("transformer.proj",
         {"down_attn.*.proj_in", "down_attn.*.proj_out", "mid_attn.proj_in", "mid_attn.proj_out",
          "up_attn.*.proj_in", "up_attn.*.proj_out"},
         width, width, 1, pixels, pixels);
    Conv("transformer.proj", {}, width, width, 1, pixels, pixels);
    auto norms = out_.Module(
        "transformer.norms", 1,
        {"down_attn.*.norm1", "down_attn.*.norm2", "down_attn.*.norm3", "mid_attn.norm1", "mid_attn.norm2",
         "mid_attn.norm3", "up_attn.*.norm1", "up_attn.*.norm2", "up_attn.*.norm3"});
    // The rows of pixels are still laid out as an image: each norm copies them first.
    for (int i = 0; i < 3; ++i) norms.Pass(KernelKind::kTransposed, n, 0).LayerNorm(t, width);
    Attention("self_attn", width, pixels, width, pixels);
    Attention("cross_attn", width, pixels, context_width, context_length);
    out_.Module("mlp.up", 1, {"down_attn.*.mlp.proj_in", "mid_attn.mlp.proj_in", "up_attn.*.mlp.proj_in"})
        .Linear(t, 8 * width, width, true);
    out_.Module("mlp.activation", 1, {"down_attn.*.mlp", "mid_attn.mlp", "up_attn.*.mlp"})
        .Pass(KernelKind::kStrided, 4 * n, 8)
        .Pass(KernelKind::kStrided, 4 * n);
    out_.Module("mlp.down", 1,
                {"down_attn.*.mlp.proj_out", "mid_attn.mlp.proj_out", "up_attn.*.mlp.proj_out"})
        .Linear(t, width, 4 * width, true);
    // Three residuals between tensors of different layouts, one around all.
    out_.Module("transformer.residual", 1, {"down_attn.*", "mid_attn", "up_attn.*"})
        .Pass(KernelKind::kTransposed, 3 * n, 1, 3)
        .Pass(n, 2 * bytes_, bytes_);
  }

  void Join(double elements) { Root().Pass(elements, bytes_, bytes_, 0); }
  void Enlarge(double elements) { Root().Pass(elements, bytes_ / 4, bytes_, 0); }
  void Ends(double width, double pixels) {
    GroupNorm("unet.norm_out", {"norm_out"}, width, pixels);
    Root().Pass(batch_ * width * pixels, bytes_, bytes_, 4).Small(12);
  }

 private:
  ModuleBuilder Root() { return out_.Module("unet.skip", 1, {"UNet"}); }
  StageBuilder out_;
  double bytes_, batch_;
};

}  // namespace

void PlanUnet(ModelPlan& plan, Sizes& s, const Inputs& in, double latent_size) {
  const std::vector<double> channels = s.List("channels"), attends = s.List("attention_blocks");
  const double per_block = s.Need("layers_per_block"), latent = s.Need("latent_channels");
  UnetPlan unet(AddStage(plan, "forward", 1, in.batch * latent_size * latent_size, 0), in.element_bytes,
                in.batch);
  unet.heads = s.Need("heads");
  unet.context_width = s.Need("context_dim");
  unet.context_length = in.prompt;
  if (s.error()) return;
  if (channels.empty() || attends.size() != channels.size() || channels.size() > 16 || per_block > 64)
    return s.Refuse("channels and attention_blocks must be lists of the same length, with 1 to 16 entries");
  unet.time_width = 4 * channels[0];
  const double batch = in.batch;
  double pixels = latent_size * latent_size, width = channels[0];
  unet.Time(width);
  unet.Conv("unet.conv_in_out", {"conv_in", "conv_out"}, latent, width, 9, pixels, pixels);
  std::vector<double> kept = {width};
  for (size_t level = 0; level < channels.size(); ++level) {
    for (int i = 0; i < static_cast<int>(per_block); ++i) {
      unet.ResBlock(width, channels[level], pixels);
      width = channels[level];
      if (attends[level] > 0) unet.Transformer(width, pixels);
      kept.push_back(width);
    }
    if (level + 1 == channels.size()) break;
    unet.Conv("downsample", {"downsample.*"}, width, width, 9, pixels / 4, pixels);
    pixels /= 4;
    kept.push_back(width);
  }
  unet.ResBlock(width, width, pixels);
  unet.Transformer(width, pixels);
  unet.ResBlock(width, width, pixels);
  for (size_t level = channels.size(); level-- > 0;) {
    for (int i = 0; i <= static_cast<int>(per_block); ++i) {
      const double joined = width + kept.back();
      kept.pop_back();
      unet.Join(batch * joined * pixels);
      unet.ResBlock(joined, channels[level], pixels);
      width = channels[level];
      if (attends[level] > 0) unet.Transformer(width, pixels);
    }
    if (level == 0) break;
    pixels *= 4;
    unet.Enlarge(batch * width * pixels);
    unet.Conv("upsample", {"upsample.*"}, width, width, 9, pixels, pixels);
  }
  unet.Ends(width, pixels);
  unet.Conv("unet.conv_in_out", {}, width, latent, 9, pixels, pixels);
}

}  // namespace nl::plan
