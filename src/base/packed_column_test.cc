// SPDX-License-Identifier: Apache-2.0
#include "base/packed_column.h"

#include <gtest/gtest.h>

#include <random>

namespace nl {
namespace {

void ExpectRoundTrip(const std::vector<int64_t>& values) {
  PackedColumn column;
  for (const int64_t v : values) column.Add(v);
  ASSERT_EQ(column.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(column.At(i), values[i]) << "row " << i;
  for (size_t i = values.size(); i-- > 0;) ASSERT_EQ(column.At(i), values[i]) << "row " << i << ", backwards";
}

TEST(PackedColumn, GivesBackWhatItWasGiven) {
  std::mt19937_64 random(3);
  for (const int bits : {0, 1, 7, 8, 31, 32, 33, 63, 64}) {
    std::vector<int64_t> values;
    for (int i = 0; i < 3000; ++i) {
      const uint64_t v = bits == 0 ? 5 : random() >> (64 - bits);
      values.push_back(i % 17 == 3 ? PackedColumn::kNull : static_cast<int64_t>(v));
    }
    ExpectRoundTrip(values);
  }
}

TEST(PackedColumn, TakesTheExtremes) {
  std::vector<int64_t> values;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(i % 3 == 0 ? INT64_MAX : i % 3 == 1 ? INT64_MIN + 1 : PackedColumn::kNull);
  }
  ExpectRoundTrip(values);
}

TEST(PackedColumn, AllNullIsAllNull) { ExpectRoundTrip(std::vector<int64_t>(600, PackedColumn::kNull)); }

TEST(PackedColumn, IdsThatRiseByOneCostUnderAByteEach) {
  PackedColumn column;
  for (int64_t i = 0; i < 100000; ++i) column.Add(1000000 + i);
  EXPECT_LT(column.bytes(), 100000u);
  EXPECT_TRUE(column.rising());
}

TEST(PackedColumn, KnowsWhenIdsDoNotRise) {
  PackedColumn column;
  for (int64_t i = 0; i < 512; ++i) column.Add(i == 300 ? 5 : i);
  EXPECT_FALSE(column.rising());
}

}  // namespace
}  // namespace nl
