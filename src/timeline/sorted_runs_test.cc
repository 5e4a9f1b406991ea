// SPDX-License-Identifier: Apache-2.0
#include "timeline/sorted_runs.h"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace nl {
namespace {

constexpr auto kBefore = [](int a, int b) { return a < b; };

// `count` runs of the numbers below `size`, each in order: runs follow each other, or take turns.
std::vector<int> OfRuns(int size, int count, bool in_turns) {
  std::vector<int> out;
  for (int run = count - 1; run >= 0; --run) {
    for (int i = 0; i < size; ++i) {
      if ((in_turns ? i % count : i * count / size) == run) out.push_back(i);
    }
  }
  return out;
}

TEST(SortedRuns, AreMergedWhetherTheyFollowEachOtherOrTakeTurns) {
  for (const int size : {0, 1, 2, 3, 17, 1000}) {
    std::vector<int> wanted(static_cast<size_t>(size));
    std::iota(wanted.begin(), wanted.end(), 0);
    for (const int count : {1, 2, 3, 5, 16, 100, 999}) {
      for (const bool in_turns : {false, true}) {
        std::vector<int> values = OfRuns(size, count, in_turns);
        SortRuns(values, kBefore);
        EXPECT_EQ(values, wanted) << size << " in " << count << (in_turns ? ", in turns" : "");
      }
    }
  }
}

TEST(SortedRuns, OfRandomLengthsAreMerged) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> values(1 + random() % 2000);
    for (int& value : values) value = static_cast<int>(random() % 100'000);
    for (size_t from = 0; from < values.size();) {
      const size_t to = std::min(values.size(), from + 1 + random() % (1 + values.size() / 3));
      std::sort(values.begin() + static_cast<std::ptrdiff_t>(from),
                values.begin() + static_cast<std::ptrdiff_t>(to));
      from = to;
    }
    std::vector<int> wanted = values;
    std::sort(wanted.begin(), wanted.end());
    SortRuns(values, kBefore);
    ASSERT_EQ(values, wanted) << "round " << round;
  }
}

// What the merge is for: a run that has ended before the others begin costs one comparison a value.
TEST(SortedRuns, ThatFollowEachOtherCostOneComparisonAValue) {
  std::vector<int> values = OfRuns(100'000, 100, false);
  size_t comparisons = 0;
  SortRuns(values, [&comparisons](int a, int b) {
    ++comparisons;
    return a < b;
  });
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_LT(comparisons, 2.1 * 100'000) << "one to find the runs, one to merge them";
}

}  // namespace
}  // namespace nl
