// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/llm.h"

namespace nl::synthetic {

namespace {

class Llm {
 public:
  explicit Llm(const LlmOptions& options) : o_(options) {}

  // One step: the prompt (step 0) or one token each.
  void Step(Writer& w, int step) const {
    const bool prefill = step == 0;
    const std::string stage = prefill ? "prefill" : "decode_step";
    w.Enter(stage, step, -1);
    w.Range("LLM@" + stage, [&] {
      w.Host("loop", 40);
      if (o_.graph && !prefill) {
        Replay(w, step);
      } else {
        Forward(w, stage, step);
      }
      w.Enter(stage, step, 1000);
      w.Do(Reduce("sample.argmax", "aten::argmax", "ArgMaxOps", o_.type, {o_.batch, o_.vocab}));
      if (o_.ask_each_step) Item(w, "sample.item");
    });
  }

 private:
  int64_t Tokens(int step) const { return step == 0 ? o_.prompt : 1; }
  int64_t Context(int step) const { return o_.prompt + step; }

  void Forward(Writer& w, const std::string& stage, int step) const {
    const int64_t t = Tokens(step);
    w.Open(SpanKind::kPython, "generate.py(41): forward");
    w.Do(Embedding(t));
    w.Do(Pointwise("rope.cos", "aten::cos", "cos_functor", Type::kFloat, {{1, t, o_.d / o_.heads}}));
    w.Do(Pointwise("rope.sin", "aten::sin", "sin_functor", Type::kFloat, {{1, t, o_.d / o_.heads}}));
    for (int layer = 0; layer < o_.layers; ++layer) {
      w.Enter(stage, step, layer);
      w.Module(fmt::format("LlamaDecoderLayer_{}", layer), [&] { Layer(w, layer, step); });
    }
    w.Enter(stage, step, 999);
    w.Module("LlamaRMSNorm_16", [&] { Norm(w, "norm", t); });
    w.Module("Linear_99", [&] { w.Do(Linear("lm_head", o_.type, o_.batch * t, o_.vocab, o_.d)); });
    w.Close();
  }

  void Replay(Writer& w, int step) const {
    w.Do(EngineCopy("graph.input", "DtoD", false, 8.0 * static_cast<double>(o_.batch)));
    std::vector<Work> nodes;
    w.graph = &nodes;
    Forward(w, "decode_step", step);
    w.graph = nullptr;
    w.Enter("decode_step", step, -1);
    w.LaunchGraph("graph.launch", nodes, 3, 14 + 0.05 * static_cast<double>(nodes.size()));
  }

  Call Embedding(int64_t t) const {
    Call c = Pointwise("embed", "aten::index_select", "embedding", o_.type, {{o_.batch, t, o_.d}});
    c.around = {"aten::embedding"};
    c.dims = DimsText({{o_.vocab, o_.d}, {}, {o_.batch * t}});
    c.work[0].name =
        "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, "
        "2, "
        "-2>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, int, unsigned int, long)";
    return c;
  }

  void Layer(Writer& w, int layer, int step) const {
    const int64_t t = Tokens(step), m = o_.batch * t;
    w.Module(fmt::format("LlamaRMSNorm_{}", 2 * layer), [&] { Norm(w, "norm1", t); });
    w.Module(fmt::format("LlamaAttention_{}", layer), [&] { Attention(w, step); });
    w.Do(Pointwise("residual1", "aten::add", "CUDAFunctor_add", o_.type,
                   {{o_.batch, t, o_.d}, {o_.batch, t, o_.d}}));
    w.Module(fmt::format("LlamaRMSNorm_{}", 2 * layer + 1), [&] { Norm(w, "norm2", t); });
    w.Module(fmt::format("LlamaMLP_{}", layer), [&] {
      w.Do(Linear("mlp.gate", o_.type, m, o_.d_ff, o_.d));
      w.Do(Pointwise("mlp.act", "aten::silu", "silu_kernel", o_.type, {{o_.batch, t, o_.d_ff}}));
      w.Do(Linear("mlp.up", o_.type, m, o_.d_ff, o_.d));
      w.Do(Pointwise("mlp.mul", "aten::mul", "MulFunctor", o_.type,
                     {{o_.batch, t, o_.d_ff}, {o_.batch, t, o_.d_ff}}));
      w.Do(Linear("mlp.down", o_.type, m, o_.d, o_.d_ff));
    });
    w.Do(Pointwise("residual2", "aten::add", "CUDAFunctor_add", o_.type,
                   {{o_.batch, t, o_.d}, {o_.batch, t, o_.d}}));
  }

  // RMSNorm as eager PyTorch does it, in fp32.
  void Norm(Writer& w, const std::string& site, int64_t t) const {
    const Shape x{o_.batch, t, o_.d}, r{o_.batch, t, 1};
    w.Do(Cast(site + ".cast", Type::kFloat, o_.type, x));
    w.Do(Pointwise(site + ".pow", "aten::pow", "pow_tensor_scalar", Type::kFloat, {x}));
    w.Do(Reduce(site + ".mean", "aten::mean", "MeanOps", Type::kFloat, x));
    w.Do(Pointwise(site + ".add", "aten::add", "CUDAFunctorOnSelf_add", Type::kFloat, {r}));
    w.Do(Pointwise(site + ".rsqrt", "aten::rsqrt", "rsqrt_kernel_cuda", Type::kFloat, {r}));
    w.Do(Pointwise(site + ".mul", "aten::mul", "MulFunctor", Type::kFloat, {x, r}));
    w.Do(Cast(site + ".back", o_.type, Type::kFloat, x));
    w.Do(Pointwise(site + ".scale", "aten::mul", "MulFunctor", o_.type, {{o_.d}, x}));
  }

  void Rope(Writer& w, const std::string& site, int64_t heads, int64_t t) const {
    const int64_t width = o_.d / o_.heads;
    const Shape x{o_.batch, heads, t, width}, half{o_.batch, heads, t, width / 2}, table{1, 1, t, width};
    w.Do(Pointwise(site + ".cos", "aten::mul", "MulFunctor", o_.type, {x, table}));
    w.Do(Pointwise(site + ".neg", "aten::neg", "neg_kernel_cuda", o_.type, {half}));
    w.Do(Concat(site + ".cat", o_.type, half, half));
    w.Do(Pointwise(site + ".sin", "aten::mul", "MulFunctor", o_.type, {x, table}));
    w.Do(Pointwise(site + ".add", "aten::add", "CUDAFunctor_add", o_.type, {x, x}));
  }

  void Attention(Writer& w, int step) const {
    const int64_t t = Tokens(step), m = o_.batch * t, width = o_.d / o_.heads, kv = o_.kv_heads * width;
    w.Do(Linear("attn.q", o_.type, m, o_.d, o_.d));
    w.Do(Linear("attn.k", o_.type, m, kv, o_.d));
    w.Do(Linear("attn.v", o_.type, m, kv, o_.d));
    Rope(w, "attn.rope_q", o_.heads, t);
    Rope(w, "attn.rope_k", o_.kv_heads, t);
    const Shape past{o_.batch, o_.kv_heads, Context(step) - t, width}, now{o_.batch, o_.kv_heads, t, width};
    w.Do(Concat("attn.cache_k", o_.type, past, now));
    w.Do(Concat("attn.cache_v", o_.type, past, now));
    if (o_.fused_attention) {
      w.Do(FusedAttention(step));
    } else {
      EagerAttention(w, step);
    }
    w.Do(Linear("attn.o", o_.type, m, o_.d, o_.d));
  }

 public:
  Call FusedAttention(int step) const {
    const int64_t t = Tokens(step), s = Context(step), width = o_.d / o_.heads;
    Call c;
    c.site = "attn.sdpa";
    c.op = "aten::_cudnn_attention_forward";
    c.around = {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_cudnn_attention"};
    const Shape q{o_.batch, o_.heads, t, width}, k{o_.batch, o_.kv_heads, s, width};
    c.dims = DimsText({q, k, k});
    c.types = TypesText({TypeName(o_.type), TypeName(o_.type), TypeName(o_.type)});
    const double flops = 4 * Elements(q) * static_cast<double>(s), bytes = 2 * Bytes(o_.type) * Elements(k);
    c.work = {
        Kernel(t > 1 ? "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_"
                       "cga1x1x1_kernel0_0"
                     : "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_35_16x128x64_1x4x1_"
                       "cga1x1x1_kernel0_0",
               4 + std::max(flops / 300e6, bytes / 3e6), Elements(q) / 4096)};
    c.op_us = 45;
    c.launch = "cuLaunchKernelEx";
    return c;
  }

  // Two batched products with a softmax in fp32 between them; K and V repeated for every head.
  void EagerAttention(Writer& w, int step) const {
    const int64_t t = Tokens(step), s = Context(step), width = o_.d / o_.heads, n = o_.batch * o_.heads;
    const Shape scores{o_.batch, o_.heads, t, s}, repeated{o_.batch, o_.heads, s, width};
    w.Do(Contiguous("attn.repeat_k", o_.type, repeated));
    w.Do(Contiguous("attn.repeat_v", o_.type, repeated));
    w.Do(Batched("attn.scores", n, t, s, width));
    w.Do(Pointwise("attn.scale", "aten::mul", "AUnaryFunctor", o_.type, {scores}));
    w.Do(Pointwise("attn.mask", "aten::add", "CUDAFunctor_add", o_.type, {scores, {o_.batch, 1, t, s}}));
    Call soft = Pointwise("attn.softmax", "aten::_softmax", "softmax", Type::kFloat, {scores});
    soft.around = {"aten::softmax"};
    soft.work[0].name =
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*, "
        "float "
        "const*, int, int, int, bool const*, int, bool)";
    w.Do(Cast("attn.softmax_in", Type::kFloat, o_.type, scores));
    w.Do(soft);
    w.Do(Cast("attn.softmax_out", o_.type, Type::kFloat, scores));
    w.Do(Batched("attn.values", n, t, width, s));
  }

 private:
  Call Batched(const std::string& site, int64_t batch, int64_t m, int64_t n, int64_t k) const {
    Call c = Linear(site, o_.type, m, n, k);
    c.op = "aten::bmm";
    c.around = {"aten::matmul"};
    c.dims = DimsText({{batch, m, k}, {batch, k, n}});
    const double flops = 2.0 * static_cast<double>(batch * m) * static_cast<double>(n * k);
    const double bytes =
        Bytes(o_.type) * static_cast<double>(batch) * static_cast<double>(m * k + k * n + m * n);
    c.work = {
        Kernel("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_64x1_tn_align2>("
               "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_64x1_tn_align2::Params)",
               4 + std::max(flops / 250e6, bytes / 2e6), static_cast<double>(batch))};
    return c;
  }

  LlmOptions o_;
};

}  // namespace

Program LlmProgram(const LlmOptions& options, const Recording& recording) {
  Program out;
  out.recording = recording;
  ThreadSpec main;
  main.write = [model = Llm(options), options](int piece, Writer& w) {
    if (piece <= options.steps) {
      model.Step(w, piece);
      return true;
    }
    if (piece > options.steps + 1) return false;
    w.Enter("end", options.steps + 1, -1);
    w.Api("end.sync", "cudaDeviceSynchronize", 5, Waits::kDevice);
    return true;
  };
  out.threads.push_back(main);
  return out;
}

}  // namespace nl::synthetic
