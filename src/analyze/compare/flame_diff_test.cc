// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/flame_diff.h"

#include <gtest/gtest.h>

#include "base/record_json.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

// An op of 100 ns with one kernel under its launch.
void OpWithKernel(RunBuilder& run, ThreadId thread, const std::string& op, const std::string& kernel,
                  int64_t at_ns, int64_t kernel_ns) {
  run.Op(thread, op, at_ns, 100);
  const RowId launch = run.Api(thread, "cudaLaunchKernel", at_ns + 10, 5);
  run.Kernel(kernel, 7, at_ns + 20, kernel_ns, launch);
}

const FlameDiffFrame* Find(const FlameDiffFrame& frame, const std::string& name) {
  if (frame.name == name) return &frame;
  for (const FlameDiffFrame& child : frame.children) {
    if (const FlameDiffFrame* found = Find(child, name)) return found;
  }
  return nullptr;
}

TEST(FlameDiff, FramesOfBothRunsAreMergedByPath) {
  RunBuilder run_a, run_b;
  const ThreadId a = run_a.Thread("main"), b = run_b.Thread("main");
  OpWithKernel(run_a, a, "aten::mm", "gemm", 0, 40);
  OpWithKernel(run_a, a, "aten::add", "add", 200, 10);
  OpWithKernel(run_b, b, "aten::mm", "gemm", 0, 70);
  OpWithKernel(run_b, b, "aten::copy_", "copy", 200, 5);
  Analysis first = run_a.Finish(), second = run_b.Finish();
  const FlameDiff flame = *DiffFlames(first, second);
  const FlameDiffFrame& device = flame.device.value();
  EXPECT_DOUBLE_EQ(device.a_ms, 50e-6);
  EXPECT_DOUBLE_EQ(device.b_ms, 75e-6);
  ASSERT_NE(Find(device, "gemm"), nullptr);
  EXPECT_DOUBLE_EQ(Find(device, "gemm")->a_ms, 40e-6);
  EXPECT_DOUBLE_EQ(Find(device, "gemm")->b_ms, 70e-6);
  EXPECT_DOUBLE_EQ(Find(device, "aten::add")->b_ms, 0);
  EXPECT_DOUBLE_EQ(Find(device, "aten::copy_")->a_ms, 0);
  EXPECT_EQ(device.children[0].name, "aten::mm") << "what differs most comes first";
  EXPECT_DOUBLE_EQ(Find(*flame.host, "aten::mm")->a_ms, 100e-6);
  EXPECT_EQ(Find(*flame.host, "gemm"), nullptr) << "kernels take no host time";
}

TEST(FlameDiff, SmallFramesAreLeftOutAndTheirTimeStaysAbove) {
  RunBuilder run;
  const ThreadId thread = run.Thread("main");
  OpWithKernel(run, thread, "aten::mm", "gemm", 0, 10'000);
  OpWithKernel(run, thread, "aten::tiny", "tiny", 20'000, 5);
  Analysis a = run.Finish();
  RunBuilder none;
  Analysis b = none.Finish();
  const FlameDiff flame = *DiffFlames(a, b);
  EXPECT_EQ(Find(*flame.device, "tiny"), nullptr);
  EXPECT_DOUBLE_EQ(flame.device->a_ms, 10'005e-6);
  EXPECT_DOUBLE_EQ(flame.device->b_ms, 0) << "an empty run is all zeros, not an error";
}

TEST(FlameDiff, RunsWithoutADeviceHaveNoDeviceTree) {
  RunBuilder run;
  run.Op(run.Thread("main"), "aten::mm", 0, 100);
  Analysis a = run.Finish();
  const FlameDiff flame = *DiffFlames(a, a);
  EXPECT_FALSE(flame.device);
  EXPECT_DOUBLE_EQ(flame.host->a_ms, 100e-6);
  EXPECT_DOUBLE_EQ(flame.host->b_ms, 100e-6);
}

TEST(FlameDiff, DeepStacksFitIntoJson) {
  RunBuilder run;
  const ThreadId thread = run.Thread("main");
  for (int i = 0; i < 1500; ++i) run.Python(thread, "f" + std::to_string(i), i, 10'000 - 2 * i);
  Analysis a = run.Finish();
  const FlameDiff flame = *DiffFlames(a, a);
  EXPECT_TRUE(ParseJson("{\"flame\": " + ToJsonText(flame) + "}").ok());
  EXPECT_NE(Find(*flame.host, "f150"), nullptr);
}

}  // namespace
}  // namespace nl
