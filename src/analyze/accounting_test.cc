// SPDX-License-Identifier: Apache-2.0
#include "analyze/accounting.h"

#include <gtest/gtest.h>

#include <random>

namespace nl {
namespace {

// Every nanosecond asked by itself: slow and obvious.
DeviceTime CountByNanosecond(const std::vector<WorkInterval>& work, int64_t wall_ns) {
  DeviceTime out;
  out.wall_ns = wall_ns;
  for (int64_t t = 0; t < wall_ns; ++t) {
    bool on[kWorkClasses] = {};
    for (const WorkInterval& w : work) {
      if (t >= w.start_ns && t < w.end_ns) on[static_cast<size_t>(w.work)] = true;
    }
    const int classes = on[0] + on[1] + on[2];
    out.compute_ns += on[0];
    out.communication_ns += on[1];
    out.memory_ns += on[2];
    out.busy_ns += classes > 0;
    out.overlap_ns += classes > 1;
  }
  return out;
}

TEST(Accounting, AgreesWithCountingEveryNanosecond) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<WorkInterval> work;
    const int n = static_cast<int>(random() % 12);
    for (int i = 0; i < n; ++i) {
      const auto start = static_cast<int64_t>(random() % 80);
      work.push_back(
          {start, start + static_cast<int64_t>(random() % 20), static_cast<WorkClass>(random() % 3)});
    }
    const DeviceTime expected = CountByNanosecond(work, 100);
    const DeviceTime found = AccountDevice(work, 100);
    EXPECT_EQ(found.busy_ns, expected.busy_ns);
    EXPECT_EQ(found.compute_ns, expected.compute_ns);
    EXPECT_EQ(found.communication_ns, expected.communication_ns);
    EXPECT_EQ(found.memory_ns, expected.memory_ns);
    EXPECT_EQ(found.overlap_ns, expected.overlap_ns);
    EXPECT_EQ(found.busy_ns + found.idle_ns(), 100);
  }
}

TEST(Accounting, APauseIsNeitherBusyNorIdle) {
  // What ran on into a pause is known to have run.
  const DeviceTime time =
      AccountDevice({{0, 30, WorkClass::kCompute}, {80, 90, WorkClass::kMemory}}, 100, {{20, 60}, {95, 100}});
  EXPECT_EQ(time.busy_ns, 40);
  EXPECT_EQ(time.paused_ns, 35);
  EXPECT_EQ(time.idle_ns(), 25);
  EXPECT_DOUBLE_EQ(time.Utilization().value(), 40.0 / 65);
  EXPECT_FALSE(AccountDevice({}, 10, {{0, 10}}).Utilization());
}

TEST(Accounting, ConcurrentKernelsCountOnce) {
  const DeviceTime time = AccountDevice({{0, 10, WorkClass::kCompute}, {5, 12, WorkClass::kCompute}}, 20);
  EXPECT_EQ(time.busy_ns, 12);
  EXPECT_EQ(time.compute_ns, 12);
  EXPECT_EQ(time.overlap_ns, 0);
  EXPECT_EQ(time.idle_ns(), 8);
}

}  // namespace
}  // namespace nl
