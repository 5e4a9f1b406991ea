// SPDX-License-Identifier: Apache-2.0
#include "base/median.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(Median, UpperAndLowerDifferForAnEvenNumberOnly) {
  std::vector<int64_t> odd{9, 1, 5}, even{4, 1, 3, 2}, none;
  EXPECT_EQ(UpperMedian(odd), 5);
  EXPECT_EQ(LowerMedian(odd), 5);
  EXPECT_EQ(UpperMedian(even), 3);
  EXPECT_EQ(LowerMedian(even), 2);
  EXPECT_EQ(UpperMedian(none), 0);
  EXPECT_EQ(LowerMedian(none), 0);
}

TEST(Median, AnyRankIsSelected) {
  std::vector<double> v{5, 3, 4, 1, 2};
  for (size_t rank = 0; rank < v.size(); ++rank) EXPECT_EQ(AtRank(v, rank), static_cast<double>(rank + 1));
}

}  // namespace
}  // namespace nl
