// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/run_difference.h"

namespace nl::ops::prove {
namespace {

TEST(ProveWhy, DividesTheDifferenceByFunction) {
  const std::vector<SampledPart> a{{"slow", "a.py", false, 300, 300}, {"common", "a.py", false, 100, 100}};
  const std::vector<SampledPart> b{{"slow", "b.py", false, 100, 100}, {"common", "b.py", false, 100, 100}};
  const std::vector<ProveCause> causes = SampledCauses(a, b, 5);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_DOUBLE_EQ(causes[0].share, 1);
  EXPECT_EQ(causes[0].text, "slow (a.py) runs 100.0 ms instead of 300.0 ms");
}

TEST(ProveWhy, NamesWhatIsGoneAndWhatIsNew) {
  const std::vector<SampledPart> a{{"waiting for futex", "", true, 200, 200}};
  const std::vector<SampledPart> b{{"merge", "x.so", false, 100, 100}};
  const std::vector<ProveCause> causes = SampledCauses(a, b, 5);
  ASSERT_EQ(causes.size(), 1u);  // the new work is against the difference
  EXPECT_EQ(causes[0].text, "waiting for futex, 200.0 ms, is gone");
  EXPECT_DOUBLE_EQ(causes[0].share, 2);
}

TEST(ProveWhy, IgnoresDifferencesWithinTheErrorOfSampling) {
  const std::vector<SampledPart> a{{"x", "", false, 105, 105}, {"y", "", false, 400, 400}};
  const std::vector<SampledPart> b{{"x", "", false, 95, 95}, {"y", "", false, 200, 200}};
  const std::vector<ProveCause> causes = SampledCauses(a, b, 5);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].text.substr(0, 1), "y");
}

TEST(ProveWhy, WaitsForACoreThatGrowWithTheWorkAreNoCause) {
  // A busy machine: both wait at least as long as they run.
  std::vector<SampledPart> a{{"slow", "a.py", false, 1600, 1600},
                             {"waiting for a free core", "", true, 1700, 1700, true}};
  std::vector<SampledPart> b{{"slow", "b.py", false, 40, 40},
                             {"waiting for a free core", "", true, 50, 50, true}};
  LeaveOutWaitsOfWork(a, b);
  std::vector<ProveCause> causes = SampledCauses(a, b, 5);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].text, "slow (a.py) runs 40.0 ms instead of 1.60 s");
  EXPECT_DOUBLE_EQ(a[1].ms, 42.5);
  // Only one of them waits: that is a cause.
  a = {{"same", "", false, 100, 100}, {"waiting for a free core", "", true, 300, 300, true}};
  b = {{"same", "", false, 100, 100}};
  LeaveOutWaitsOfWork(a, b);
  causes = SampledCauses(a, b, 5);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].text, "waiting for a free core, 300.0 ms, is gone");
}

TEST(ProveForms, ASlowdownIsNegativeAndNotClamped) {
  ProveReply reply;
  reply.verdict = nl::bench::Verdict::kSlower;
  reply.speedup = 0.5;
  reply.speedup_low = 0.48;
  reply.speedup_high = 0.52;
  reply.gain = -0.5;
  EXPECT_EQ(Headline(reply), "B is 2.00× slower (1.92–2.08, -50.00 %)");
}

}  // namespace
}  // namespace nl::ops::prove
