// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/cnn.h"

namespace nl::synthetic {

namespace {

class Cnn {
 public:
  explicit Cnn(const CnnOptions& options) : o_(options) {}

  void Step(Writer& w, int step) const {
    w.Enter("inference", step, -1);
    w.Range("inference", [&] {
      w.Host("loader", 60);
      const double images = static_cast<double>(o_.batch * 3 * o_.image * o_.image);
      w.Do(EngineCopy("input.copy", "HtoD", false, 2 * images));
      Convolution(w, "stem", 3, 64, 7, o_.image / 2);
      int layer = 0;
      int64_t width = 64, size = o_.image / 4, in = 64;
      for (const int count : o_.blocks) {
        for (int block = 0; block < count; ++block, ++layer) {
          w.Enter("inference", step, layer);
          w.Module(fmt::format("Bottleneck_{}", layer), [&] { Bottleneck(w, in, width, size); });
          in = 4 * width;
        }
        width *= 2, size /= 2;
      }
      w.Enter("inference", step, 999);
      w.Do(Reduce("pool", "aten::mean", "MeanOps", o_.type, {o_.batch, in, size, size}));
      w.Do(Linear("fc", o_.type, o_.batch, 1000, in));
      w.Do(EngineCopy("output.copy", "DtoH", false, 2000.0 * static_cast<double>(o_.batch)));
      w.Api("output.sync", "cudaStreamSynchronize", 3, Waits::kStream);
    });
  }

 private:
  void Bottleneck(Writer& w, int64_t in, int64_t width, int64_t size) const {
    Convolution(w, "conv1", in, width, 1, size);
    Convolution(w, "conv2", width, width, 3, size);
    Convolution(w, "conv3", width, 4 * width, 1, size);
    const Shape x{o_.batch, 4 * width, size, size};
    w.Do(Pointwise("residual", "aten::add_", "CUDAFunctor_add", o_.type, {x, x}));
  }

  void Convolution(Writer& w, const std::string& site, int64_t in, int64_t out, int64_t k,
                   int64_t size) const {
    const Shape x{o_.batch, in, size, size}, y{o_.batch, out, size, size};
    Call c;
    c.site = site + ".conv";
    c.op = "aten::cudnn_convolution";
    c.around = {"aten::conv2d", "aten::convolution", "aten::_convolution"};
    c.dims = DimsText({x, {out, in, k, k}});
    c.types = TypesText({TypeName(o_.type), TypeName(o_.type)});
    const double flops = 2 * Elements(y) * static_cast<double>(in * k * k);
    const double bytes = Bytes(o_.type) * (Elements(x) + Elements(y));
    c.work = {
        Kernel(fmt::format("sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize{}x64_"
                           "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
                           k > 1 ? "128x128" : "256x64"),
               4 + std::max(flops / 400e6, bytes / 2.5e6), Elements(y) / 8192)};
    c.op_us = 30;
    c.launch = "cudaLaunchKernelExC";
    w.Do(c);
    Call norm = Pointwise(site + ".bn", "aten::cudnn_batch_norm", "batch_norm", o_.type,
                          {y, {out}, {out}, {out}, {out}});
    norm.around = {"aten::batch_norm", "aten::_batch_norm_impl_index"};
    norm.work[0].name =
        "void cudnn::bn_fw_inf_1C11_kernel_NCHW<__half, float, true, 1>(float, float, cudnnTensorStruct, "
        "__half "
        "const*, cudnnTensorStruct, __half*)";
    w.Do(norm);
    Call relu = Pointwise(site + ".relu", "aten::clamp_min_", "launch_clamp_scalar", o_.type, {y});
    relu.around = {"aten::relu_"};
    w.Do(relu);
  }

  CnnOptions o_;
};

}  // namespace

Program CnnProgram(const CnnOptions& options, const Recording& recording) {
  Program out;
  out.recording = recording;
  ThreadSpec main;
  main.write = [model = Cnn(options), options](int piece, Writer& w) {
    if (piece >= options.steps) return false;
    model.Step(w, piece);
    return true;
  };
  out.threads.push_back(main);
  return out;
}

}  // namespace nl::synthetic
