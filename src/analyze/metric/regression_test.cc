// SPDX-License-Identifier: Apache-2.0
#include "analyze/metric/regression.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nl {
namespace {

using Values = std::vector<double>;

// Five runs around `level` with a spread of 0.2 %.
Values Around(double level) { return {level * 1.001, level * 0.998, level, level * 1.002, level * 0.999}; }

MetricVerdict One(MetricSamples runs, double max_regression = 0.02) {
  return JudgeMetrics({std::move(runs)}, {max_regression, 0.01, false})[0];
}

TEST(Regression, DistinguishesTheFourCases) {
  EXPECT_EQ(One({"wall", "ms", false, Around(100), Around(105)}).outcome, GateOutcome::kRegressed);
  EXPECT_EQ(One({"wall", "ms", false, Around(100), Around(100.1)}).outcome, GateOutcome::kPass);
  EXPECT_EQ(One({"wall", "ms", false, Around(100), Around(90)}).outcome, GateOutcome::kPass);
  const MetricVerdict noisy = One({"wall", "ms", false, {100, 110, 95, 104, 91}, {103, 99, 112, 94, 106}});
  EXPECT_EQ(noisy.outcome, GateOutcome::kUndecided);
  EXPECT_GT(noisy.more_runs_needed.value(), 10);
  EXPECT_TRUE(noisy.spread_known);
}

TEST(Regression, AShownRegressionWithinTheLimitPasses) {
  const MetricVerdict small = One({"wall", "ms", false, Around(100), Around(101)}, 0.02);
  EXPECT_EQ(small.significance.verdict, VerdictClass::kSame) << "real, but inside the margin";
  EXPECT_EQ(small.outcome, GateOutcome::kPass);
  EXPECT_GT(small.ci_low, 0);
  // Just at the limit neither can be claimed.
  EXPECT_EQ(One({"wall", "ms", false, Around(100), Around(101.95)}, 0.02).outcome, GateOutcome::kUndecided);
}

TEST(Regression, WhereLargerIsBetterLessIsARegression) {
  const MetricVerdict fewer = One({"tokens_per_s", "tokens/s", true, Around(500), Around(450)});
  EXPECT_EQ(fewer.outcome, GateOutcome::kRegressed);
  EXPECT_NEAR(fewer.change, -0.1, 0.002);
  EXPECT_LT(fewer.ci_low, -0.1);
  EXPECT_GT(fewer.ci_high, -0.1);
  EXPECT_LT(fewer.ci_high, 0);
  EXPECT_EQ(One({"tokens_per_s", "tokens/s", true, Around(450), Around(500)}).outcome, GateOutcome::kPass);
}

TEST(Regression, OneRunIsUndecidedForAnyDifference) {
  const MetricVerdict j = One({"wall", "ms", false, {100}, {300}});
  EXPECT_EQ(j.outcome, GateOutcome::kUndecided);
  EXPECT_EQ(j.more_runs_needed, 4);
  EXPECT_TRUE(std::isnan(j.ci_low));
}

TEST(Regression, TwoRunsASideDoNotGiveASpread) {
  const MetricVerdict j = One({"wall", "ms", false, {100, 103}, {300, 150}});
  EXPECT_EQ(j.outcome, GateOutcome::kUndecided);
  EXPECT_EQ(j.more_runs_needed, 3);
  EXPECT_FALSE(j.spread_known);
}

TEST(Regression, ValuesWithoutSpreadAreExact) {
  EXPECT_EQ(One({"memory", "bytes", false, {1000, 1000, 1000}, {1100, 1100, 1100}}).outcome,
            GateOutcome::kRegressed);
  EXPECT_EQ(One({"memory", "bytes", false, {1000, 1000, 1000}, {1010, 1010, 1010}}).outcome,
            GateOutcome::kPass);
  EXPECT_EQ(One({"idle", "ms", false, {0, 0, 0}, {0, 0, 0}}).outcome, GateOutcome::kPass);
  EXPECT_EQ(One({"idle", "ms", false, {0, 0, 0}, {5, 5, 5}}).outcome, GateOutcome::kRegressed);
}

TEST(Regression, ManyMetricsShareTheFalseAlarmRate) {
  // p of one metric alone is just below 1 %; among twenty without a change it is not a discovery.
  const Values a = {100, 101, 99, 100.5, 99.5, 100.2, 99.8};
  Values b = a;
  double shift = 0.5;
  while (TestSignificance(a, b).p_value > 0.009) {
    shift += 0.02;
    for (size_t i = 0; i < b.size(); ++i) b[i] = a[i] + shift;
  }
  ASSERT_EQ(One({"first", "ms", false, a, b}, 0.001).outcome, GateOutcome::kRegressed);
  std::vector<MetricSamples> many = {{"first", "ms", false, a, b}};
  for (int i = 0; i < 20; ++i) many.push_back({"other", "ms", false, a, {a.rbegin(), a.rend()}});
  const std::vector<MetricVerdict> judged = JudgeMetrics(many, {0.001, 0.01, false});
  EXPECT_GT(judged[0].q_value, 0.01);
  EXPECT_EQ(judged[0].outcome, GateOutcome::kUndecided);
}

TEST(Regression, OverallIsTheWorst) {
  std::vector<MetricVerdict> metrics(2);
  EXPECT_EQ(OverallOutcome({}), GateOutcome::kUndecided) << "no metric is not a pass";
  metrics[0].outcome = metrics[1].outcome = GateOutcome::kPass;
  EXPECT_EQ(OverallOutcome(metrics), GateOutcome::kPass);
  metrics[0].outcome = GateOutcome::kUndecided;
  EXPECT_EQ(OverallOutcome(metrics), GateOutcome::kUndecided);
  metrics[1].outcome = GateOutcome::kRegressed;
  EXPECT_EQ(OverallOutcome(metrics), GateOutcome::kRegressed);
}

}  // namespace
}  // namespace nl
