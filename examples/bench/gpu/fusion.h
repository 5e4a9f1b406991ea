// SPDX-License-Identifier: Apache-2.0
#pragma once
// What both sides of `fusion` share: 64 MiB of numbers on the GPU, and kernels as PTX text. Products and sums are rounded
// one by one in both, so that the results are equal.
#include "neurolens/bench_cuda.h"

class Fusion : public neurolens::CudaBenchmark {
 public:
  void Setup(std::mt19937_64& random) override {
    std::uniform_real_distribution<float> value(-1, 1);
    host_.resize(kCount);
    for (float& x : host_) x = value(random);
    x_ = cuda().Allocate(kBytes);
    product_ = cuda().Allocate(kBytes);
    result_ = cuda().Allocate(kBytes);
    cuda().Upload(x_, host_);
    scale_ = cuda().Kernel(kPtx, "scale");
    shift_ = cuda().Kernel(kPtx, "shift");
    fused_ = cuda().Kernel(kPtx, "fused");
  }
  void InputsChanged() override { cuda().Upload(x_, host_); }
  std::vector<double> Output() override {
    std::vector<float> all(kCount);
    cuda().Download(all, result_);
    std::vector<double> out;
    for (size_t i = 0; i < all.size(); i += kCount / 4096) out.push_back(all[i]);
    return out;
  }
  std::vector<neurolens::Input> Inputs() override { return {neurolens::Input::Of(host_).On(x_, kBytes)}; }
  std::pair<const void*, size_t> OutputMemory() override { return {reinterpret_cast<const void*>(result_), kBytes}; }
  std::string OutputType() override { return "float32"; }
  std::map<std::string, std::string> Signature() override { return {{"count", std::to_string(kCount)}, {"type", "float32"}}; }
  std::map<std::string, double> Workload() override { return {{"elements", kCount}}; }

 protected:
  static constexpr unsigned kCount = 16 << 20, kThreads = 256, kBlocks = kCount / kThreads;
  static constexpr size_t kBytes = kCount * sizeof(float);
  static constexpr float kFactor = 1.5f, kShift = 0.25f;

  void *scale_ = nullptr, *shift_ = nullptr, *fused_ = nullptr;
  neurolens::Cuda::Pointer x_ = 0, product_ = 0, result_ = 0;

 private:
  // The count is a multiple of a block's threads: no thread is left over.
  static constexpr char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 from, .param .u64 to, .param .f32 factor, .param .u32 count) {
  .reg .b32 %t, %b, %n, %i; .reg .b64 %from, %to, %at; .reg .f32 %v, %f;
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %b, %n, %t;
  ld.param.u64 %from, [from]; ld.param.u64 %to, [to]; ld.param.f32 %f, [factor];
  cvta.to.global.u64 %from, %from; cvta.to.global.u64 %to, %to;
  mul.wide.u32 %at, %i, 4; add.u64 %from, %from, %at; add.u64 %to, %to, %at;
  ld.global.f32 %v, [%from]; mul.rn.f32 %v, %v, %f; st.global.f32 [%to], %v; ret;
}
.visible .entry shift(.param .u64 from, .param .u64 to, .param .f32 term, .param .u32 count) {
  .reg .b32 %t, %b, %n, %i; .reg .b64 %from, %to, %at; .reg .f32 %v, %f;
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %b, %n, %t;
  ld.param.u64 %from, [from]; ld.param.u64 %to, [to]; ld.param.f32 %f, [term];
  cvta.to.global.u64 %from, %from; cvta.to.global.u64 %to, %to;
  mul.wide.u32 %at, %i, 4; add.u64 %from, %from, %at; add.u64 %to, %to, %at;
  ld.global.f32 %v, [%from]; add.rn.f32 %v, %v, %f; st.global.f32 [%to], %v; ret;
}
.visible .entry fused(.param .u64 from, .param .u64 to, .param .f32 factor, .param .f32 term, .param .u32 count) {
  .reg .b32 %t, %b, %n, %i; .reg .b64 %from, %to, %at; .reg .f32 %v, %f, %s;
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %b, %n, %t;
  ld.param.u64 %from, [from]; ld.param.u64 %to, [to]; ld.param.f32 %f, [factor]; ld.param.f32 %s, [term];
  cvta.to.global.u64 %from, %from; cvta.to.global.u64 %to, %to;
  mul.wide.u32 %at, %i, 4; add.u64 %from, %from, %at; add.u64 %to, %to, %at;
  ld.global.f32 %v, [%from]; mul.rn.f32 %v, %v, %f; add.rn.f32 %v, %v, %s; st.global.f32 [%to], %v; ret;
}
)";
  std::vector<float> host_;
};
