// SPDX-License-Identifier: Apache-2.0
#include "base/human.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(Human, BytesUsePowersOfAThousandAndRollOverBeforeFourDigits) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(12'934'000), "12.9 MB");
  EXPECT_EQ(HumanBytes(999'949), "999.9 kB");
  EXPECT_EQ(HumanBytes(999'950), "1.0 MB");
  EXPECT_EQ(HumanBytes(-1500), "-1.5 kB");
  EXPECT_EQ(HumanBytes(std::numeric_limits<int64_t>::min()), "-9.2 EB");
}

TEST(Human, DurationsPickTheUnitThatKeepsThemShort) {
  EXPECT_EQ(HumanDurationNs(0), "0 ns");
  EXPECT_EQ(HumanDurationNs(950), "950 ns");
  EXPECT_EQ(HumanDurationNs(1'500), "1.5 µs");
  EXPECT_EQ(HumanDurationNs(182'800'000), "182.8 ms");
  EXPECT_EQ(HumanDurationNs(999'960'000), "1.00 s");
  EXPECT_EQ(HumanDurationNs(59'999'000'000), "1 min 00 s");
  EXPECT_EQ(HumanDurationNs(185'000'000'000), "3 min 05 s");
  EXPECT_EQ(HumanDurationNs(3'900'000'000'000), "1 h 05 min");
  EXPECT_EQ(HumanDurationNs(-1'500), "-1.5 µs");
  EXPECT_EQ(HumanMs(0.0015), "1.5 µs");
  EXPECT_EQ(HumanMs(std::numeric_limits<double>::infinity()), "-");
}

TEST(Human, CountsAreGroupedByThousands) {
  EXPECT_EQ(HumanCount(7), "7");
  EXPECT_EQ(HumanCount(999), "999");
  EXPECT_EQ(HumanCount(36'353), "36,353");
  EXPECT_EQ(HumanCount(-1'234'567), "-1,234,567");
  EXPECT_EQ(HumanCount(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Human, PercentOfNothingIsADash) {
  EXPECT_EQ(HumanPercent(1, 8), "12.5 %");
  EXPECT_EQ(HumanPercent(1, 0), "-");
  EXPECT_EQ(HumanPercent(0, 0), "-");
}

}  // namespace
}  // namespace nl
