// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute/replay.h"

#include <gtest/gtest.h>

#include "testing/run_builder.h"

namespace nl::compare {
namespace {

using testing_analyze::RunBuilder;

// Operators of `host_ns` each, one kernel of `device_ns` each, launched by the last 1 us of the operator; a
// kernel starts 1 us after its launch or after the previous kernel.
void Loop(RunBuilder& run, int calls, int64_t host_ns, int64_t device_ns) {
  const ThreadId main = run.Thread("main");
  run.Device(0, "NVIDIA H200");
  int64_t now = 0, free = 0;
  for (int i = 0; i < calls; ++i) {
    run.Op(main, "aten::op" + std::to_string(i % 5), now, host_ns, "[[8,64]]", "[\"float\"]");
    const RowId launch = run.Api(main, "cudaLaunchKernel", now + host_ns - 1000, 1000);
    now += host_ns;
    const int64_t start = std::max(now + 1000, free);
    run.Kernel("kernel" + std::to_string(i % 5), 7, start, device_ns, launch);
    free = start + device_ns;
  }
  run.Api(main, "cudaDeviceSynchronize", now, std::max(free - now, int64_t{0}) + 2000);
}

struct Replayed {
  explicit Replayed(RunBuilder& builder) : run(builder.Finish()) {
    Result<CallSequence> built = BuildCallSequence(run);
    EXPECT_TRUE(built.ok());
    sequence = std::move(*built);
    replay = Replay::Make(sequence, GraphOf(run.data(), *run.facts().Find<TimelineFacts>()));
  }
  Analysis run;
  CallSequence sequence;
  std::unique_ptr<Replay> replay;
};

// Calls of one of the five operators.
std::vector<CallEdit> Every(const Replayed& r, const char* op, double device, double host) {
  std::vector<CallEdit> out;
  for (uint32_t i = 0; i < r.sequence.calls.size(); ++i) {
    if (r.sequence.Text(r.sequence.Type(i).op) == op) out.push_back({i, device, host});
  }
  return out;
}

TEST(Replay, NothingEditedCostsNothing) {
  RunBuilder run;
  Loop(run, 50, 10'000, 4'000);
  Replayed r(run);
  ASSERT_NE(r.replay, nullptr);
  EXPECT_EQ(r.replay->CostNs({}), 0);
  EXPECT_EQ(r.replay->CostNs(Every(r, "aten::op3", 1, 1)), 0);
}

TEST(Replay, WhereTheHostIsSlowerDeviceTimeIsHidden) {
  RunBuilder run;
  Loop(run, 50, 10'000, 4'000);
  Replayed r(run);
  ASSERT_NE(r.replay, nullptr);
  EXPECT_EQ(r.replay->CostNs(Every(r, "aten::op3", 0.5, 1)), 0);
  EXPECT_EQ(r.replay->CostNs(Every(r, "aten::op3", 1, 0.5)), 10 * 5'000);
  EXPECT_EQ(r.replay->CostNs(Every(r, "aten::op3", kRemoved, kRemoved)), 10 * 10'000);
}

TEST(Replay, WhereTheDeviceIsSlowerHostTimeIsHidden) {
  RunBuilder run;
  Loop(run, 50, 3'000, 8'000);
  Replayed r(run);
  ASSERT_NE(r.replay, nullptr);
  EXPECT_EQ(r.replay->CostNs(Every(r, "aten::op3", 1, 0.5)), 0);
  EXPECT_EQ(r.replay->CostNs(Every(r, "aten::op3", 0.5, 1)), 10 * 4'000);
  EXPECT_EQ(r.replay->CostNs(Every(r, "aten::op3", kRemoved, kRemoved)), 10 * 8'000);
}

TEST(Replay, ASlowerHostMakesHostTimeMoreExpensive) {
  RunBuilder run;
  Loop(run, 50, 10'000, 4'000);
  Replayed r(run);
  ASSERT_NE(r.replay, nullptr);
  EXPECT_NEAR(static_cast<double>(r.replay->CostNs(Every(r, "aten::op3", kRemoved, kRemoved), 1.2)),
              10 * 12'000.0, 100);
}

// The host waits 6 us for each kernel: without the waits it would be done before the device is.
TEST(Replay, RemovingAWaitLetsTheHostRunAhead) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Device(0, "NVIDIA H200");
  int64_t now = 0;
  for (int i = 0; i < 20; ++i) {
    run.Op(main, "aten::mm", now, 3'000);
    const RowId launch = run.Api(main, "cudaLaunchKernel", now + 2'000, 1'000);
    now += 3'000;
    run.Kernel("gemm", 7, now + 1'000, 5'000, launch);
    run.Api(main, "cudaStreamSynchronize", now, 8'000);  // returns 2 us after the kernel
    now += 8'000;
  }
  Replayed r(run);
  ASSERT_NE(r.replay, nullptr);
  std::vector<CallEdit> waits;
  for (uint32_t i = 0; i + 1 < r.sequence.calls.size(); ++i) {
    if (r.sequence.Type(i).kind == CallKind::kSync) waits.push_back({i, kRemoved, kRemoved});
  }
  ASSERT_EQ(waits.size(), 20u);
  // From 20 x 11 us to one launch and 20 kernels back to back.
  const int64_t cost = r.replay->CostNs(waits);
  EXPECT_GE(cost, 20 * 11'000 - (4'000 + 20 * 6'000));
  EXPECT_LE(cost, 20 * 11'000 - (4'000 + 20 * 5'000));
}

TEST(Replay, ARunWithoutDeviceWorkHasNone) {
  RunBuilder run;
  run.Op(run.Thread("main"), "aten::mm", 0, 3'000);
  Replayed r(run);
  EXPECT_EQ(r.replay, nullptr);
}

}  // namespace
}  // namespace nl::compare
