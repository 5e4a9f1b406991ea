// SPDX-License-Identifier: Apache-2.0
#include "base/intervals.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace nl {
namespace {

TEST(UnionNs, AddsWhatIsApartAndMergesWhatOverlaps) {
  EXPECT_EQ(UnionNs({}), 0);
  EXPECT_EQ(UnionNs({{5, 10}}), 5);
  EXPECT_EQ(UnionNs({{5, 10}, {20, 30}}), 15);
  EXPECT_EQ(UnionNs({{5, 10}, {8, 12}}), 7);
  EXPECT_EQ(UnionNs({{5, 10}, {10, 12}}), 7);
  EXPECT_EQ(UnionNs({{0, 100}, {10, 20}, {30, 40}}), 100);
  EXPECT_EQ(UnionNs({{20, 30}, {5, 10}, {5, 5}}), 15);
  EXPECT_EQ(UnionNs({{-10, -5}, {-7, 3}}), 13);
}

TEST(MergeIntervals, LeavesDisjointIntervalsInOrder) {
  std::vector<Interval> v = {{20, 30}, {1, 5}, {4, 8}, {8, 9}, {40, 41}};
  MergeIntervals(v);
  ASSERT_EQ(v.size(), 3u);
  EXPECT_EQ(v[0].start_ns, 1);
  EXPECT_EQ(v[0].end_ns, 9);
  EXPECT_EQ(v[2].start_ns, 40);
}

TEST(UnionNs, AgreesWithCountingEveryNanosecond) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> v;
    std::set<int64_t> covered;
    for (size_t i = random() % 12; i > 0; --i) {
      const int64_t start = random() % 60, end = start + random() % 20;
      v.push_back({start, end});
      for (int64_t t = start; t < end; ++t) covered.insert(t);
    }
    ASSERT_EQ(UnionNs(v), static_cast<int64_t>(covered.size()));
  }
}

TEST(Outside, AgreesWithCountingEveryNanosecond) {
  std::mt19937 random(6);
  for (int round = 0; round < 500; ++round) {
    std::vector<Interval> a, b;
    std::set<int64_t> expected;
    for (std::vector<Interval>* list : {&a, &b}) {
      for (size_t i = random() % 8; i > 0; --i) {
        const int64_t start = random() % 60, end = start + 1 + random() % 15;
        list->push_back({start, end});
        for (int64_t t = start; t < end; ++t) {
          if (list == &a)
            expected.insert(t);
          else
            expected.erase(t);
        }
      }
      MergeIntervals(*list);
    }
    const std::vector<Interval> out = Outside(a, b);
    std::set<int64_t> found;
    for (const Interval& i : out) {
      ASSERT_LT(i.start_ns, i.end_ns);
      for (int64_t t = i.start_ns; t < i.end_ns; ++t) ASSERT_TRUE(found.insert(t).second);
    }
    ASSERT_EQ(found, expected);
    ASSERT_EQ(LengthNs(out), static_cast<int64_t>(expected.size()));
  }
}

TEST(IntervalCover, AgreesWithCountingEveryNanosecond) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Interval> v;
    std::set<int64_t> covered;
    for (size_t i = random() % 10; i > 0; --i) {
      const int64_t start = random() % 60, end = start + 1 + random() % 15;
      v.push_back({start, end});
      for (int64_t t = start; t < end; ++t) covered.insert(t);
    }
    const IntervalCover cover(v);
    for (int64_t from = -2; from < 80; from += 5) {
      const auto next = covered.lower_bound(from);
      ASSERT_EQ(cover.NextNs(from), next == covered.end() ? INT64_MAX : *next);
      for (int64_t to = from - 1; to < 80; to += 3) {
        const auto counted = to <= from ? 0 : std::distance(next, covered.lower_bound(to));
        ASSERT_EQ(cover.CoveredNs(from, to), counted) << from << " to " << to;
      }
    }
  }
}

}  // namespace
}  // namespace nl
