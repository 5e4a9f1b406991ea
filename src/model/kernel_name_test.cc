// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_name.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace nl {
namespace {

// Real spellings of one kernel: Kineto (H200), ncu 2025 (H200), nsys and its mangled names (public reports).
TEST(NormalizeKernelName, SpellingsOfOneKernelAreEqual) {
  const std::vector<std::vector<std::string>> groups = {
      {"void "
       "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&):"
       ":"
       "{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, "
       "std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, "
       "unsigned "
       "int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int, "
       "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
       "const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, "
       "TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, "
       "at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>)",
       "void at::unrolled_elementwise_kernel<at::direct_copy_kernel_cuda(at::TensorIteratorBase "
       "&)::[lambda() "
       "(instance 3)]::operator ()() const::[lambda() (instance 7)]::operator ()() const::[lambda(float) "
       "(instance "
       "1)], std::array<char *, 2>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, "
       "unsigned int>, memory::LoadWithCast<1>, memory::StoreWithCast<1>>(int, T1, T2, T4, T5, T6, T7)",
       "void "
       "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase "
       "&)::[lambda() (instance 3)]::operator ()() const::[lambda() (instance 7)]::operator ()() "
       "const::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>, (int)4, "
       "TrivialOffsetCalculator<(int)1, unsigned int>, TrivialOffsetCalculator<(int)1, unsigned int>, "
       "at::native::memory::LoadWithCast<(int)1>, at::native::memory::StoreWithCast<(int)1>>(int, T1, T2, "
       "T4, T5, "
       "T6, T7)",
       "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_"
       "18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_"
       "St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_"
       "NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
       "namespace)::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, "
       "float)::{lambda(float)#1}, "
       "std::array<char*, 2ul> >(int, float, std::array<char*, 2ul>)",
       "void at::vectorized_elementwise_kernel<4, void at::<unnamed>::pow_tensor_scalar_kernel_impl<float, "
       "float>(at::TensorIteratorBase &, T2)::[lambda(float) (instance 1)], std::array<char *, 2>>(int, T2, "
       "T3)",
       "at::native::vectorized_elementwise_kernel<4, "
       "at::native::_GLOBAL__N__b1108092_12_PowKernel_cu_398dda3b::"
       "pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::'lambda'(float), "
       "std::array<char*, 2ul>>",
       "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_51_GLOBAL__N__b1108092_12_PowKernel_cu_"
       "398dda3b_"
       "2224229pow_tensor_scalar_kernel_implIffEEvRNS_18TensorIteratorBaseET0_EUlfE_St5arrayIPcLm2EEEEviS6_"
       "T1_"},
      {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous "
       "namespace)::OpaqueType<4u>, unsigned int, 3, 64, 64>(at::native::(anonymous "
       "namespace)::OpaqueType<4u>*, "
       "int, unsigned int)",
       "void at::<unnamed>::CatArrayBatchedCopy<at::<unnamed>::OpaqueType<4>, unsigned int, 3, 64, 64>(T1 *, "
       "int, "
       "T2)",
       "void at::native::<unnamed>::CatArrayBatchedCopy<at::native::<unnamed>::OpaqueType<(unsigned int)4>, "
       "unsigned int, (int)3, (int)64, (int)64>(T1 *, int, T2)",
       "CatArrayBatchedCopy<OpaqueType<4>, unsigned int, 3, 64, 64>"},
      {"void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, (cudnnKernelDataType_t)0>(int)",
       "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, (bool)0, (bool)1, "
       "(cudnnKernelDataType_t)0>(int)",
       "void nchwToNhwcKernel<__half, __half, float, 0 , 1, 0> [clone .x]",
       "nchwToNhwcKernel<__half,__half,float,0,true,0>"},
      {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, cublasGemvTensor<float const> "
       ">(int)",
       "std::enable_if<true, void>::type internal::gemvx::kernel<int, cublasGemvTensor<const float>>(int)",
       "gemvx::kernel<int, cublasGemvTensor<float const>>"},
      {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)", "ncclDevKernel_SendRecv",
       "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE", "  ::ncclDevKernel_SendRecv(X)  ",
       "ncclDevKernel_SendRecv.kd"},
      {"void f<char const* const*, int volatile*>(int) [clone .isra.0]",
       "void f<const char *const *, volatile int *>(int)"},
  };
  for (const std::vector<std::string>& group : groups) {
    const std::string expected = ParseKernelName(group[0]).normalized;
    for (const std::string& raw : group) {
      EXPECT_EQ(ParseKernelName(raw).normalized, expected) << raw;
    }
  }
}

TEST(NormalizeKernelName, DifferentKernelsStayDifferent) {
  const std::string names[] = {
      "void k<4, float>(float*)",
      "void k<8, float>(float*)",
      "void k<-4, float>(float*)",
      "void k<4, float const>(float*)",
      "void k<4, float*>(float*)",
      "void k<4, float* const>(float*)",
      "void k<4, float const*>(float*)",
      "void k<4, void (int)>(float*)",
      "void k<4, void (float)>(float*)",
      "void k<4, void (*)(float)>(float*)",
      "void k<4, f(int)::{lambda(int)#1}>(float*)",
      "void k<4, f(int)::{lambda(int)#2}>(float*)",
      "void k<4, f(int)::{lambda(float)#1}>(float*)",
      "void k<4, g(int)::{lambda(int)#1}>(float*)",
      "void k<4, unsigned int>(float*)",
      "void k<4, unsigned long>(float*)",
      "void k<4, float [3]>(float*)",
      "void k<4, A<float>::type>(float*)",
  };
  std::set<std::string> seen;
  for (const std::string& name : names) {
    EXPECT_TRUE(seen.insert(NormalizeKernelName(name)).second) << name << " -> " << NormalizeKernelName(name);
  }
}

TEST(NormalizeKernelName, TextThatIsNoFunctionNameIsKept) {
  for (const char* text :
       {"Memcpy HtoD (Pageable -> Device)", "Memset (Device)", "forward pass", "a<b", "a>b", "f(", "f)",
        "k<1>>", "triton_poi_fused_add_0", "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", "(int)4", "x, y",
        "{lambda(", "'lambda"}) {
    EXPECT_EQ(NormalizeKernelName(text), text);
  }
}

TEST(NormalizeKernelName, IsStableUnderRepetition) {
  for (const char* text :
       {"void at::native::f<(int)4, a::b(int)::[lambda(float) (instance 2)], const c::d *>(int)",
        "internal::gemvx::kernel<int>(int)", "void g<void (*)(int), (bool)1>()"}) {
    const std::string once = NormalizeKernelName(text);
    EXPECT_EQ(NormalizeKernelName(once), once);
  }
}

struct LabelCase {
  const char* raw;
  const char* short_name;
  KernelFamily family;
};

TEST(ParseKernelName, LabelsAndFamilies) {
  using F = KernelFamily;
  const LabelCase cases[] = {
      {"void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
       "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
       "elementwise add bf16 (vec8)", F::kElementwise},
      {"void at::elementwise_kernel<128, 2, void at::gpu_kernel_impl_nocast<at::BinaryFunctor<float, float, "
       "float, "
       "binary_internal::MulFunctor<float>>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance "
       "1)]>(int, T3)",
       "elementwise mul f32 (strided)", F::kElementwise},
      {"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_"
       "18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_"
       "St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_"
       "NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
       "elementwise copy f32 (unrolled)", F::kCopy},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, "
       "float, "
       "float>, unsigned int, float, 4, 4> >(X)",
       "reduce mean f32", F::kReduction},
      {"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::Half, "
       "at::native::func_wrapper_t<c10::Half, "
       "at::native::sum_functor<c10::Half, float, "
       "c10::Half>::operator()(at::TensorIterator&)::{lambda(float, "
       "float)#1}>, unsigned int, c10::Half, 4, 8> >(X)",
       "reduce sum f16", F::kReduction},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_"
       "kernel__"
       "5x_cublas",
       "xmma gemm bf16 tn 64x64x64 (sm90)", F::kGemm},
      {"sm90_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1_"
       "g1_"
       "execute_segment_k_off_kernel__5x_cudnn",
       "xmma conv dgrad f16 nhwc 128x128x64 (sm90)", F::kConv},
      {"nvjet_sm90_tst_192x192_64x4_1x2_h_bz_coopB_TNN",
       "nvjet gemm bf16 TNN 192x192x64 cluster 1x2 coopB (sm90)", F::kGemm},
      {"void "
       "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x256_32x4_nn_align8>(T1::Params)",
       "cutlass gemm bf16 nn 64x256x32 (sm80)", F::kGemm},
      {"void "
       "cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8>("
       "P)",
       "cutlass conv fprop bf16 nhwc 256x64x32", F::kConv},
      {"ampere_sgemm_32x32_sliced1x4_nn", "cublas gemm f32 nn 32x32 sliced1x4 (ampere)", F::kGemm},
      {"cudnn_infer_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
       "cudnn conv f32 nt 128x128 winograd (volta)", F::kConv},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT160x256x64_MI16x16x1_SN_LDSB1_ISA942",
       "tensile gemm TN MT160x256x64 bf16", F::kGemm},
      {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)64, (int)128, (int)128, (int)4, "
       "(bool)0, "
       "(bool)0, cutlass::bfloat16_t, Flash_kernel_traits<(int)64, (int)128, (int)128, (int)4, "
       "cutlass::bfloat16_t>>, (bool)0>(pytorch_flash::Flash_fwd_params)",
       "flash_fwd hdim64 128x128 bf16", F::kAttention},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_"
       "0",
       "cudnn sdpa fprop f16 64x128x64 (sm90)", F::kAttention},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       "nccl AllReduce Sum bf16 RING_LL", F::kCommunication},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "nccl AllReduce Sum f32 RING_LL",
       F::kCommunication},
      {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float, int>(int)",
       "foreach adam f32", F::kOptimizer},
      {"void at::native::(anonymous namespace)::CatArrayBatchedCopy_vectorized<at::native::(anonymous "
       "namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1, 16, 8>(char*)",
       "cat 2B 3d (vectorized)", F::kCopy},
      {"std::enable_if<true, void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, "
       "__nv_bfloat16, float, true>(int)",
       "gemv bf16 (gemvx)", F::kGemm},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)",
       "softmax_warp_forward<f32, f32, f32, 10, 0, 0>", F::kSoftmax},
      {"triton_poi_fused__unsafe_view_mul_silu_8", "triton_poi_fused__unsafe_view_mul_silu_8",
       F::kElementwise},
      {"triton_poi_fused__unsafe_view_cat_transpose_view_4",
       "triton_poi_fused__unsafe_view_cat_transpose_view_4", F::kCopy},
      {"triton_poi_fused__scaled_dot_product_cudnn_attention__to_copy__unsafe_view_add_arange_bmm_cat_clone_"
       "cos_"
       "expand_le_mul_neg_scalar_tensor_sin_slice_transpose_unsqueeze_view_where_4",
       "triton_poi_fused__scaled_dot_product_cud...nsqueeze_view_where_4", F::kElementwise},
  };
  for (const LabelCase& c : cases) {
    const KernelName name = ParseKernelName(c.raw);
    EXPECT_EQ(name.short_name, c.short_name) << c.raw;
    EXPECT_EQ(KernelFamilyName(name.family), KernelFamilyName(c.family)) << c.raw;
  }
}

struct FamilyCase {
  const char* raw;
  KernelFamily family;
};

TEST(ClassifyKernel, FollowsTheNameOfRealKernels) {
  using F = KernelFamily;
  const FamilyCase cases[] = {
      {"attn_fwd", F::kAttention},
      {"kernel_unified_attention_2d", F::kAttention},
      {"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal", F::kAttention},
      {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)", F::kAttention},
      {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, (K)1>(int)", F::kCopy},
      {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", F::kElementwise},
      {"void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(int)", F::kNorm},
      {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(int)", F::kNorm},
      {"void cudnn::batchnorm_bwtr_nhwc_semiPersist<__half, float>(int)", F::kNorm},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)", F::kNorm},
      {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(long)", F::kNorm},
      {"void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<X>>(int)", F::kNorm},
      {"triton_red_fused__to_copy_embedding_mean_mul_pow_rsqrt_0", F::kNorm},
      {"triton_per_fused__softmax_0", F::kSoftmax},
      {"triton_per_fused_sum_3", F::kReduction},
      {"triton_tem_fused_mm_2", F::kGemm},
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16>(int)", F::kSoftmax},
      {"_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", F::kGemm},
      {"void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)", F::kGemm},
      {"void gemv2T_kernel_val<int, int, float>(int)", F::kGemm},
      {"bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3", F::kGemm},
      {"void epilogue::impl::globalKernel<float, float, float, true, true>(int)", F::kGemm},
      {"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)", F::kConv},
      {"void wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, 512>(int)", F::kConv},
      {"void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)0>(int)",
       F::kCopy},
      {"void nhwcAddPaddingKernel<__half, __half, float, true, (cudnnKernelDataType_t)0>(int)", F::kCopy},
      {"void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(int&)::"
       "{lambda(float)#1}, std::array<char*, 2ul> >(int)",
       F::kCopy},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::cos_kernel_cuda(int&)::{lambda()#2}::"
       "operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
       F::kElementwise},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<1>, "
       "UnaryOpFunctor<float, 1, 1, 0>, at::native::_amp_foreach_non_finite_check_and_unscale_cuda_(int)::"
       "{lambda()#1}>(int)",
       F::kOptimizer},
      {"void split_embedding_codegen_forward_unweighted_kernel<float, float, float, long, 2ul>(int)",
       F::kEmbedding},
      {"void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(int)", F::kIndex},
      {"void at::native::vectorized_gather_kernel<16, long>(char*)", F::kIndex},
      {"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800>(int)",
       F::kSort},
      {"void cub::DeviceScanInitKernel<cub::ScanTileState<int, true> >(int)", F::kScan},
      {"void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)", F::kTopK},
      {"void at::native::(anonymous namespace)::max_pool_backward_nhwc<c10::Half, float>(int)", F::kPooling},
      {"void at::native::(anonymous namespace)::upsample_linear1d_out_frame<float, float>(int)",
       F::kResample},
      {"void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<unsigned int, "
       "4>(int)",
       F::kRandom},
      {"void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, "
       "long>(int)",
       F::kLoss},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(int)", F::kCommunication},
      {"void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(int)", F::kQuantize},
      {"void moe::dev::routing::routingIndicesOffsetsKernel<KernelParams<128> >(int)", F::kRouting},
      {"addition_kernel(float*)", F::kElementwise},
      {"nvfuser_none_f0_c0_r0_g0", F::kOther},
      {"", F::kOther},
  };
  for (const FamilyCase& c : cases) {
    EXPECT_EQ(KernelFamilyName(ParseKernelName(c.raw).family), KernelFamilyName(c.family)) << c.raw;
  }
}

TEST(KernelFamily, EveryValueHasItsOwnName) {
  std::set<std::string_view> names;
  for (int i = 0; i < kKernelFamilyCount; ++i) names.insert(KernelFamilyName(static_cast<KernelFamily>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kKernelFamilyCount));
  EXPECT_EQ(KernelFamilyName(KernelFamily::kFft), "fft");
  EXPECT_EQ(KernelFamilyName(static_cast<KernelFamily>(200)), "other");
}

void ExpectBounded(const std::string& raw) {
  const KernelName name = ParseKernelName(raw);
  EXPECT_LE(name.short_name.size(), kMaxShortNameBytes);
  EXPECT_LE(name.normalized.size(), name.demangled.size() + 64);
}

// Quadratic time would take minutes here: the run's time limit is what fails then.
TEST(ParseKernelName, MegabyteNamesStayBounded) {
  for (const char* unit :
       {"a",       "<",        ">",        "(",         ")",      "::",      "a<",    "a(",       "f()::",
        "a b()::", "{lambda(", "[lambda(", "'lambda'(", "const ", "a::",     "void ", "operator", "(int)1,",
        "*",       "_Z",       "x<1>::",   "a_",        "\xff",   "128x64_", " "}) {
    for (size_t size : {size_t{400} << 10, size_t{1} << 20}) {
      std::string raw;
      while (raw.size() < size) raw += unit;
      ExpectBounded(raw);
      ExpectBounded("void k<" + raw + ">(int)");
      ExpectBounded("_Z" + raw);
    }
  }
}

TEST(ParseKernelName, MutatedNamesNeverCrash) {
  const std::string seeds[] = {
      "void at::native::elementwise_kernel<(int)128, void at::f<a::B<float>>(at::T &, const T1 "
      "&)::[lambda(int) "
      "(instance 1)]>(int, T3)",
      "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_15neg_kernel_"
      "cudaERNS_"
      "18TensorIteratorBaseEENKUlvE0_clEvENKUlvE5_clEvEUlfE_EEvS4_RKT_EUliE_EEviT1_",
      "nvjet_sm90_tst_192x192_64x4_1x2_h_bz_coopB_TNN",
      "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_execute_kernel__5x_cublas",
      "Cijk_Alik_Bljk_BBS_BH_MT160x256x64_MI16x16x1",
      "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t>, false>(int)",
      "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x256_32x4_nn_align8>(P)",
      "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64",
      "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)",
  };
  const std::string alphabet = "<>(){}[],:_ xX0129EIZNSTLUl*&'#.-\xc3\x80";
  std::mt19937 random(7);
  for (const std::string& seed : seeds) {
    for (int round = 0; round < 1500; ++round) {
      std::string raw = seed;
      for (int edit = 0; edit < 1 + round % 4; ++edit) {
        const size_t at = random() % raw.size();
        switch (random() % 3) {
          case 0: raw[at] = alphabet[random() % alphabet.size()]; break;
          case 1: raw.erase(at, 1 + random() % 4); break;
          default: raw.insert(at, 1, alphabet[random() % alphabet.size()]); break;
        }
        if (raw.empty()) raw = "x";
      }
      ExpectBounded(raw);
    }
    for (size_t length = 0; length <= seed.size(); ++length) ExpectBounded(seed.substr(0, length));
  }
}

TEST(ParseKernelName, ShortNamesNeverSplitCharacters) {
  std::string raw;
  for (int i = 0; i < 60; ++i) raw += "\xe2\x82\xac";  // euro sign, three bytes
  const std::string label = ParseKernelName(raw).short_name;
  const size_t dots = label.find("...");
  ASSERT_NE(dots, std::string::npos);
  EXPECT_EQ(dots % 3, 0u);
  EXPECT_EQ((label.size() - dots - 3) % 3, 0u);
}

TEST(ParseKernelName, KeepsTheInputWhenItIsNotMangled) {
  const KernelName name = ParseKernelName("  _Zoo::kernel \n");
  EXPECT_EQ(name.demangled, "_Zoo::kernel");
  EXPECT_EQ(ParseKernelName("").normalized, "");
  EXPECT_EQ(ParseKernelName(std::string_view("\0\0", 2)).short_name, "");
}

}  // namespace
}  // namespace nl
