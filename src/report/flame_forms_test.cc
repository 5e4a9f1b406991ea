// SPDX-License-Identifier: Apache-2.0
#include "report/flame_forms.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

// Two calls of "a;b", each with a launch inside, and an orphan kernel.
struct Called {
  RunBuilder run;
  Analysis analysis;

  Called() : analysis(Made(run)) {}

  static Analysis Made(RunBuilder& run) {
    const ThreadId main = run.Thread("main");
    for (const int64_t at : {0, 1000}) {
      run.Op(main, "a;b\n", at + 10, 300);
      const RowId launch = run.Api(main, "cudaLaunchKernel", at + 20, 100);
      run.Kernel("gemm", 7, 5000 + at, 40, launch);
    }
    run.Kernel("orphan", 7, 9000, 5);
    return run.Finish();
  }
};

TEST(FlameForms, ALineOfCollapsedStacksHasThePathAndItsOwnTime) {
  Called called;
  Analysis& analysis = called.analysis;
  const RunFlame flame = *FlameOfRun(analysis);
  EXPECT_EQ(CollapsedText(flame.tree, analysis.data(), *flame.timeline, false),
            "a:b  400\na:b ;cudaLaunchKernel 200\n");
  EXPECT_EQ(CollapsedText(flame.tree, analysis.data(), *flame.timeline, true),
            "a:b ;cudaLaunchKernel;gemm 80\n(no launch recorded);orphan 5\n");
}

TEST(FlameForms, SpeedscopeHasTwoProfilesWhoseWeightsSumToTheTotals) {
  Called called;
  Analysis& analysis = called.analysis;
  const RunFlame flame = *FlameOfRun(analysis);
  const auto json = ParseJson(SpeedscopeText(flame.tree, analysis.data(), *flame.timeline, "t\"<"));
  ASSERT_TRUE(json.ok()) << json.error().ToString();
  ASSERT_EQ((*json)["profiles"].size(), 2u);
  const size_t frames = (*json)["shared"]["frames"].size();
  EXPECT_EQ(frames, 5u);
  const int64_t totals[] = {600, 85};
  for (size_t p = 0; p < 2; ++p) {
    const Json& profile = (*json)["profiles"][p];
    EXPECT_EQ(profile["endValue"], totals[p]);
    ASSERT_EQ(profile["samples"].size(), profile["weights"].size());
    int64_t sum = 0;
    for (const Json& w : profile["weights"]) sum += w.get<int64_t>();
    EXPECT_EQ(sum, totals[p]);
    for (const Json& stack : profile["samples"]) {
      for (const Json& frame : stack) EXPECT_LT(frame.get<size_t>(), frames);
    }
  }
}

}  // namespace
}  // namespace nl
