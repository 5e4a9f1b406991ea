// SPDX-License-Identifier: Apache-2.0
#include "import/step_label.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(StepLabel, KnowsStepsAndTheirNumbers) {
  EXPECT_TRUE(IsStepLabel("ProfilerStep#3"));
  EXPECT_TRUE(IsStepLabel("LLM@decode_step"));
  EXPECT_FALSE(IsStepLabel("LLM@decode_all"));
  EXPECT_FALSE(IsStepLabel("ProfilerStep"));
  EXPECT_EQ(StepNumber("ProfilerStep#12", 3), 12);
  EXPECT_EQ(StepNumber("LLM@decode_step", 3), 3);
  EXPECT_EQ(StepNumber("ProfilerStep#1.5", 3), 3);
  EXPECT_EQ(StepNumber("ProfilerStep#", 3), 3);
}

}  // namespace
}  // namespace nl
