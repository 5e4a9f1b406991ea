// SPDX-License-Identifier: Apache-2.0
#include "ops/gate/limit.h"

#include <gtest/gtest.h>

namespace nl::ops::gate {
namespace {

TEST(GateLimit, AcceptsAShareOrAPercentageAndRefusesTheRest) {
  EXPECT_DOUBLE_EQ(*ParseLimit("2%"), 0.02);
  EXPECT_DOUBLE_EQ(*ParseLimit("0.5 %"), 0.005);
  EXPECT_DOUBLE_EQ(*ParseLimit("0.02"), 0.02);
  for (const char* bad :
       {"", "2", "%", "-1%", "0%", "100%", "1e3%", "2%%", "two", "nan", "inf%", "0x1", "2,5%"}) {
    EXPECT_FALSE(ParseLimit(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace nl::ops::gate
