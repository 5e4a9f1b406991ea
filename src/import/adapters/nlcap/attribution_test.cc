// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nlcap/attribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace nl::adapters::nlcap {
namespace {

std::vector<Attribution> Of(std::vector<Execution> executions, std::vector<ReadingSpan> readings) {
  Attributor attributor(executions);
  std::vector<Attribution> all;
  for (const ReadingSpan& reading : readings) all.push_back(attributor.Next(reading));
  return all;
}

TEST(Attribution, AReadingInsideAnExecutionIsWhole) {
  const auto got = Of({{100, 200, 7}}, {{100, 150}, {150, 200}});
  ASSERT_EQ(got.size(), 2u);
  for (const Attribution& a : got) {
    EXPECT_EQ(a.fit, Fit::kWhole);
    EXPECT_EQ(a.execution, 0u);
    EXPECT_DOUBLE_EQ(a.busy, 1);
  }
}

TEST(Attribution, EdgesAreParts) {
  const auto got = Of({{100, 200, 7}}, {{80, 120}, {190, 230}, {200, 240}});
  EXPECT_EQ(got[0].fit, Fit::kPartly);
  EXPECT_DOUBLE_EQ(got[0].busy, 0.5);
  EXPECT_EQ(got[1].fit, Fit::kPartly);
  EXPECT_DOUBLE_EQ(got[1].busy, 0.25);
  EXPECT_EQ(got[2].fit, Fit::kIdle);
}

TEST(Attribution, AReadingOfTwoKernelsIsNobodys) {
  EXPECT_EQ(Of({{100, 150, 1}, {150, 200, 2}}, {{140, 160}})[0].fit, Fit::kMixed);
  EXPECT_EQ(Of({{100, 300, 1}, {150, 200, 2}}, {{140, 160}})[0].fit, Fit::kMixed);
  // Behind the end of the short one the long one has it to itself.
  EXPECT_EQ(Of({{100, 300, 1}, {150, 200, 2}}, {{200, 220}})[0].fit, Fit::kWhole);
}

TEST(Attribution, ExecutionsAtOnceAreNobodysInARowThePartsOfOne) {
  EXPECT_EQ(Of({{100, 200, 1}, {150, 250, 1}}, {{140, 160}})[0].fit, Fit::kMixed);
  const auto got = Of({{100, 110, 1}, {112, 122, 1}, {124, 134, 1}}, {{100, 134}});
  EXPECT_EQ(got[0].fit, Fit::kPartly);
  EXPECT_EQ(got[0].execution, 0u);
  EXPECT_DOUBLE_EQ(got[0].busy, 30.0 / 34);
}

TEST(Attribution, AReadingOutOfOrderIsNobodys) {
  EXPECT_EQ(Of({{100, 200, 1}}, {{150, 160}, {120, 130}})[1].fit, Fit::kMixed);
}

TEST(Attribution, NothingOfNothing) {
  EXPECT_TRUE(Of({}, {}).empty());
  EXPECT_EQ(Of({}, {{1, 2}})[0].fit, Fit::kIdle);
  EXPECT_EQ(Of({{5, 5, 1}}, {{1, 9}})[0].fit, Fit::kIdle);
  EXPECT_EQ(Of({{1, 9, 1}}, {{5, 5}})[0].busy, 0);
}

// The same said slowly: every nanosecond of the reading is looked at.
Attribution Slowly(const std::vector<Execution>& executions, const ReadingSpan& reading) {
  Attribution to;
  bool mixed = false;
  int64_t busy = 0;
  size_t executions_seen = 0;
  for (size_t i = 0; i < executions.size(); ++i) {
    if (std::max(executions[i].start_ns, reading.start_ns) >= std::min(executions[i].end_ns, reading.end_ns))
      continue;
    if (executions_seen++ == 0) to.execution = i;
    mixed = mixed || executions[i].kernel != executions[to.execution].kernel;
  }
  for (int64_t t = reading.start_ns; t < reading.end_ns; ++t) {
    const auto n = std::count_if(executions.begin(), executions.end(),
                                 [&](const Execution& e) { return e.start_ns <= t && t < e.end_ns; });
    mixed = mixed || n > 1;
    busy += n > 0 ? 1 : 0;
  }
  if (executions_seen == 0) return {};
  if (mixed) return {Fit::kMixed, 0, 0};
  const int64_t length = reading.end_ns - reading.start_ns;
  to.fit = executions_seen == 1 && busy == length ? Fit::kWhole : Fit::kPartly;
  to.busy = static_cast<double>(busy) / static_cast<double>(length);
  return to;
}

TEST(Attribution, AgreesWithTheSlowWayOnRandomTimelines) {
  std::mt19937 random(5);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Execution> executions;
    std::vector<ReadingSpan> readings;
    int64_t at = 0;
    const int64_t overlap = round % 3 == 0 ? 8 : 0;
    for (int i = 0; i < 20; ++i) {
      at += below(6);
      const int64_t length = below(20);
      executions.push_back({at, at + length, static_cast<uint32_t>(below(2))});
      at = std::max<int64_t>(at, at + length - below(overlap + 1));
    }
    std::stable_sort(executions.begin(), executions.end(),
                     [](const Execution& a, const Execution& b) { return a.start_ns < b.start_ns; });
    for (int64_t t = 0; t < at;) {
      const int64_t length = 1 + below(12);
      readings.push_back({t, t + length});
      t += length;
    }
    const auto fast = Of(executions, readings);
    for (size_t i = 0; i < readings.size(); ++i) {
      const Attribution slow = Slowly(executions, readings[i]);
      ASSERT_EQ(fast[i].fit, slow.fit) << round << " " << i;
      ASSERT_DOUBLE_EQ(fast[i].busy, slow.busy);
      if (slow.fit == Fit::kWhole || slow.fit == Fit::kPartly) ASSERT_EQ(fast[i].execution, slow.execution);
    }
  }
}

}  // namespace
}  // namespace nl::adapters::nlcap
