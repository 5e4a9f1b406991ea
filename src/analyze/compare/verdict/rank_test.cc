// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/verdict/rank.h"

#include <gtest/gtest.h>

#include "testing/compare_fixture.h"

namespace nl {
namespace {

TEST(Rerank, SignificantFirstThenBySizeAndTheTimelineFollows) {
  Comparison c = testing_compare::Usual();  // sync +18, kernel -4, copy +2, noise +0.5
  c.contributions[0].significant = false;
  ASSERT_EQ(c.timeline.a[1].change, 1);
  ASSERT_EQ(c.timeline.b[1].change, 0);
  compare::Rerank(c);
  ASSERT_EQ(c.contributions.size(), 4u);
  EXPECT_EQ(c.contributions[0].cause, Cause::kKernelReplaced);
  EXPECT_EQ(c.contributions[1].cause, Cause::kCopyAdded);
  EXPECT_EQ(c.contributions[2].cause, Cause::kSyncAdded);
  EXPECT_EQ(c.contributions[3].cause, Cause::kNoise);
  EXPECT_EQ(c.timeline.a[1].change, 0) << "still the replaced kernel";
  EXPECT_EQ(c.timeline.b[1].change, 2) << "still the sync";
  EXPECT_EQ(c.timeline.a[0].change, -1);
}

}  // namespace
}  // namespace nl
