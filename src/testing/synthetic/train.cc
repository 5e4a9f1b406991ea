// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/train.h"

namespace nl::synthetic {

namespace {

class Training {
 public:
  explicit Training(const TrainOptions& options) : o_(options) {}

  void MainStep(Writer& w, int step, std::vector<Call>& forward) const {
    w.Enter("step", step, -1);
    w.Range(fmt::format("ProfilerStep#{}", step), [&] {
      w.Host("loader", 120);
      w.Do(EngineCopy("input.copy", "HtoD", false, 8.0 * static_cast<double>(o_.batch * o_.length)));
      forward.clear();
      w.record = &forward;
      w.Open(SpanKind::kPython, "train.py(88): forward");
      Forward(w, step);
      w.Close();
      w.record = nullptr;
      w.Host("backward.call", 25);
      w.Signal(static_cast<uint32_t>(2 * step + 1));
      w.Await(static_cast<uint32_t>(2 * step + 2));
      w.Enter("optimizer", step, 900);
      w.Range("Optimizer.step#AdamW.step", [&] { Optimizer(w); });
      w.Do(Reduce("loss.mean", "aten::mean", "MeanOps", Type::kFloat, {o_.batch, 16}));
      Item(w, "loss.item");
    });
  }

  // Gradients of the recorded calls, last first; the reduction of a layer's runs beside the next layer's.
  void BackwardStep(Writer& w, int step, int rank, const std::vector<Call>& forward) const {
    int calls = 0;
    for (size_t i = forward.size(); i-- > 0;) {
      const int layer = static_cast<int>(i * static_cast<size_t>(o_.layers + 1) / forward.size());
      if (i + 1 == forward.size() || layer != w.layer()) w.Enter("backward", step, layer);
      Backward(w, forward[i]);
      if (o_.reduce && ++calls % kCallsPerBucket == 0) ReduceBucket(w, step, calls / kCallsPerBucket, rank);
    }
    if (o_.reduce) w.Event("reduce.wait", 7, 0, Event(step, calls / kCallsPerBucket, rank, 1));
  }

 private:
  static constexpr int kCallsPerBucket = 10;
  static int64_t Event(int step, int bucket, int rank, int which) {
    return 1 + which + 2 * (rank + 8 * (bucket + 1000 * static_cast<int64_t>(step)));
  }

  void ReduceBucket(Writer& w, int step, int bucket, int rank) const {
    w.Event("reduce.ready", 7, Event(step, bucket, rank, 0), 0);
    Call c;
    c.site = "reduce.bucket";
    c.op = "c10d::allreduce_";
    c.dims = DimsText({{12 * o_.d * o_.d / 2}});
    c.types = TypesText({"float"});
    const uint64_t peers =
        o_.ranks > 1 ? compare::HashPair(static_cast<uint64_t>(step) + 1, static_cast<uint64_t>(bucket)) : 0;
    c.work = {Nccl("AllReduce_Sum_f32", 20 + 6.0 * static_cast<double>(o_.d * o_.d) / 200e3, peers)};
    c.wait_event = Event(step, bucket, rank, 0);
    c.record_event = Event(step, bucket, rank, 1);
    w.Do(c);
  }

  void Forward(Writer& w, int step) const {
    const int64_t m = o_.batch * o_.length;
    w.Enter("forward", step, -1);
    Call embed = Pointwise("embed", "aten::embedding", "embedding", o_.type, {{m, o_.d}});
    embed.work[0].name =
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, "
        "2, "
        "-2, true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, unsigned int, long)";
    w.Do(embed);
    for (int layer = 0; layer < o_.layers; ++layer) {
      w.Enter("forward", step, layer);
      w.Module(fmt::format("Block_{}", layer), [&] { Block(w, layer, m); });
    }
    w.Enter("forward", step, 999);
    w.Do(Linear("head", o_.type, m, o_.vocab, o_.d));
    Call loss = Pointwise("loss", "aten::_log_softmax", "log_softmax", Type::kFloat, {{m, o_.vocab}});
    loss.work[0].name =
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, "
        "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, float const*, int)";
    w.Do(loss);
  }

  void Block(Writer& w, int layer, int64_t m) const {
    const Shape x{o_.batch, o_.length, o_.d};
    w.Do(Norm("norm1", x));
    w.Module(fmt::format("Attention_{}", layer), [&] {
      w.Do(Linear("attn.qkv", o_.type, m, 3 * o_.d, o_.d));
      w.Do(Flash());
      w.Do(Linear("attn.o", o_.type, m, o_.d, o_.d));
    });
    w.Do(Pointwise("residual1", "aten::add", "CUDAFunctor_add", o_.type, {x, x}));
    w.Do(Norm("norm2", x));
    w.Module(fmt::format("Mlp_{}", layer), [&] {
      w.Do(Linear("mlp.up", o_.type, m, 4 * o_.d, o_.d));
      w.Do(Pointwise("mlp.act", "aten::gelu", "GeluCUDAKernelImpl", o_.type,
                     {{o_.batch, o_.length, 4 * o_.d}}));
      w.Do(Linear("mlp.down", o_.type, m, o_.d, 4 * o_.d));
    });
    w.Do(Pointwise("residual2", "aten::add", "CUDAFunctor_add", o_.type, {x, x}));
  }

  Call Norm(const std::string& site, const Shape& x) const {
    Call c = Pointwise(site, "aten::native_layer_norm", "layer_norm", o_.type, {x, {o_.d}, {o_.d}});
    c.around = {"aten::layer_norm"};
    c.work[0].name =
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, "
        "false>(int, "
        "float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, "
        "c10::BFloat16*)";
    return c;
  }

  Call Flash() const {
    const Shape q{o_.batch, o_.d / 64, o_.length, 64};
    Call c;
    c.site = "attn.sdpa";
    c.op = "aten::_flash_attention_forward";
    c.around = {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention"};
    c.dims = DimsText({q, q, q});
    c.types = TypesText({TypeName(o_.type), TypeName(o_.type), TypeName(o_.type)});
    c.work = {
        Kernel("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
               "cutlass::bfloat16_t>, false, true>(pytorch_flash::Flash_fwd_params)",
               5 + 4 * Elements(q) * static_cast<double>(o_.length) / 250e6, 256)};
    c.op_us = 35;
    return c;
  }

  static void Backward(Writer& w, const Call& forward) {
    const std::string name = forward.op.substr(forward.op.rfind(':') + 1);
    Call c = forward;
    c.site = "bwd." + forward.site;
    c.around = {fmt::format("autograd::engine::evaluate_function: {}Backward0", name),
                fmt::format("{}Backward0", name)};
    if (forward.op == "aten::mm") {
      w.Do(c);
      c.site += ".weight";
      c.work[0].name = "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN";
      w.Do(c);
      return;
    }
    c.op = forward.op + "_backward";
    for (Work& work : c.work) work.us *= 1.6;
    if (!c.work.empty()) {
      const size_t at = c.work[0].name.find("fwd");
      if (at != std::string::npos) c.work[0].name.replace(at, 3, "bwd");
    }
    w.Do(c);
  }

  void Optimizer(Writer& w) const {
    const double bytes = 12.0 * static_cast<double>(o_.layers) * static_cast<double>(o_.d * o_.d) * 4;
    const std::vector<std::string> ops =
        o_.fused_optimizer ? std::vector<std::string>{"aten::_fused_adamw_"}
                           : std::vector<std::string>{"aten::_foreach_mul_",     "aten::_foreach_lerp_",
                                                      "aten::_foreach_addcmul_", "aten::_foreach_sqrt",
                                                      "aten::_foreach_div_",     "aten::_foreach_add_",
                                                      "aten::_foreach_addcdiv_"};
    for (size_t i = 0; i < ops.size(); ++i) {
      Call c;
      c.site = fmt::format("optimizer.{}", i);
      c.op = ops[i];
      c.dims = "[[],[]]";
      c.types = TypesText({"TensorList", "TensorList"});
      const Work part =
          Kernel(fmt::format("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::("
                             "anonymous namespace)::TensorListMetadata<{0}>, at::native::(anonymous "
                             "namespace)::BinaryOpListAlphaFunctor<float, {0}> >(at::native::(anonymous "
                             "namespace)::TensorListMetadata<{0}>)",
                             i + 2),
                 MemoryUs(3 * bytes / 4), 320);
      c.work = {part, part, part, part};
      w.Do(c);
    }
  }

  TrainOptions o_;
};

}  // namespace

Program TrainProgram(const TrainOptions& options, const Recording& recording) {
  Program out;
  out.recording = recording;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const auto forward = std::make_shared<std::vector<Call>>();
    const Training model(options);
    ThreadSpec main, engine;
    main.name = "python", engine.name = "autograd";
    main.device = engine.device = rank;
    if (options.ranks > 1) main.rank = engine.rank = rank;
    const uint32_t signals = static_cast<uint32_t>(rank) * 100000;
    main.write = [=](int piece, Writer& w) {
      if (piece >= options.steps) return false;
      w.signals = signals;
      w.salt = signals;
      model.MainStep(w, piece, *forward);
      return true;
    };
    engine.write = [=](int piece, Writer& w) {
      const int step = piece / 2;
      if (step >= options.steps) return false;
      w.signals = signals;
      w.salt = signals;
      if (piece % 2 == 0) {
        w.Await(static_cast<uint32_t>(2 * step + 1));
        return true;
      }
      w.Enter("backward", step, 998);
      model.BackwardStep(w, step, rank, *forward);
      w.Signal(static_cast<uint32_t>(2 * step + 2));
      return true;
    };
    out.threads.push_back(main);
    out.threads.push_back(engine);
  }
  return out;
}

}  // namespace nl::synthetic
