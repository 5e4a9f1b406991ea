// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyze/facts/roofline.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

constexpr const char* kBf16 = R"(["c10::BFloat16","c10::BFloat16"])";

// aten::linear calls aten::mm, which launches: one point, for mm.
void AddLinear(RunBuilder& run, ThreadId thread, int64_t at_ns, int64_t kernel_ns, int split = 1) {
  run.Op(thread, "aten::linear", at_ns, 100, "[[4096,2048],[5632,2048]]", kBf16);
  run.Op(thread, "aten::mm", at_ns + 10, 80, "[[4096,2048],[2048,5632]]", kBf16, R"(["",""])");
  for (int i = 0; i < split; ++i) {
    const RowId launch = run.Api(thread, "cudaLaunchKernel", at_ns + 20 + 10 * i, 10);
    run.Kernel(i == 0 ? "gemm" : "splitk_reduce", 7, at_ns + 200 + i * kernel_ns, kernel_ns, launch);
  }
}

const RooflineFacts& RooflineOf(Analysis& analysis) {
  const auto made = analysis.Need<RooflineFacts>();
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().ToString());
  return **made;
}

TEST(Roofline, TheInnermostOpHasTheWorkOnce) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  AddLinear(run, main, 0, 200'000);
  AddLinear(run, main, 1'000'000, 100'000);
  Analysis analysis = run.Finish();
  const RooflineFacts& facts = RooflineOf(analysis);
  ASSERT_EQ(facts.points.size(), 1u);
  const RooflinePoint& p = facts.points[0];
  EXPECT_EQ(analysis.data().Text(p.op), "aten::mm");
  EXPECT_EQ(p.calls, 2);
  EXPECT_EQ(p.measured_ns, 300'000);
  const double flops = 2 * 2.0 * 4096 * 2048 * 5632;
  const double bytes = 2 * 2.0 * (4096.0 * 2048 + 2048.0 * 5632 + 4096.0 * 5632);
  EXPECT_DOUBLE_EQ(*p.flops, flops);
  EXPECT_DOUBLE_EQ(*p.bytes, bytes);
  EXPECT_DOUBLE_EQ(*p.Tflops(), flops / 300'000 / 1e3);
  EXPECT_DOUBLE_EQ(*p.Gbps(), bytes / 300'000);
  EXPECT_EQ(p.bound, RooflineBound::kCompute);
  EXPECT_DOUBLE_EQ(*p.roof_ns, flops / 989e3);
  EXPECT_DOUBLE_EQ(*p.Efficiency(), flops / 989e3 / 300'000);
  EXPECT_EQ(facts.assessed_ns, 300'000);
  ASSERT_EQ(facts.kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(*facts.kernels[0].flops, flops);
}

TEST(Roofline, AMemoryBoundOpIsHeldAgainstTheBandwidth) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  run.Op(main, "aten::silu", 0, 50, "[[8,512,5632]]", R"(["c10::BFloat16"])");
  const RowId launch = run.Api(main, "cudaLaunchKernel", 10, 10);
  run.Kernel("silu", 7, 100, 50'000, launch);
  Analysis analysis = run.Finish();
  const RooflinePoint& p = RooflineOf(analysis).points.at(0);
  EXPECT_EQ(p.bound, RooflineBound::kMemory);
  EXPECT_DOUBLE_EQ(*p.roof_ns, 4.0 * 8 * 512 * 5632 / 4800);
  EXPECT_DOUBLE_EQ(*p.Ai(), 0.25);
}

TEST(Roofline, KernelsThatShareAnOpAreNotSplit) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  AddLinear(run, run.Thread("main"), 0, 100'000, 2);
  Analysis analysis = run.Finish();
  const RooflineFacts& facts = RooflineOf(analysis);
  ASSERT_EQ(facts.points.size(), 1u);
  EXPECT_EQ(facts.points[0].measured_ns, 200'000);
  EXPECT_TRUE(IsNull(facts.points[0].kernel));
  ASSERT_EQ(facts.kernels.size(), 2u);
  for (const RooflinePoint& k : facts.kernels) {
    EXPECT_FALSE(k.flops.has_value());
    EXPECT_EQ(k.reason, "its op launches several kernels");
  }
}

TEST(Roofline, WithoutPeaksThePointsStayAndSayWhy) {
  RunBuilder run;
  run.Device(0, "Unheard-of 9000");
  AddLinear(run, run.Thread("main"), 0, 100'000);
  Analysis analysis = run.Finish();
  const RooflineFacts& facts = RooflineOf(analysis);
  ASSERT_EQ(facts.points.size(), 1u);
  EXPECT_TRUE(facts.points[0].Tflops().has_value());
  EXPECT_FALSE(facts.points[0].Efficiency().has_value());
  EXPECT_NE(facts.points[0].reason.find("Unheard-of 9000"), std::string::npos);
  const RooflineSection section = SectionOf(facts, analysis.data());
  EXPECT_FALSE(section.points.at(0).efficiency);
  EXPECT_EQ(section.points.at(0).source, CostSource::kShapes);
  EXPECT_TRUE(section.peaks.empty());
}

TEST(Roofline, PeaksGivenByHandAreUsed) {
  RunBuilder run;
  run.Device(0, "Unheard-of 9000");
  AddLinear(run, run.Thread("main"), 0, 100'000);
  AnalysisOptions options;
  options.peaks = {{"peak_dram_gbps", 4000}, {"peak_tflops", 2000}};
  Analysis analysis = run.Finish(options);
  EXPECT_DOUBLE_EQ(*RooflineOf(analysis).points.at(0).roof_ns, 2.0 * 4096 * 2048 * 5632 / 2000e3);
}

TEST(Roofline, Tf32KernelsHaveTheirOwnPeak) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  run.Op(main, "aten::mm", 0, 50, "[[4096,4096],[4096,4096]]", R"(["float","float"])");
  const RowId launch = run.Api(main, "cudaLaunchKernel", 10, 10);
  run.Kernel("cutlass_80_tensorop_s1688gemm_128x128", 7, 100, 500'000, launch);
  Analysis analysis = run.Finish();
  EXPECT_EQ(RooflineOf(analysis).points.at(0).dtype, "tf32");
  EXPECT_DOUBLE_EQ(*RooflineOf(analysis).points.at(0).roof_ns, 2.0 * 4096 * 4096 * 4096 / 495e3);
}

TEST(Roofline, Tf32IsFoundBehindASplitKReduction) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  run.Op(main, "aten::mm", 0, 50, "[[1024,1024],[1024,2048]]", R"(["float","float"])");
  const RowId gemm = run.Api(main, "cudaLaunchKernel", 10, 10),
              reduce = run.Api(main, "cudaLaunchKernel", 25, 10);
  run.Kernel("cutlass_80_tensorop_s1688gemm_128x128", 7, 100, 50'000, gemm);
  run.Kernel("splitKreduce_kernel", 7, 60'000, 5'000, reduce);
  Analysis analysis = run.Finish();
  EXPECT_EQ(RooflineOf(analysis).points.at(0).dtype, "tf32");
}

TEST(Roofline, AFigureAboveThePeakIsNoEfficiency) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  // 64 KiB in a nanosecond: from the cache, if at all.
  run.Op(main, "aten::silu", 0, 50, "[[16384]]", R"(["c10::BFloat16"])");
  const RowId launch = run.Api(main, "cudaLaunchKernel", 10, 10);
  run.Kernel("silu", 7, 100, 1, launch);
  Analysis analysis = run.Finish();
  const RooflineFacts& facts = RooflineOf(analysis);
  EXPECT_TRUE(facts.points.at(0).AbovePeak());
  EXPECT_FALSE(facts.points.at(0).Efficiency());
  EXPECT_NE(facts.points.at(0).reason.find("faster than the memory allows"), std::string::npos);
  EXPECT_EQ(facts.assessed_ns, 0);
}

TEST(Roofline, CompiledPointwiseKernelsHaveAMemoryRoof) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  run.Op(main, "triton_poi_fused_add_mul_0", 0, 50, "[[4096,4096],[4096,4096],[]]",
         R"(["c10::BFloat16","float","Scalar"])");
  const RowId launch = run.Api(main, "cudaLaunchKernel", 10, 10);
  run.Kernel("triton_poi_fused_add_mul_0", 7, 100, 50'000, launch);
  Analysis analysis = run.Finish();
  const RooflinePoint& p = RooflineOf(analysis).points.at(0);
  EXPECT_FALSE(p.flops);
  EXPECT_EQ(p.bound, RooflineBound::kMemory);
  EXPECT_DOUBLE_EQ(*p.roof_ns, 6.0 * 4096 * 4096 / 4800);
}

TEST(Roofline, TypesThatWereNotRecordedComeFromTheKernel) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  run.Op(main, "aten::mm", 0, 50, "[[4096,4096],[4096,4096]]");
  const RowId launch = run.Api(main, "cudaLaunchKernel", 10, 10);
  run.Kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_cublas", 7, 100, 500'000, launch);
  run.Op(main, "aten::mm", 100, 50, "[[64,64],[64,64]]");
  const RowId second = run.Api(main, "cudaLaunchKernel", 110, 10);
  run.Kernel("my_kernel", 7, 600'000, 1'000, second);
  Analysis analysis = run.Finish();
  const RooflineFacts& facts = RooflineOf(analysis);
  EXPECT_DOUBLE_EQ(*facts.points.at(0).roof_ns, 2.0 * 4096 * 4096 * 4096 / 989e3);
  const RooflineSection section = SectionOf(facts, analysis.data());
  EXPECT_EQ(section.points.at(0).types_from, TypeSource::kKernelName);
  EXPECT_EQ(section.points.at(0).dtype, "bf16");
  EXPECT_FALSE(section.points.at(1).types_from);
  EXPECT_NE(section.points.at(1).reason->find("types of its inputs were not recorded"), std::string::npos);
}

TEST(Roofline, AnOpWithoutAFormulaIsListedWithoutNumbers) {
  RunBuilder run;
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  run.Op(main, "mine::moe", 0, 50, "[[888,3072]]", R"(["c10::BFloat16"])");
  const RowId launch = run.Api(main, "cudaLaunchKernel", 10, 10);
  run.Kernel("moe", 7, 100, 1000, launch);
  Analysis analysis = run.Finish();
  const RooflineFacts& facts = RooflineOf(analysis);
  EXPECT_FALSE(facts.points.at(0).flops.has_value());
  EXPECT_EQ(facts.points.at(0).reason, "no formula for this op");
  EXPECT_EQ(facts.assessed_ns, 0);
  EXPECT_FALSE(SectionOf(facts, analysis.data()).points.at(0).source);
}

}  // namespace
}  // namespace nl
