// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/bench/profile_reply.h"
#include "ops/bench/sweep.h"

namespace nl {
namespace {

TEST(PairKernels, PairsByNameThenBySpellingThenByPlace) {
  const std::vector<NamedTime> a{{"ampere_sgemm_128x64_tn", 10, 5},
                                 {"void at::native::foo<float>(float*)", 4, 2},
                                 {"softmax_warp_forward", 3, 4},
                                 {"only_in_a", 1, 0.5}};
  const std::vector<NamedTime> b{{"ampere_sgemm_128x64_tn", 10, 4},
                                 {"foo<float>(float *)", 4, 1},
                                 {"flash_fwd_kernel", 1, 1},
                                 {"only_in_b", 2, 0.25}};
  const std::vector<BenchKernel> kernels = PairKernels(a, b, {{"softmax_warp_forward", "flash_fwd_kernel"}});
  const BenchPairing found = CountMatches(kernels);
  EXPECT_EQ(found.exact, 1);
  EXPECT_EQ(found.normalised, 1);
  EXPECT_EQ(found.structural, 1);
  EXPECT_EQ(found.unmatched_a, 1);
  EXPECT_EQ(found.unmatched_b, 1);
  ASSERT_EQ(kernels.size(), 5u);
  EXPECT_EQ(kernels[0].kernel_a, "softmax_warp_forward");  // the largest change first
  EXPECT_EQ(kernels[0].kernel_b, "flash_fwd_kernel");
  EXPECT_DOUBLE_EQ(kernels[0].delta_ms, -3);
  double delta_ms = 0;
  for (const BenchKernel& kernel : kernels) delta_ms += kernel.delta_ms;
  EXPECT_DOUBLE_EQ(delta_ms, (4 + 1 + 1 + 0.25) - (5 + 2 + 4 + 0.5));  // nothing is counted twice or lost
}

TEST(PairKernels, AFamilyWithOneKernelOnEachSideIsAPair) {
  const std::vector<NamedTime> a{{"ampere_sgemm_128x64_tn", 1, 5}};
  const std::vector<NamedTime> b{{"cutlass_80_tensorop_s1688gemm_128x128_tn", 1, 2},
                                 {"cutlass_80_tensorop_s1688gemm_64x64_tn", 1, 1}};
  EXPECT_EQ(CountMatches(PairKernels(a, {b[0]}, {})).structural, 1);
  EXPECT_EQ(CountMatches(PairKernels(a, b, {})).structural, 0) << "which of the two is not known";
}

TEST(PairCalls, SumsByNameAndKeepsBothSides) {
  const std::vector<BenchApiCall> calls =
      PairCalls({{"cudaLaunchKernel", 100, 5}}, {{"cudaGraphLaunch", 1, 1}, {"cudaLaunchKernel", 10, 0.5}});
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].name, "cudaLaunchKernel");
  EXPECT_EQ(calls[0].count_b, 10);
  EXPECT_DOUBLE_EQ(calls[0].delta_ms, -4.5);
  EXPECT_EQ(calls[1].count_a, 0);
}

TEST(Sweep, ThePointsAreAllCombinationsAndTheCommandHasTheirValues) {
  ops::bench::SweepConfig config;
  config.command = "run --batch={batch} '{batch} of {kind}'";
  config.grid = {{"batch", {"1", "8"}}, {"kind", {"a b", "c", "d"}}};
  const auto points = ops::bench::PointsOf(config);
  ASSERT_EQ(points.size(), 6u);
  EXPECT_EQ(points[1].at("batch"), "1");
  EXPECT_EQ(points[1].at("kind"), "c");
  const auto words = ops::bench::CommandAt(config, points[3]);
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(*words,
            (std::vector<std::string>{"run", "--batch=8", "8 of a b"}));  // a value is never two words
  config.command = "echo {batch} | tee {kind}";
  EXPECT_FALSE(ops::bench::CommandAt(config, points[3]).ok()) << "a shell would make two words of 'a b'";
  EXPECT_TRUE(ops::bench::CommandAt(config, points[4]).ok());
  config.grid.push_back({"unused", {"1"}});
  EXPECT_FALSE(ops::bench::CommandAt(config, ops::bench::PointsOf(config)[0]).ok());
}

}  // namespace
}  // namespace nl
