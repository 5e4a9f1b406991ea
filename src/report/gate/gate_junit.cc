// SPDX-License-Identifier: Apache-2.0
// A gate's reply as JUnit XML.
#include <fmt/format.h>

#include "report/gate/gate_forms.h"
#include "report/junit.h"

namespace nl {

namespace {

JUnitOutcome OutcomeOf(const GateReply& r, GateOutcome outcome) {
  if (outcome == GateOutcome::kPass) return JUnitOutcome::kPassed;
  if (outcome == GateOutcome::kRegressed) return JUnitOutcome::kFailure;
  if (!r.undecided_policy) return JUnitOutcome::kError;
  return *r.undecided_policy == UndecidedPolicy::kFail ? JUnitOutcome::kFailure : JUnitOutcome::kSkipped;
}

std::string JUnitExplanation(const GateReply& r) {
  std::string out;
  if (!r.explanation) return out;
  for (const GateContribution& c : r.explanation->contributions)
    out += fmt::format("{:+.3f} ms  {}: {}\n", c.delta_ms, CauseName(c.cause), c.text);
  return out;
}

std::string JUnitSide(const GateSide& side) {
  const std::string runs = fmt::format("{} run{}", side.runs.size(), side.runs.size() == 1 ? "" : "s");
  return side.name ? fmt::format("{} ({})", *side.name, runs) : runs;
}

}  // namespace

std::string GateJUnit(const GateReply& r) {
  JUnitSuite suite;
  suite.command = "gate";
  suite.timestamp = r.judged_at.substr(0, 19);
  suite.properties = {{"baseline", JUnitSide(r.baseline)},
                      {"candidate", JUnitSide(r.candidate)},
                      {"max_regression", fmt::format("{:g}", r.max_regression)}};
  for (const GateMetric& m : r.metrics)
    suite.cases.push_back({m.metric, OutcomeOf(r, m.outcome), m.text, std::string(OutcomeName(m.outcome)),
                           JUnitExplanation(r)});
  suite.output = GateHeadline(r);
  return JUnitXml(suite);
}

}  // namespace nl
