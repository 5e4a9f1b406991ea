// SPDX-License-Identifier: Apache-2.0
#include "model/labels/step_label.h"

#include <gtest/gtest.h>

#include "import/rows/step_rows.h"

namespace nl {
namespace {

TEST(StepLabel, KnowsStepsAndTheirNumbers) {
  EXPECT_TRUE(IsStepLabel("ProfilerStep#3"));
  EXPECT_TRUE(IsStepLabel("LLM@decode_step"));
  EXPECT_FALSE(IsStepLabel("LLM@decode_all"));
  EXPECT_FALSE(IsStepLabel("ProfilerStep"));
  for (const char* own :
       {"step", "Step 12", "step_12", "iteration[3]", "Iteration 3", "iter:4", "train_step #5"})
    EXPECT_TRUE(IsStepLabel(own)) << own;
  for (const char* other : {"step[DECODE bs=1]", "Optimizer.step#SGD.step", "stepping", "iterator",
                            "step 1 of 3", "Iterator::Map", "first step", "", "12"})
    EXPECT_FALSE(IsStepLabel(other)) << other;
  EXPECT_EQ(StepLabelOf("step 12"), "step");
  EXPECT_EQ(StepLabelOf("ProfilerStep#12"), "ProfilerStep");
  EXPECT_EQ(StepLabelOf("execute_32_context_0(sq0sk0)_generation_32(sq32sk55086)"), "execute");
  EXPECT_EQ(StepLabelOf("execute_context_1(888_788544)_generation_0(0)"), "execute");
  EXPECT_EQ(StepLabelOf("execute_model"), "");
  EXPECT_EQ(StepNumber("execute_context_1(888_788544)_generation_0(0)", 7), 7);
  EXPECT_EQ(StepNumber("iteration[31]", 3), 31);
  EXPECT_EQ(StepNumber("step", 3), 3);
  EXPECT_EQ(StepNumber("ProfilerStep#12", 3), 12);
  EXPECT_EQ(StepNumber("LLM@decode_step", 3), 3);
  EXPECT_EQ(StepNumber("ProfilerStep#1.5", 3), 3);
  EXPECT_EQ(StepNumber("ProfilerStep#", 3), 3);
}

TEST(StepRows, AStepInsideTheSameLabelIsTheSameStep) {
  StringPool strings;
  const StringId step = strings.Add("LLM@decode_step"), profiler = strings.Add("ProfilerStep#7");
  const auto thread = static_cast<ThreadId>(0), other = static_cast<ThreadId>(1);
  const auto row = [](int64_t id) { return static_cast<RowId>(id); };
  StepRows steps;
  steps.Add(thread, step, 110, 80, row(1));  // inside the next
  steps.Add(thread, step, 100, 100, row(0));
  steps.Add(thread, step, 200, 100, row(2));
  steps.Add(other, step, 120, 10, row(3));
  steps.Add(thread, profiler, 90, 300, row(4));
  steps.Add(thread, step, INT64_MAX - 5, 100, row(5));  // a damaged one
  StepColumns to;
  steps.Put(strings, to);
  EXPECT_EQ(to.range_id, (std::vector<RowId>{row(4), row(0), row(3), row(2), row(5)}));
  EXPECT_EQ(to.number, (std::vector<int64_t>{7, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace nl
