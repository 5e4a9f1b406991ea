// SPDX-License-Identifier: Apache-2.0
#include "report/metric_text.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(MetricText, ValuesHaveTheirUnitsAndEnoughDigitsForOnePercent) {
  EXPECT_EQ(MetricText(182.77, "ms"), "182.8 ms");
  EXPECT_EQ(MetricText(5.0942, "ms"), "5.094 ms");
  EXPECT_EQ(MetricText(0.012345, "ms"), "12.35 us");
  EXPECT_EQ(MetricText(123456, "ms"), "123.46 s");
  EXPECT_EQ(MetricText(0.234, "share"), "23.4 %");
  EXPECT_EQ(MetricText(3187609088.0, "bytes"), "3.2 GB");
  EXPECT_EQ(MetricText(574.37, "tokens/s"), "574.4 tokens/s");
  EXPECT_EQ(MetricText(std::nullopt, "ms"), "-");
}

}  // namespace
}  // namespace nl
