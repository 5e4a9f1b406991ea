// SPDX-License-Identifier: Apache-2.0
#include "ops/gate/judge.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/gate/forms.h"
#include "ops/metric_text.h"

namespace nl::ops::gate {
namespace {

using Values = std::vector<double>;

// Five runs around `level` with a spread of 0.2 %.
Values Around(double level) { return {level * 1.001, level * 0.998, level, level * 1.002, level * 0.999}; }

Judged One(MetricRuns runs, double max_regression = 0.02) {
  return Judge({std::move(runs)}, {max_regression, 0.01, false})[0];
}

TEST(GateJudge, TellsTheFourCasesApart) {
  EXPECT_EQ(One({"wall", "ms", false, Around(100), Around(105)}).outcome, Outcome::kRegressed);
  EXPECT_EQ(One({"wall", "ms", false, Around(100), Around(100.1)}).outcome, Outcome::kPass);
  EXPECT_EQ(One({"wall", "ms", false, Around(100), Around(90)}).outcome, Outcome::kPass);
  const Judged noisy = One({"wall", "ms", false, {100, 110, 95, 104, 91}, {103, 99, 112, 94, 106}});
  EXPECT_EQ(noisy.outcome, Outcome::kUndecided);
  EXPECT_GT(noisy.decision.more_runs_needed.value(), 10);
  EXPECT_NE(noisy.text.find("more runs on each side"), std::string::npos) << noisy.text;
}

TEST(GateJudge, AShownRegressionWithinTheLimitPasses) {
  const Judged small = One({"wall", "ms", false, Around(100), Around(101)}, 0.02);
  EXPECT_EQ(small.decision.verdict, VerdictClass::kSame) << "real, but inside the margin";
  EXPECT_EQ(small.outcome, Outcome::kPass);
  EXPECT_GT(small.ci_low, 0);
  // Just at the limit neither can be claimed.
  EXPECT_EQ(One({"wall", "ms", false, Around(100), Around(101.95)}, 0.02).outcome, Outcome::kUndecided);
}

TEST(GateJudge, WhatIsBetterLargerRegressesDownwards) {
  const Judged fewer = One({"tokens_per_s", "tokens/s", true, Around(500), Around(450)});
  EXPECT_EQ(fewer.outcome, Outcome::kRegressed);
  EXPECT_NEAR(fewer.change, -0.1, 0.002);
  EXPECT_LT(fewer.ci_low, -0.1);
  EXPECT_GT(fewer.ci_high, -0.1);
  EXPECT_LT(fewer.ci_high, 0);
  EXPECT_EQ(One({"tokens_per_s", "tokens/s", true, Around(450), Around(500)}).outcome, Outcome::kPass);
}

TEST(GateJudge, OneRunIsUndecidedHoweverLargeTheDifference) {
  const Judged j = One({"wall", "ms", false, {100}, {300}});
  EXPECT_EQ(j.outcome, Outcome::kUndecided);
  EXPECT_EQ(j.decision.more_runs_needed, 4);
  EXPECT_TRUE(ToJson(j)["ci_low"].is_null());
}

TEST(GateJudge, TwoRunsASideGuessNoNumberOfRuns) {
  const Judged j = One({"wall", "ms", false, {100, 103}, {300, 150}});
  EXPECT_EQ(j.outcome, Outcome::kUndecided);
  EXPECT_EQ(j.decision.more_runs_needed, 3);
  EXPECT_NE(j.text.find("at least 3 more runs"), std::string::npos) << j.text;
  const Judged wild = One({"wall", "ms", false, {100, 300, 50, 210}, {110, 290, 60, 190}});
  EXPECT_NE(wild.text.find("make the runs steadier"), std::string::npos) << wild.text;
}

TEST(GateJudge, CountsAreExact) {
  EXPECT_EQ(One({"memory", "bytes", false, {1000, 1000, 1000}, {1100, 1100, 1100}}).outcome,
            Outcome::kRegressed);
  EXPECT_EQ(One({"memory", "bytes", false, {1000, 1000, 1000}, {1010, 1010, 1010}}).outcome, Outcome::kPass);
  EXPECT_EQ(One({"idle", "ms", false, {0, 0, 0}, {0, 0, 0}}).outcome, Outcome::kPass);
  EXPECT_EQ(One({"idle", "ms", false, {0, 0, 0}, {5, 5, 5}}).outcome, Outcome::kRegressed);
}

TEST(GateJudge, ManyMetricsShareTheFalseAlarms) {
  // p of one metric alone is just below 1 %; among twenty that show nothing it is no discovery.
  const Values a = {100, 101, 99, 100.5, 99.5, 100.2, 99.8};
  Values b = a;
  double shift = 0.5;
  while (TestSignificance(a, b).p_value > 0.009) {
    shift += 0.02;
    for (size_t i = 0; i < b.size(); ++i) b[i] = a[i] + shift;
  }
  ASSERT_EQ(One({"first", "ms", false, a, b}, 0.001).outcome, Outcome::kRegressed);
  std::vector<MetricRuns> many = {{"first", "ms", false, a, b}};
  for (int i = 0; i < 20; ++i) many.push_back({"other", "ms", false, a, {a.rbegin(), a.rend()}});
  const std::vector<Judged> judged = Judge(many, {0.001, 0.01, false});
  EXPECT_GT(judged[0].q_value, 0.01);
  EXPECT_EQ(judged[0].outcome, Outcome::kUndecided);
}

TEST(GateJudge, OverallIsTheWorst) {
  std::vector<Judged> metrics(2);
  EXPECT_EQ(Overall({}), Outcome::kUndecided) << "nothing judged is no pass";
  metrics[0].outcome = metrics[1].outcome = Outcome::kPass;
  EXPECT_EQ(Overall(metrics), Outcome::kPass);
  metrics[0].outcome = Outcome::kUndecided;
  EXPECT_EQ(Overall(metrics), Outcome::kUndecided);
  metrics[1].outcome = Outcome::kRegressed;
  EXPECT_EQ(Overall(metrics), Outcome::kRegressed);
}

TEST(GateLimit, IsAShareOrAPercentageAndNeverAGuess) {
  EXPECT_DOUBLE_EQ(*ParseLimit("2%"), 0.02);
  EXPECT_DOUBLE_EQ(*ParseLimit("0.5 %"), 0.005);
  EXPECT_DOUBLE_EQ(*ParseLimit("0.02"), 0.02);
  for (const char* bad :
       {"", "2", "%", "-1%", "0%", "100%", "1e3%", "2%%", "two", "nan", "inf%", "0x1", "2,5%"}) {
    EXPECT_FALSE(ParseLimit(bad).ok()) << bad;
  }
}

Json HostileReply(const char* policy) {
  const std::string name = "op:a<b>&\"c\"]]>|`x`*\x01\n</testcase>\xef\xbf\xbf";
  const Judged bad = One({name, "ms", false, Around(100), Around(120)});
  const Judged open = One({"wall", "ms", false, {1}, {1}});
  const Judged good = One({"device", "ms", false, Around(10), Around(10)});
  Json r{{"outcome", "regressed"}, {"undecided_policy", policy[0] == '\0' ? Json() : Json(policy)}};
  r["max_regression"] = 0.02;
  r["alpha"] = 0.01;
  r["judged_at"] = "2025-11-15T01:32:00Z";
  const Json run{
      {"run_id", "1"}, {"short_id", "1"}, {"source_name", name}, {"created_at", "2025-11-15T01:32:00Z"}};
  r["baseline"] = {{"name", name}, {"runs", {run}}};
  r["candidate"] = {{"name", Json()}, {"runs", {run, run}}};
  r["metrics"] = {ToJson(bad), ToJson(open), ToJson(good)};
  r["comparability"] = {{{"what", "precision"}, {"a", name}, {"b", "fp32"}, {"consequence", "told"}}};
  r["explanation"] = {{"run_a", "1"}, {"run_b", "2"}, {"reason", Json()}};
  r["explanation"]["contributions"] = {
      {{"rank", 1}, {"cause", "kernel_slower"}, {"delta_ms", 20.0}, {"text", name}}};
  return r;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(GateForms, JUnitCountsWhatItHolds) {
  const std::string as_error = GateJUnit(HostileReply(""));
  EXPECT_EQ(Count(as_error, "<testcase "), 3u);
  EXPECT_EQ(Count(as_error, "<failure "), 1u);
  EXPECT_EQ(Count(as_error, "<error "), 1u);
  EXPECT_NE(as_error.find("tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\""), std::string::npos)
      << as_error;
  const std::string as_skip = GateJUnit(HostileReply("pass"));
  EXPECT_EQ(Count(as_skip, "<skipped "), 1u);
  EXPECT_NE(as_skip.find("failures=\"1\" errors=\"0\" skipped=\"1\""), std::string::npos);
  EXPECT_NE(GateJUnit(HostileReply("fail")).find("failures=\"2\" errors=\"0\" skipped=\"0\""),
            std::string::npos);
  for (const char c : as_error) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST(GateForms, MarkdownAndTextSayTheVerdictFirstAndEscapeNames) {
  const std::string md = GateMarkdown(HostileReply(""));
  EXPECT_EQ(md.rfind("### NeuroLens gate: regressed", 0), 0u) << md;
  EXPECT_EQ(md.find("</testcase>"), std::string::npos) << md;
  EXPECT_EQ(Count(md, "<details>"), 1u);
  const std::string text = GateText(HostileReply(""), {80, false});
  EXPECT_EQ(text.rfind("regressed", 0), 0u) << text;
  EXPECT_EQ(text.find('\x01'), std::string::npos);
}

TEST(MetricText, ValuesCarryTheirUnitsAndShowOnePercent) {
  EXPECT_EQ(MetricText(182.77, "ms"), "182.8 ms");
  EXPECT_EQ(MetricText(5.0942, "ms"), "5.094 ms");
  EXPECT_EQ(MetricText(0.012345, "ms"), "12.35 us");
  EXPECT_EQ(MetricText(123456, "ms"), "123.46 s");
  EXPECT_EQ(MetricText(0.234, "share"), "23.4 %");
  EXPECT_EQ(MetricText(3187609088.0, "bytes"), "3.2 GB");
  EXPECT_EQ(MetricText(574.37, "tokens/s"), "574.4 tokens/s");
  EXPECT_EQ(MetricText(Json(), "ms"), "-");
}

}  // namespace
}  // namespace nl::ops::gate
