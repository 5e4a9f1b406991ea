// SPDX-License-Identifier: Apache-2.0
#include "analyze/statistics/change_points.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analyze/statistics/seeded_random.h"

namespace nl {
namespace {

using Values = std::vector<double>;

// Levels with 1 % of noise, `n` runs each.
Values History(SeededRandom& random, const std::vector<std::pair<int, double>>& levels) {
  Values v;
  for (const auto& [n, level] : levels) {
    for (int i = 0; i < n; ++i) v.push_back(level * (1 + 0.01 * random.Normal()));
  }
  return v;
}

TEST(ChangePoints, FindsEveryLevel) {
  SeededRandom random(1);
  const auto found = FindChangePoints(History(random, {{30, 100}, {25, 108}, {40, 103}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(static_cast<double>(found[0].index), 30, 1);
  EXPECT_NEAR(static_cast<double>(found[1].index), 55, 1);
  EXPECT_NEAR(found[0].before_median, 100, 1);
  EXPECT_NEAR(found[0].after_median, 108, 1);
  EXPECT_NEAR(found[0].change, 0.08, 0.01);
  EXPECT_NEAR(found[1].after_median, 103, 1);
  EXPECT_LE(found[0].p_value, 0.01);
}

TEST(ChangePoints, FindsARiseFollowedByAFall) {
  SeededRandom random(2);
  const auto found = FindChangePoints(History(random, {{60, 100}, {8, 106}, {52, 100}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(static_cast<double>(found[0].index), 60, 1);
  EXPECT_NEAR(static_cast<double>(found[1].index), 68, 1);
}

TEST(ChangePoints, AnOutlierIsNotAChange) {
  SeededRandom random(3);
  for (int round = 0; round < 20; ++round) {
    Values v = History(random, {{40, 100}});
    v[static_cast<size_t>(random.Below(40))] *= 2;
    EXPECT_TRUE(FindChangePoints(v).empty()) << round;
  }
}

TEST(ChangePoints, RarelyFindsOneInCorrelatedNoise) {
  SeededRandom random(4);
  int independent = 0;
  int drifting = 0;
  for (int round = 0; round < 150; ++round) {
    independent += !FindChangePoints(History(random, {{60, 100}})).empty();
    Values v;
    double wander = random.Normal();
    for (int i = 0; i < 100; ++i) {
      wander = 0.4 * wander + std::sqrt(1 - 0.16) * random.Normal();
      v.push_back(100 + wander);
    }
    drifting += !FindChangePoints(v).empty();
  }
  EXPECT_LE(independent, 6);  // 1.5 expected at 1 %
  EXPECT_LE(drifting, 15);    // without blocks it is one history in seven: 21
}

TEST(ChangePoints, FindsALargeChangeInTheLastRuns) {
  SeededRandom random(5);
  const auto found = FindChangePoints(History(random, {{40, 100}, {4, 115}}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 40);
}

TEST(ChangePoints, HostileInputHasNone) {
  const double nan = std::nan("");
  EXPECT_TRUE(FindChangePoints({}).empty());
  EXPECT_TRUE(FindChangePoints(Values{1}).empty());
  EXPECT_TRUE(FindChangePoints(Values{1, 2}).empty());
  EXPECT_TRUE(FindChangePoints(Values(50, 3.0)).empty());
  EXPECT_TRUE(FindChangePoints(Values(50, nan)).empty());
  // Indexes count what was passed over; a base of zero has no relative change.
  Values v(20, 0.0);
  v.resize(40, 5.0);
  v.insert(v.begin(), nan);
  const auto found = FindChangePoints(v);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 21);
  EXPECT_TRUE(std::isnan(found[0].change));
}

TEST(ChangePoints, LongHistoriesKeepTheirEnd) {
  SeededRandom random(6);
  const auto found = FindChangePoints(History(random, {{2800, 100}, {200, 104}}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(static_cast<double>(found[0].index), 2800, 1);
}

}  // namespace
}  // namespace nl
