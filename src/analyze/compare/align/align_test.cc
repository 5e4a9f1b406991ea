// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/align/align.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/statistics/seeded_random.h"

namespace nl::compare {
namespace {

// The costs that align.cc minimises: of an element without partner, and of a pair.
constexpr uint32_t kGap = 4, kNoPair = 1u << 20;
uint32_t PairCost(const Element& a, const Element& b) {
  if (a.exact == b.exact) return 0;
  if (a.kernel != 0 && a.kernel == b.kernel) return 1;
  if (a.loose == b.loose) return 2;
  return a.group != 0 && a.group == b.group ? 5 : kNoPair;
}

uint32_t CostOf(const std::vector<Match>& matches, const std::vector<Element>& a,
                const std::vector<Element>& b) {
  uint32_t sum = 0;
  for (const Match& m : matches) sum += m.a == kNone || m.b == kNone ? kGap : PairCost(a[m.a], b[m.b]);
  return sum;
}

// The whole table, as a textbook fills it.
uint32_t LeastCost(const std::vector<Element>& a, const std::vector<Element>& b) {
  std::vector<uint32_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<uint32_t>(j) * kGap;
  for (size_t i = 1; i <= a.size(); ++i) {
    uint32_t corner = row[0];
    row[0] = static_cast<uint32_t>(i) * kGap;
    for (size_t j = 1; j <= b.size(); ++j) {
      const uint32_t pair = corner + PairCost(a[i - 1], b[j - 1]);
      corner = row[j];
      row[j] = std::min({pair, row[j] + kGap, row[j - 1] + kGap});
    }
  }
  return row[b.size()];
}

// In order on both sides, and everything once.
void ExpectWhole(const std::vector<Match>& matches, size_t in_a, size_t in_b) {
  uint32_t a = 0, b = 0;
  for (const Match& m : matches) {
    ASSERT_FALSE(m.a == kNone && m.b == kNone);
    if (m.a != kNone) {
      ASSERT_EQ(m.a, a++);
    }
    if (m.b != kNone) {
      ASSERT_EQ(m.b, b++);
    }
  }
  EXPECT_EQ(a, in_a);
  EXPECT_EQ(b, in_b);
}

Element Plain(uint64_t name) { return {name, name, 0, 0}; }

std::vector<Element> Random(SeededRandom& random, uint32_t length, uint32_t names) {
  std::vector<Element> out;
  for (uint32_t i = 0; i < length; ++i) {
    Element e;
    e.loose = 1 + random.Below(names);
    e.exact = e.loose * 10 + random.Below(2);
    if (random.Below(3) == 0) e.kernel = 1 + random.Below(3);
    if (random.Below(3) == 0) e.group = 1 + random.Below(2);
    out.push_back(e);
  }
  return out;
}

TEST(AlignElements, CostsNoMoreThanTheWholeTable) {
  SeededRandom random(11);
  for (int round = 0; round < 400; ++round) {
    const uint32_t names = 1 + random.Below(12);
    const std::vector<Element> a = Random(random, random.Below(40), names),
                               b = Random(random, random.Below(40), names);
    const std::vector<Match> matches = AlignElements(a, b);
    ExpectWhole(matches, a.size(), b.size());
    EXPECT_EQ(CostOf(matches, a, b), LeastCost(a, b)) << "round " << round;
  }
}

// Two of these do not fit one table: they are cut at what is unique, or in the middle.
TEST(AlignElements, LongSequencesCostLittleMoreThanTheWholeTable) {
  SeededRandom random(12);
  for (const uint32_t names : {20u, 200u, 3000u}) {
    std::vector<Element> a;
    for (int i = 0; i < 4000; ++i) a.push_back(Plain(1 + random.Below(names)));
    std::vector<Element> b;
    for (const Element& e : a) {
      const uint32_t dice = random.Below(100);
      if (dice < 3) continue;
      if (dice < 6) b.push_back(Plain(10'000 + random.Below(50)));
      b.push_back(e);
    }
    const std::vector<Match> matches = AlignElements(a, b);
    ExpectWhole(matches, a.size(), b.size());
    EXPECT_LE(CostOf(matches, a, b), LeastCost(a, b) * 11 / 10) << names << " names";
  }
}

// Wide enough that a band is filled first, and that it does not always hold the best path.
TEST(AlignElements, ABandCostsNoMoreThanTheWholeTable) {
  SeededRandom random(14);
  for (int round = 0; round < 60; ++round) {
    const uint32_t names = 2 + random.Below(60);
    const std::vector<Element> a = Random(random, 1 + random.Below(500), names);
    std::vector<Element> b = a;
    const uint32_t edits = random.Below(3) == 0 ? 200 : random.Below(12);
    for (uint32_t i = 0; i < edits && !b.empty(); ++i) {
      const auto at = b.begin() + random.Below(static_cast<uint32_t>(b.size()));
      if (random.Below(2) == 0) {
        b.erase(at, std::min(b.end(), at + 1 + random.Below(40)));
      } else {
        const std::vector<Element> more = Random(random, 1 + random.Below(40), names);
        b.insert(at, more.begin(), more.end());
      }
    }
    const std::vector<Match> matches = AlignElements(a, b);
    ExpectWhole(matches, a.size(), b.size());
    EXPECT_EQ(CostOf(matches, a, b), LeastCost(a, b)) << "round " << round;
  }
}

// Another batch size changes every call and leaves the sequence as it is.
TEST(AlignElements, RangesThatChangedEverywhereAreCutAtChangedAnchors) {
  SeededRandom random(15);
  std::vector<Element> a, b;
  for (uint64_t i = 0; i < 30'000; ++i) {
    const uint64_t thing = 1 + i % 50 + (i % 1000 == 0 ? 1000 + i : 0);
    a.push_back({2 * thing, thing, 0, 0});
    if (random.Below(100) == 0) b.push_back(Plain(1'000'000 + random.Below(5)));
    b.push_back({2 * thing + 1, thing, 0, 0});
  }
  uint32_t paired = 0;
  const std::vector<Match> matches = AlignElements(a, b);
  ExpectWhole(matches, a.size(), b.size());
  for (const Match& m : matches)
    paired += m.a != kNone && m.b != kNone && a[m.a].loose == b[m.b].loose ? 1 : 0;
  EXPECT_EQ(paired, a.size());
}

TEST(AlignElements, TwoAgainstVeryMany) {
  for (const size_t many : {300'000u, 2'100'000u}) {
    const std::vector<Element> a(many, Plain(1)), b{Plain(2), Plain(3)};
    EXPECT_EQ(AlignElements(a, b).size(), a.size() + b.size());
    EXPECT_EQ(AlignElements(b, a).size(), a.size() + b.size());
  }
}

TEST(AlignElements, AnInsertionDoesNotMisalignTheRest) {
  SeededRandom random(13);
  for (const uint32_t length : {10u, 500u, 20'000u}) {
    std::vector<Element> a;
    for (uint32_t i = 0; i < length; ++i) a.push_back(Plain(1 + i % 37));
    for (int round = 0; round < 5; ++round) {
      const uint32_t at = random.Below(length), count = 1 + random.Below(5);
      std::vector<Element> b = a;
      b.insert(b.begin() + at, count, Plain(999));
      for (const Match& m : AlignElements(a, b)) {
        if (m.a == kNone) continue;
        ASSERT_EQ(m.b, m.a + (m.a >= at ? count : 0)) << length << " long, inserted at " << at;
      }
    }
  }
}

TEST(AlignElements, ReplacingBeatsDeletingAndInserting) {
  const std::vector<Element> a{Plain(1), {20, 2, 0, 0}, Plain(3), {40, 40, 0, 7}};
  const std::vector<Element> b{Plain(1), {21, 2, 0, 0}, Plain(3), {41, 41, 0, 7}};
  const std::vector<Match> matches = AlignElements(a, b);
  ASSERT_EQ(matches.size(), 4u) << "a pair each, no gap";
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(matches[i].a, i);
    EXPECT_EQ(matches[i].b, i);
  }
}

TEST(AlignElements, NothingInCommonPairsNothing) {
  std::vector<Element> a(3000, Plain(1)), b(2500, Plain(2));
  for (const Match& m : AlignElements(a, b)) ASSERT_TRUE(m.a == kNone || m.b == kNone);
}

TEST(AlignElements, ManyEqualElementsPairAllTheShorterHas) {
  const std::vector<Element> a(100'000, Plain(1)), b(99'990, Plain(1));
  const std::vector<Match> matches = AlignElements(a, b);
  ExpectWhole(matches, a.size(), b.size());
  EXPECT_EQ(matches.size(), a.size());
}

TEST(AlignElements, EmptySides) {
  EXPECT_TRUE(AlignElements({}, {}).empty());
  EXPECT_EQ(AlignElements({Plain(1)}, {}).size(), 1u);
  EXPECT_EQ(AlignElements({}, {Plain(1), Plain(2)}).size(), 2u);
}

}  // namespace
}  // namespace nl::compare
