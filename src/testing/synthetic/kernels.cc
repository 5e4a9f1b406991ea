// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/kernels.h"

namespace nl::synthetic {

const char* TypeName(Type t) {
  return t == Type::kBf16 ? "c10::BFloat16" : t == Type::kHalf ? "c10::Half" : "float";
}

double Bytes(Type t) { return t == Type::kFloat ? 4 : 2; }

double Elements(const Shape& s) {
  double out = 1;
  for (const int64_t extent : s) out *= static_cast<double>(extent);
  return out;
}

std::string DimsText(const std::vector<Shape>& shapes) {
  std::string out;
  for (const Shape& s : shapes) out += fmt::format("{}[{}]", out.empty() ? "" : ",", fmt::join(s, ","));
  return "[" + out + "]";
}

std::string TypesText(const std::vector<std::string>& types) {
  std::string out;
  for (const std::string& t : types) out += fmt::format("{}\"{}\"", out.empty() ? "" : ",", t);
  return "[" + out + "]";
}

Work Kernel(const std::string& name, double us, double blocks) {
  Work w;
  w.name = name;
  w.us = us;
  w.grid = std::max<int64_t>(1, static_cast<int64_t>(blocks));
  return w;
}

double MemoryUs(double bytes) { return 0.8 + bytes / 2.6e6; }

std::string GemmName(Type t, int64_t m) {
  if (t == Type::kFloat) {
    return m <= 64
               ? "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false, "
                 "cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float const>, "
                 "cublasGemvTensorStridedBatched<float> >(cublasGemmSmallNParams<float, float>)"
               : "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_"
                 "alignc4_execute_kernel__5x_cublas";
  }
  const char* kind = t == Type::kBf16 ? "tst" : "hsh";
  return m <= 64 ? fmt::format("nvjet_sm90_{}_64x8_64x16_4x1_v_bz_TNT", kind)
                 : fmt::format("nvjet_sm90_{}_256x128_64x4_1x2_h_bz_coopA_TNT", kind);
}

double GemmUs(Type t, double m, double n, double k) {
  const double flops = 2 * m * n * k, bytes = Bytes(t) * (m * k + k * n + m * n);
  return 3.5 + std::max(flops / (t == Type::kFloat ? 45e6 : 700e6), bytes / 3.8e6);
}

Call Linear(const std::string& site, Type t, int64_t m, int64_t n, int64_t k) {
  Call c;
  c.site = site;
  c.op = "aten::mm";
  c.around = {"aten::linear", "aten::matmul"};
  c.quiet = {"aten::t", "aten::as_strided", "aten::resize_"};
  c.dims = DimsText({{m, k}, {k, n}});
  c.types = TypesText({TypeName(t), TypeName(t)});
  c.work = {Kernel(GemmName(t, m), GemmUs(t, m, n, k), m * n / 8192)};
  c.op_us = 20;
  c.launch = "cuLaunchKernelEx";
  return c;
}

Call Pointwise(const std::string& site, const std::string& op, const std::string& functor, Type t,
               const std::vector<Shape>& inputs) {
  Call c;
  c.site = site;
  c.op = op;
  c.quiet = {"aten::empty_strided"};
  c.dims = DimsText(inputs);
  c.types = TypesText(std::vector<std::string>(inputs.size(), TypeName(t)));
  double most = 0, bytes = 0;
  for (const Shape& s : inputs) {
    most = std::max(most, Elements(s));
    bytes += Bytes(t) * Elements(s);
  }
  const std::string f = fmt::format("at::native::{}<{}>", functor, TypeName(t));
  c.work = {
      Kernel(fmt::format("void at::native::vectorized_elementwise_kernel<4, {0}, std::array<char*, {1}ul> "
                         ">(int, {0}, std::array<char*, {1}ul>)",
                         f, inputs.size() + 1),
             MemoryUs(bytes + Bytes(t) * most), most / 1024)};
  return c;
}

Call Cast(const std::string& site, Type to, Type from, const Shape& shape) {
  Call c;
  c.site = site;
  c.op = "aten::copy_";
  c.around = {"aten::to", "aten::_to_copy"};
  c.dims = DimsText({shape, shape, {}});
  c.types = TypesText({TypeName(to), TypeName(from), "Scalar"});
  const char* lambda = to == Type::kFloat ? "direct_copy_kernel_cuda" : "bfloat16_copy_kernel_cuda";
  c.work = {Kernel(fmt::format("void at::native::vectorized_elementwise_kernel<4, at::native::{}"
                               "(at::TensorIteratorBase&)::{{lambda({})#1}}, std::array<char*, 2ul> >(int)",
                               lambda, TypeName(from)),
                   MemoryUs((Bytes(to) + Bytes(from)) * Elements(shape)), Elements(shape) / 1024)};
  return c;
}

Call Contiguous(const std::string& site, Type t, const Shape& shape, double us) {
  Call c = Cast(site, t, t, shape);
  c.around = {"aten::contiguous", "aten::clone"};
  c.types = TypesText({TypeName(t), TypeName(t), "Scalar"});
  c.work = {Kernel(
      fmt::format("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
                  "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{{lambda({})#1}}> >(int)",
                  TypeName(t)),
      us > 0 ? us : 2.5 * MemoryUs(2 * Bytes(t) * Elements(shape)), Elements(shape) / 512)};
  return c;
}

Call Reduce(const std::string& site, const std::string& op, const std::string& what, Type t,
            const Shape& shape) {
  Call c = Pointwise(site, op, what, t, {shape});
  c.work = {Kernel(
      fmt::format("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<{0}, at::native::{1}<{0}, "
                  "{0}>, unsigned int, {0}, 4, 4> >(at::native::ReduceOp<{0}, at::native::{1}<{0}, "
                  "{0}>, unsigned int, {0}, 4, 4>)",
                  TypeName(t), what),
      2.6 + MemoryUs(Bytes(t) * Elements(shape)), Elements(shape) / 4096)};
  return c;
}

Call Concat(const std::string& site, Type t, const Shape& a, const Shape& b) {
  Call c;
  c.site = site;
  c.op = "aten::cat";
  c.dims = fmt::format("[{},[]]", DimsText({a, b}));
  c.types = TypesText({"TensorList", "Scalar"});
  c.work = {
      Kernel("void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous "
             "namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>(at::native::(anonymous "
             "namespace)::OpaqueType<2u>*, unsigned int)",
             1.5 + MemoryUs(2 * Bytes(t) * (Elements(a) + Elements(b))), (Elements(a) + Elements(b)) / 2048)};
  return c;
}

Call EngineCopy(const std::string& site, const std::string& kind, bool pageable, double bytes) {
  Call c;
  c.site = site;
  c.op = "aten::copy_";
  c.around = {"aten::to", "aten::_to_copy"};
  const auto elements = static_cast<int64_t>(bytes / 4);
  c.dims = DimsText({{elements}, {elements}, {}});
  c.types = TypesText({"float", "float", "Scalar"});
  Work w;
  w.kind = WorkKind::kMemcpy;
  w.copy_kind = kind;
  const std::string host = pageable ? "Pageable" : "Pinned";
  w.from = kind == "HtoD" ? host : "Device";
  w.to = kind == "DtoH" ? host : "Device";
  w.bytes = static_cast<int64_t>(bytes);
  const double bytes_per_us = kind == "DtoD" ? 1.4e6 : pageable ? 6.3e3 : 52e3;
  w.us = 1.4 + bytes / bytes_per_us;
  c.work = {w};
  if (pageable && kind != "DtoD") c.waits = Waits::kStream;
  return c;
}

void Item(Writer& w, const std::string& site) {
  Call c = EngineCopy(site, "DtoH", false, 4);
  c.op = "aten::_local_scalar_dense";
  c.around = {"aten::item"};
  c.dims = "[[]]";
  c.types = TypesText({"float"});
  w.Do(c);
  Call wait;
  wait.site = site + ".wait";
  wait.op = "aten::_local_scalar_dense";
  wait.python_us = 0;
  wait.op_us = 0.5;
  wait.launch = "cudaStreamSynchronize";
  wait.launch_us = 3;
  wait.waits = Waits::kStream;
  w.Do(wait);
}

Work Nccl(const std::string& what, double us, uint64_t collective) {
  Work w = Kernel(fmt::format("ncclDevKernel_{}_RING_LL(ncclDevKernelArgsStorage<4096ul>)", what), us, 24);
  w.communication = true;
  w.collective = collective;
  w.stream = 21;
  return w;
}

}  // namespace nl::synthetic
