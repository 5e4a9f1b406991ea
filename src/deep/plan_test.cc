// SPDX-License-Identifier: Apache-2.0
#include "deep/plan.h"

#include <gtest/gtest.h>

#include "testing/run_builder.h"

namespace nl::deep {
namespace {

using testing_analyze::RunBuilder;

// Requests of a prefill and two decode steps; every kernel of the first request takes three times as long.
class Requests {
 public:
  Requests() {
    run_.Device(0, "NVIDIA H200");
    main_ = run_.Thread("main");
  }

  // `gemms` kernels "gemm" of 400 us in the prefill, one "head" of 100 us; per step one "gemv" of 50 us.
  void Add(int64_t gemms) {
    const int64_t slow = requests_++ == 0 ? 3 : 1, began = now_;
    run_.Range(main_, "LLM@prefill", now_, gemms * 1000 + 2000);
    for (int64_t i = 0; i < gemms; ++i) Kernel("gemm", 64, slow * 400'000);
    Kernel("head", 8, slow * 100'000);
    now_ = began + gemms * 1000 + 3000;
    for (int step = 0; step < 2; ++step) {
      run_.Range(main_, "LLM@decode_step", now_, 1000);
      Kernel("gemv", 2, slow * 50'000);
      now_ += 1500;
    }
    run_.Range(main_, "LLM@request", began, now_ - began);
    // The device is done before the next request.
    now_ = std::max(now_, device_ns_) + 1000;
  }

  // Three launches of one function and grid: two shapes of one kernel and another instance of the template.
  void AddTurns() {
    const int64_t slow = requests_++ == 0 ? 3 : 1;
    run_.Range(main_, "LLM@prefill", now_, 3000);
    Kernel("void work<mul>(float*)", 64, slow * 400'000, "[[64]]");
    Kernel("void work<mul>(float*)", 64, slow * 100'000, "[[16]]");
    Kernel("void work<add>(float*)", 64, slow * 90'000, "[[16]]");
    now_ = std::max(now_ + 3000, device_ns_) + 1000;
  }

  DeepPlan Plan(int64_t top_n) {
    Analysis analysis = run_.Finish();
    const Result<DeepPlan> plan = MakePlan(analysis, "id", top_n);
    EXPECT_TRUE(plan.ok()) << plan.error().ToString();
    return plan.ok() ? *plan : DeepPlan();
  }

 private:
  void Kernel(const std::string& name, int32_t grid, int64_t dur_ns, const std::string& shapes = "") {
    const RowId op = shapes.empty() ? RowId::kNull : run_.Op(main_, "aten::work", now_ + 50, 300, shapes);
    const RowId api = run_.Api(main_, "cudaLaunchKernel", now_ + 100, 100, op);
    device_ns_ = std::max(device_ns_, now_ + 300);
    run_.Kernel(name, 7, device_ns_, dur_ns, api);
    device_ns_ += dur_ns;
    auto& kernels = run_.data().kernel;
    kernels.grid_x.back() = grid;
    kernels.grid_y.back() = kernels.grid_z.back() = 1;
    kernels.block_x.back() = 128;
    kernels.block_y.back() = kernels.block_z.back() = 1;
    now_ += 500;
  }

  RunBuilder run_;
  ThreadId main_{};
  int64_t requests_ = 0, now_ = 1000, device_ns_ = 0;
};

const PlanKernel& KernelOf(const DeepPlan& plan, const std::string& name) {
  for (const PlanKernel& kernel : plan.kernels) {
    if (kernel.kernel == name) return kernel;
  }
  static const PlanKernel none;
  ADD_FAILURE() << name << " is not in the plan";
  return none;
}

TEST(Plan, TheKernelsWithTheMostTimeOfEveryStageAreTaken) {
  Requests requests;
  for (int i = 0; i < 6; ++i) requests.Add(4);
  const DeepPlan plan = requests.Plan(1);
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].name, "prefill");
  EXPECT_EQ(plan.stages[0].groups, 2);
  EXPECT_EQ(plan.stages[0].selected, 1);
  EXPECT_EQ(plan.stages[1].name, "decode_step");
  ASSERT_EQ(plan.kernels.size(), 2u);
  EXPECT_EQ(plan.kernels[0].kernel, "gemm");
  EXPECT_EQ(plan.kernels[0].launches, 24);
  EXPECT_NEAR(plan.kernels[0].total_ms, 4 * 0.4 * (5 + 3), 1e-9);
  EXPECT_EQ(plan.kernels[1].kernel, "gemv");
  EXPECT_EQ(plan.kernels[1].launches, 12);
  EXPECT_NEAR(plan.device_ms, 4 * 0.4 * 8 + 0.1 * 8 + 2 * 0.05 * 8, 1e-9);
}

TEST(Plan, TheLaunchAfterTheWarmUpIsMeasured) {
  Requests requests;
  for (int i = 0; i < 6; ++i) requests.Add(1);
  const DeepPlan plan = requests.Plan(10);
  ASSERT_EQ(plan.kernels.size(), 3u);
  ASSERT_EQ(plan.launch_numbers.size(), 1u) << "one is good for all";
  EXPECT_GT(plan.launch_numbers[0], 1);
  EXPECT_LE(plan.launch_numbers[0], 6) << "a launch that every kernel has";
  for (const PlanKernel& kernel : plan.kernels) {
    EXPECT_TRUE(kernel.suitable) << kernel.kernel;
    EXPECT_TRUE(kernel.same_shapes);
    EXPECT_NEAR(kernel.launch_ms, kernel.median_ms, 1e-9);
    EXPECT_GT(kernel.warmup_launches, 0);
  }
  EXPECT_NEAR(KernelOf(plan, "head").median_ms, 0.1, 1e-9);
  EXPECT_EQ(plan.measured_launches, 3);
}

TEST(Plan, ARareKernelHasANumberOfItsOwn) {
  Requests requests;
  for (int i = 0; i < 3; ++i) requests.Add(8);
  const DeepPlan plan = requests.Plan(10);
  // Three launches of "head" in all; the first eight of "gemm" are those of the slow request.
  ASSERT_EQ(plan.launch_numbers.size(), 2u);
  EXPECT_LE(plan.launch_numbers[0], 3);
  EXPECT_GT(plan.launch_numbers[1], 8);
  for (const PlanKernel& kernel : plan.kernels) {
    EXPECT_TRUE(kernel.same_shapes) << kernel.kernel;
    EXPECT_NEAR(kernel.launch_ms, kernel.median_ms, 1e-9) << kernel.kernel;
  }
  EXPECT_EQ(KernelOf(plan, "head").launch_number, plan.launch_numbers[0]);
  EXPECT_EQ(KernelOf(plan, "gemm").launch_number, plan.launch_numbers[1]);
  // "gemm", "head" and "gemv" have three launches, "gemm" alone has nine.
  EXPECT_EQ(plan.measured_launches, 4);
}

TEST(Plan, KernelsOfOneGridThatTakeTurnsAreEachMeasured) {
  Requests requests;
  for (int i = 0; i < 4; ++i) requests.AddTurns();
  const DeepPlan plan = requests.Plan(10);
  ASSERT_EQ(plan.kernels.size(), 3u);
  // ncu counts both instances of the template together: long, short, add, long, short, add, ...
  for (const PlanKernel& kernel : plan.kernels) {
    ASSERT_TRUE(kernel.launch_number.has_value());
    EXPECT_TRUE(kernel.suitable) << kernel.name;
    EXPECT_GT(*kernel.launch_number, 3) << "after the warm-up";
  }
  EXPECT_EQ(plan.launch_numbers.size(), 3u);
  const auto turn_of = [&](size_t k) { return (*plan.kernels[k].launch_number - 1) % 3; };
  EXPECT_EQ(turn_of(0), 0) << "the long one has the most time";
  EXPECT_EQ(turn_of(1), 1);
  EXPECT_EQ(turn_of(2), 2);
}

TEST(Plan, NothingIsSkippedWhereARunHasOneRequest) {
  Requests requests;
  requests.Add(1);
  const DeepPlan plan = requests.Plan(10);
  // The second of the two steps is after the first.
  EXPECT_EQ(plan.launch_numbers, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(KernelOf(plan, "head").launch_number, 1);
  EXPECT_EQ(KernelOf(plan, "gemv").launch_number, 2);
  EXPECT_EQ(KernelOf(plan, "head").warmup_launches, 0);
  EXPECT_NE(KernelOf(plan, "head").warmup.find("nothing is skipped"), std::string::npos);
}

}  // namespace
}  // namespace nl::deep
