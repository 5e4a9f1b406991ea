// SPDX-License-Identifier: Apache-2.0
// A gate's reply as JUnit XML.
#include <fmt/format.h>

#include "base/xml_text.h"
#include "report/gate/gate_forms.h"

namespace nl {

namespace {

// The element inside a test case; "" for a pass.
std::string_view JUnitElement(const GateReply& r, GateOutcome outcome) {
  if (outcome == GateOutcome::kPass) return "";
  if (outcome == GateOutcome::kRegressed) return "failure";
  if (!r.undecided_policy) return "error";
  return *r.undecided_policy == UndecidedPolicy::kFail ? "failure" : "skipped";
}

std::string JUnitExplanation(const GateReply& r) {
  std::string out;
  if (!r.explanation) return out;
  for (const GateContribution& c : r.explanation->contributions)
    out += fmt::format("{:+.3f} ms  {}: {}\n", c.delta_ms, CauseName(c.cause), c.text);
  return out;
}

std::string JUnitSide(const char* name, const GateSide& side) {
  const std::string runs = fmt::format("{} run{}", side.runs.size(), side.runs.size() == 1 ? "" : "s");
  return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name,
                     XmlText(side.name ? fmt::format("{} ({})", *side.name, runs) : runs));
}

struct JUnitCounts {
  size_t failures = 0, errors = 0, skipped = 0;
};

std::string JUnitCase(const GateReply& r, const GateMetric& m, JUnitCounts& counts) {
  const std::string_view element = JUnitElement(r, m.outcome);
  std::string out =
      fmt::format("    <testcase classname=\"neurolens.gate\" name=\"{}\" time=\"0\"", XmlText(m.metric));
  if (element.empty()) return out + "/>\n";
  counts.failures += element == "failure" ? 1 : 0;
  counts.errors += element == "error" ? 1 : 0;
  counts.skipped += element == "skipped" ? 1 : 0;
  if (element == "skipped")
    return out + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", XmlText(m.text));
  return out + fmt::format(">\n      <{0} message=\"{1}\" type=\"{2}\">{3}</{0}>\n    </testcase>\n", element,
                           XmlText(m.text), OutcomeName(m.outcome), XmlText(JUnitExplanation(r)));
}

}  // namespace

std::string GateJUnit(const GateReply& r) {
  std::string cases;
  JUnitCounts counts;
  for (const GateMetric& m : r.metrics) cases += JUnitCase(r, m, counts);
  const size_t tests = r.metrics.size();
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out +=
      fmt::format("<testsuites name=\"neurolens\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"0\">\n",
                  tests, counts.failures, counts.errors);
  out += fmt::format(
      "  <testsuite name=\"neurolens gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"0\" "
      "timestamp=\"{}\">\n",
      tests, counts.failures, counts.errors, counts.skipped, r.judged_at.substr(0, 19));
  out += "    <properties>\n" + JUnitSide("baseline", r.baseline) + JUnitSide("candidate", r.candidate);
  out += fmt::format("      <property name=\"max_regression\" value=\"{:g}\"/>\n    </properties>\n",
                     r.max_regression);
  return out + cases +
         fmt::format("    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
                     XmlText(GateHeadline(r)));
}

}  // namespace nl
