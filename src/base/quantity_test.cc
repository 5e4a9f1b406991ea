// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(Quantity, SharesInPercentOrAsFractions) {
  EXPECT_DOUBLE_EQ(*ParseShare("--x", "0.5%", "0.5%"), 0.005);
  EXPECT_DOUBLE_EQ(*ParseShare("--x", "2 %", "0.5%"), 0.02);
  EXPECT_DOUBLE_EQ(*ParseShare("--x", "0.02", "0.5%"), 0.02);
  for (const char* bad : {"", "%", "2", "0", "-1%", "100%", "1x", "nan"})
    EXPECT_FALSE(ParseShare("--x", bad, "2%").ok()) << bad;
}

TEST(Quantity, Durations) {
  EXPECT_DOUBLE_EQ(*ParseSeconds("--x", "20s"), 20);
  EXPECT_DOUBLE_EQ(*ParseSeconds("--x", "500ms"), 0.5);
  EXPECT_DOUBLE_EQ(*ParseSeconds("--x", "2min"), 120);
  EXPECT_DOUBLE_EQ(*ParseSeconds("--x", "1.5"), 1.5);
  for (const char* bad : {"", "s", "0s", "-1s", "1d", "nan", "inf"})
    EXPECT_FALSE(ParseSeconds("--x", bad).ok()) << bad;
}

}  // namespace
}  // namespace nl
