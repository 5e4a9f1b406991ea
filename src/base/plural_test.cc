// SPDX-License-Identifier: Apache-2.0
#include "base/plural.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(Plural, OneHasNoEnding) {
  EXPECT_EQ(Counted(1, "call"), "1 call");
  EXPECT_EQ(Counted(0, "call"), "0 calls");
  EXPECT_EQ(Counted(1200, "call"), "1,200 calls");
  EXPECT_EQ(Counted(2, "copy"), "2 copies");
  EXPECT_EQ(Counted(1, "copy"), "1 copy");
  EXPECT_EQ(Counted(2, "launch"), "2 launches");
  EXPECT_EQ(Counted(3, "process"), "3 processes");
  EXPECT_EQ(Counted(2, "operator call"), "2 operator calls");
  EXPECT_EQ(Counted(2, "day"), "2 days");
}

}  // namespace
}  // namespace nl
