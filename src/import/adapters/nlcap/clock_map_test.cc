// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nlcap/clock_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

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

// Pairs as an H200 gives them (60 to 110 ns wide, every 250 ms), a rate that wanders by some ppm, and CUPTI
// away for ten minutes at a time: what is recorded between stays within a microsecond, and within the bound.
TEST(ClockMap, AnHourWithGapsStaysWithinAMicrosecond) {
  std::mt19937 random(3);
  const auto noise = [&](double most) { return std::uniform_real_distribution<double>(-most, most)(random); };
  ClockMap map;
  std::vector<std::pair<int64_t, int64_t>> events;  // gpu, host
  double gpu_ns = 5e9, ppm = 20;
  constexpr int64_t kStepNs = 10'000'000;
  for (int64_t host_ns = 0; host_ns < 3600 * kSecond; host_ns += kStepNs) {
    // 20 ppm and a few more as it gets warm, and a wandering on top.
    ppm += noise(0.002) + 3e-5 * std::cos(static_cast<double>(host_ns) / 3e11);
    gpu_ns += static_cast<double>(kStepNs) * (1 + ppm * 1e-6);
    const auto gpu = static_cast<int64_t>(gpu_ns);
    const bool away = host_ns / (600 * kSecond) % 2 == 1;
    if (away) continue;
    if (host_ns % (kSecond / 4) == 0) {
      // The GPU was read somewhere between the two readings of the host's.
      const auto before_ns = static_cast<int64_t>(42 + noise(12)),
                 after_ns = static_cast<int64_t>(42 + noise(12));
      ASSERT_TRUE(map.Add(gpu, host_ns - before_ns, host_ns + after_ns));
    }
    if (random() % 16 == 0) events.emplace_back(gpu, host_ns);
  }
  map.Fit(0);
  std::vector<int64_t> errors;
  for (const auto& [gpu, host_ns] : events) errors.push_back(std::abs(*map.ToHost(gpu) - host_ns));
  std::sort(errors.begin(), errors.end());
  ASSERT_GT(errors.size(), 10'000u);
  EXPECT_LT(errors[errors.size() * 99 / 100], 1000);
  EXPECT_LT(map.error_bound_ns(), 1000);
  EXPECT_LE(errors.back(), map.error_bound_ns());
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
