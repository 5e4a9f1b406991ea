// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nlcap/clock_map.h"

#include <gtest/gtest.h>

namespace nl::adapters::nlcap {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(ClockMap, OneClockAheadOfTheOther) {
  ClockMap map;
  for (int64_t i = 1; i <= 10; ++i)
    ASSERT_TRUE(map.Add(i * kSecond + 5000, i * kSecond - 100, i * kSecond + 100));
  map.Fit(0);
  EXPECT_EQ(map.ToHost(3 * kSecond + 5000), 3 * kSecond);
  EXPECT_EQ(map.ToHost(3 * kSecond + 5007), 3 * kSecond + 7);
  EXPECT_EQ(map.ToHost(20 * kSecond + 5000), 20 * kSecond);
  EXPECT_EQ(map.ToHost(kSecond / 2), kSecond / 2 - 5000);
  EXPECT_EQ(map.error_bound_ns(), 100);
  EXPECT_NEAR(*map.drift_ppm(), 0, 1e-9);
}

TEST(ClockMap, FollowsADriftThatChanges) {
  ClockMap map;
  // 10 ppm fast for 10 s, then 30 ppm: between the pairs the map is exact.
  int64_t gpu_ns = kSecond;
  for (int64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(map.Add(gpu_ns, i * kSecond, i * kSecond));
    gpu_ns += kSecond + (i < 10 ? 10'000 : 30'000);
  }
  map.Fit(0);
  EXPECT_EQ(map.ToHost(kSecond + kSecond / 2 + 5'000), kSecond / 2);
  EXPECT_LE(map.error_bound_ns(), 10'001);
  EXPECT_GE(map.error_bound_ns(), 9'000);  // at the bend the pairs stray by half of 20 ppm
}

TEST(ClockMap, InterruptedAndImpossiblePairsAreLeftOut) {
  ClockMap map;
  for (int64_t i = 1; i <= 9; ++i) ASSERT_TRUE(map.Add(i * kSecond, i * kSecond - 50, i * kSecond + 50));
  ASSERT_TRUE(map.Add(5 * kSecond + kSecond / 2, 5 * kSecond, 7 * kSecond));  // wide
  ASSERT_TRUE(map.Add(6 * kSecond + kSecond / 2, 100, 110));                  // goes back in time
  EXPECT_FALSE(map.Add(kSecond, 10, 5));
  EXPECT_FALSE(map.Add(INT64_MAX, 1, 2));
  map.Fit(0);
  EXPECT_EQ(map.pairs(), 9u);
  EXPECT_EQ(map.error_bound_ns(), 50);
}

TEST(ClockMap, WithoutPairsTheOffsetGivenCounts) {
  ClockMap map;
  map.Fit(-7);
  EXPECT_FALSE(map.calibrated());
  EXPECT_EQ(map.ToHost(100), 93);
  EXPECT_EQ(map.ToHost(INT64_MIN), std::nullopt);
}

}  // namespace
}  // namespace nl::adapters::nlcap
