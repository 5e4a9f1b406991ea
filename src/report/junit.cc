// SPDX-License-Identifier: Apache-2.0
#include "report/junit.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/xml_text.h"

namespace nl {

namespace {

std::string CaseXml(const std::string& command, const JUnitCase& c) {
  const std::string out = fmt::format("    <testcase classname=\"neurolens.{}\" name=\"{}\" time=\"0\"",
                                      command, XmlText(c.name));
  if (c.outcome == JUnitOutcome::kPassed) return out + "/>\n";
  if (c.outcome == JUnitOutcome::kSkipped)
    return out + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", XmlText(c.message));
  return out + fmt::format(">\n      <{0} message=\"{1}\" type=\"{2}\">{3}</{0}>\n    </testcase>\n",
                           c.outcome == JUnitOutcome::kFailure ? "failure" : "error", XmlText(c.message),
                           XmlText(c.type), XmlText(c.text));
}

}  // namespace

std::string JUnitXml(const JUnitSuite& suite) {
  const auto count = [&suite](JUnitOutcome outcome) {
    return std::count_if(suite.cases.begin(), suite.cases.end(),
                         [outcome](const JUnitCase& c) { return c.outcome == outcome; });
  };
  const std::string totals = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", suite.cases.size(),
                                         count(JUnitOutcome::kFailure), count(JUnitOutcome::kError));
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"neurolens\" {0} time=\"{1:.3f}\">\n"
      "  <testsuite name=\"neurolens {2}\" {0} skipped=\"{3}\" time=\"{1:.3f}\"{4}>\n",
      totals, suite.seconds, suite.command, count(JUnitOutcome::kSkipped),
      suite.timestamp.empty() ? "" : fmt::format(" timestamp=\"{}\"", XmlText(suite.timestamp)));
  if (!suite.properties.empty()) {
    out += "    <properties>\n";
    for (const auto& [name, value] : suite.properties)
      out += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", XmlText(name), XmlText(value));
    out += "    </properties>\n";
  }
  for (const JUnitCase& c : suite.cases) out += CaseXml(suite.command, c);
  return out + fmt::format("    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
                           XmlText(suite.output));
}

}  // namespace nl
