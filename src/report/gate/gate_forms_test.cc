// SPDX-License-Identifier: Apache-2.0
#include "report/gate/gate_forms.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

using Values = std::vector<double>;

// Five runs around `level` with a spread of 0.2 %.
Values Around(double level) { return {level * 1.001, level * 0.998, level, level * 1.002, level * 0.999}; }

GateMetric Metric(MetricSamples samples) {
  const RegressionLimits limits{0.02, 0.01, false};
  return GateMetricOf(JudgeMetrics({std::move(samples)}, limits)[0], limits);
}

GateReply HostileReply(std::optional<UndecidedPolicy> policy) {
  const std::string name = "op:a<b>&\"c\"]]>|`x`*\x01\n</testcase>\xef\xbf\xbf";
  GateReply r;
  r.outcome = GateOutcome::kRegressed;
  r.undecided_policy = policy;
  r.max_regression = 0.02;
  r.alpha = 0.01;
  r.judged_at = "2025-11-15T01:32:00Z";
  const GateRun run{"1", "1", name, "2025-11-15T01:32:00Z"};
  r.baseline = {name, {run}};
  r.candidate = {std::nullopt, {run, run}};
  r.metrics = {Metric({name, "ms", false, Around(100), Around(120)}), Metric({"wall", "ms", false, {1}, {1}}),
               Metric({"device", "ms", false, Around(10), Around(10)})};
  r.comparability = {{"precision", name, "fp32", "reported only"}};
  r.explanation = GateExplanation{"1", "2", {}, 1.0, 2.0, {{1, Cause::kKernelSlower, 20.0, true, name}}};
  return r;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool HasText(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(GateMetric, UndecidedNamesTheRunsThatWouldDecide) {
  const GateMetric noisy = Metric({"wall", "ms", false, {100, 110, 95, 104, 91}, {103, 99, 112, 94, 106}});
  EXPECT_TRUE(HasText(noisy.text, "more runs on each side")) << noisy.text;
  const GateMetric two = Metric({"wall", "ms", false, {100, 103}, {300, 150}});
  EXPECT_TRUE(HasText(two.text, "at least 3 more runs")) << two.text;
  const GateMetric wild = Metric({"wall", "ms", false, {100, 300, 50, 210}, {110, 290, 60, 190}});
  EXPECT_TRUE(HasText(wild.text, "reduce the variation between runs")) << wild.text;
  const GateMetric one = Metric({"wall", "ms", false, {100}, {300}});
  EXPECT_FALSE(one.ci_low);
  EXPECT_EQ(one.more_runs_needed, 4);
}

TEST(GateForms, JUnitCountsMatchItsElements) {
  const std::string as_error = GateJUnit(HostileReply(std::nullopt));
  EXPECT_EQ(Count(as_error, "<testcase "), 3u);
  EXPECT_EQ(Count(as_error, "<failure "), 1u);
  EXPECT_EQ(Count(as_error, "<error "), 1u);
  EXPECT_TRUE(HasText(as_error, "tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\"")) << as_error;
  const std::string as_skip = GateJUnit(HostileReply(UndecidedPolicy::kPass));
  EXPECT_EQ(Count(as_skip, "<skipped "), 1u);
  EXPECT_TRUE(HasText(as_skip, "failures=\"1\" errors=\"0\" skipped=\"1\"")) << as_skip;
  EXPECT_TRUE(
      HasText(GateJUnit(HostileReply(UndecidedPolicy::kFail)), "failures=\"2\" errors=\"0\" skipped=\"0\""));
  for (const char c : as_error) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST(GateForms, MarkdownAndTextStartWithTheVerdictAndEscapeNames) {
  const std::string md = GateMarkdown(HostileReply(std::nullopt));
  EXPECT_TRUE(md.starts_with("### NeuroLens gate: regressed")) << md;
  EXPECT_FALSE(HasText(md, "</testcase>")) << md;
  EXPECT_EQ(Count(md, "<details>"), 1u);
  const std::string text = GateText(HostileReply(std::nullopt), 80, false);
  EXPECT_TRUE(text.starts_with("regressed")) << text;
  EXPECT_FALSE(HasText(text, "\x01"));
}

}  // namespace
}  // namespace nl
