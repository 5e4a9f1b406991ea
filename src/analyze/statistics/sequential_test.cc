// SPDX-License-Identifier: Apache-2.0
#include "analyze/statistics/sequential.h"

#include <cmath>

#include <gtest/gtest.h>

#include "analyze/statistics/seeded_random.h"
#include "analyze/statistics/stats.h"

namespace nl {
namespace {

enum class Noise { kNormal, kSpikes, kDrift, kTwoLevels };

// Log time of run `i`: what a loaded machine adds.
double LogNoise(Noise kind, SeededRandom& random, int i) {
  switch (kind) {
    case Noise::kNormal: return 0.01 * random.Normal();
    case Noise::kSpikes: return 0.005 * random.Normal() + (random.Unit() < 0.1 ? random.Exponential() : 0);
    case Noise::kDrift: return 0.01 * random.Normal() + 0.002 * i;
    case Noise::kTwoLevels: return 0.003 * random.Normal() + ((i / 37) % 2 == 0 ? 0.2 : 0);
  }
  return 0;
}

// True: "different" at some look, as a user who looks again and again would see it.
bool EverRejected(Noise kind, double effect, int pairs, uint64_t seed, SequentialEstimate* last = nullptr) {
  SeededRandom random(seed);
  SequentialRatio ratio(0.01, pairs, 0.01);
  bool rejected = false;
  for (int i = 0; i < pairs; ++i) {
    const bool a_first = random.Below(2) == 0;
    const double first = LogNoise(kind, random, 2 * i);
    const double second = LogNoise(kind, random, 2 * i + 1);
    ratio.Add((a_first ? first - second : second - first) + effect);  // A takes `effect` longer
    if (i % 4 == 3) rejected = rejected || ratio.PValue() <= 0.01;
  }
  const SequentialEstimate now = ratio.Now();
  EXPECT_EQ(now.p_value <= 0.01, now.low > 0 || now.high < 0)
      << now.low << " " << now.high << " " << now.p_value;
  if (last != nullptr) *last = now;
  return rejected;
}

TEST(Sequential, LookingAgainAndAgainKeepsFalseVerdictsBelowOnePercent) {
  for (const Noise kind : {Noise::kNormal, Noise::kSpikes, Noise::kDrift, Noise::kTwoLevels}) {
    int rejected = 0;
    constexpr int kTrials = 1500;
    for (int i = 0; i < kTrials; ++i)
      rejected += EverRejected(kind, 0, 120, 1000 + static_cast<uint64_t>(i)) ? 1 : 0;
    EXPECT_LE(rejected, kTrials / 100) << static_cast<int>(kind);
  }
}

TEST(Sequential, FindsAnEffectOfItsSizeAndCoversIt) {
  for (const Noise kind : {Noise::kNormal, Noise::kSpikes, Noise::kDrift}) {
    int found = 0;
    int covered = 0;
    constexpr int kTrials = 200;
    for (int i = 0; i < kTrials; ++i) {
      SequentialEstimate last;
      found += EverRejected(kind, 0.01, 200, 77 + static_cast<uint64_t>(i), &last) ? 1 : 0;
      covered += last.low <= 0.01 && 0.01 <= last.high ? 1 : 0;
    }
    EXPECT_GE(found, kTrials * 95 / 100) << static_cast<int>(kind);
    EXPECT_GE(covered, kTrials * 98 / 100) << static_cast<int>(kind);
  }
}

TEST(Sequential, ASlowdownIsNegative) {
  SequentialEstimate last;
  EXPECT_TRUE(EverRejected(Noise::kNormal, -0.2, 40, 5, &last));
  EXPECT_LT(last.high, 0);
  EXPECT_NEAR(last.log_ratio, -0.2, 0.01);
}

TEST(Sequential, ALargeDifferenceNeedsTenPairsAndNoFewer) {
  SequentialRatio ratio(0.01, 1000, 0.01);
  EXPECT_TRUE(std::isinf(ratio.Now().high));
  for (int64_t i = 1; i <= kLeastPairs; ++i) {
    ratio.Add(0.5 + 0.001 * static_cast<double>(i));
    const SequentialEstimate now = ratio.Now();
    EXPECT_EQ(now.p_value <= 0.01, i == kLeastPairs) << i << " " << now.p_value;
    EXPECT_EQ(std::isinf(now.low), i < kLeastPairs) << i;
  }
}

TEST(Sequential, EqualValuesHaveANarrowInterval) {
  SequentialRatio ratio(0.01, 50, 0);
  for (int i = 0; i < 50; ++i) ratio.Add(0.1);
  const SequentialEstimate now = ratio.Now();
  EXPECT_NEAR(now.log_ratio, 0.1, 1e-6);
  EXPECT_GT(now.low, 0.0);
}

}  // namespace
}  // namespace nl
