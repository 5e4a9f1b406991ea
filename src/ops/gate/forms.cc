// SPDX-License-Identifier: Apache-2.0
#include "ops/gate/forms.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/terminal.h"
#include "ops/metric_text.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl::ops::gate {

namespace {

std::string PercentText(const Json& share) {
  return share.is_null() ? "-" : fmt::format("{:+.2f} %", 100 * share.get<double>());
}

std::string IntervalText(const Json& m) {
  if (m["ci_low"].is_null()) return "-";
  // Of two runs a side the interval holds nearly everything.
  constexpr double kShown = 9.995;
  const double low = m["ci_low"], high = m["ci_high"];
  return fmt::format("{:+.2f} .. {}", 100 * low,
                     high > kShown ? ">+999 %" : fmt::format("{:+.2f} %", 100 * high));
}

std::string SideText(const Json& side) {
  const size_t runs = side["runs"].size();
  const std::string amount = fmt::format("{} run{}", runs, runs == 1 ? "" : "s");
  return side["name"].is_null() ? amount : fmt::format("{} ({})", side["name"].get<std::string>(), amount);
}

std::string Xml(std::string_view text) {
  std::string out;
  const std::string printable = PrintableText(text, Keep::kLines);
  for (size_t i = 0; i < printable.size(); ++i) {
    // U+FFFE and U+FFFF are no characters to XML, not even escaped.
    if (printable.compare(i, 2, "\xef\xbf") == 0 && (printable[i + 2] & 0x7e) == 0x3e) {
      out += "\xef\xbf\xbd";
      i += 2;
      continue;
    }
    switch (const char c = printable[i]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      case '\t': out += "&#9;"; break;
      default: out += c;
    }
  }
  return out;
}

// The element inside a test case; "" for a pass.
const char* JUnitKind(const Json& r, const Json& m) {
  if (m["outcome"] == "pass") return "";
  if (m["outcome"] == "regressed") return "failure";
  const Json& policy = r["undecided_policy"];
  if (policy.is_null()) return "error";
  return policy == "fail" ? "failure" : "skipped";
}

std::string Explanation(const Json& r) {
  const Json& e = r["explanation"];
  if (e.is_null() || e["contributions"].empty()) return "";
  std::string out;
  for (const Json& c : e["contributions"]) {
    out += fmt::format("{:+.3f} ms  {}: {}\n", c["delta_ms"].get<double>(), c["cause"].get<std::string>(),
                       c["text"].get<std::string>());
  }
  return out;
}

// What is not a pass, one paragraph each; metrics that are undecided for the same reason share one.
std::string Remarks(const Json& r, int width) {
  std::string out;
  std::vector<std::pair<std::string, std::string>> undecided;  // why -> metrics
  for (const Json& m : r["metrics"]) {
    const std::string text = m["text"];
    const std::string name = m["metric"];
    if (m["outcome"] == "regressed") {
      out += "\n" + Wrap(PrintableText(fmt::format("{} {}.", name, text)), width, 2) + "\n";
    }
    if (m["outcome"] != "undecided") continue;
    const size_t why = text.find("; ");
    const std::string key = why == std::string::npos ? text : text.substr(why + 2);
    const auto same =
        std::find_if(undecided.begin(), undecided.end(), [&](const auto& u) { return u.first == key; });
    if (same == undecided.end()) {
      undecided.emplace_back(key, name);
    } else {
      same->second += ", " + name;
    }
  }
  for (const auto& [why, names] : undecided) {
    out += "\n" + Wrap(PrintableText(fmt::format("{} undecided: {}.", names, why)), width, 2) + "\n";
  }
  return out;
}

TextTable MetricTable(const Json& r, bool markdown) {
  const std::string level = fmt::format("{:g} % INTERVAL", 100 * (1 - r["alpha"].get<double>()));
  TextTable table({{"METRIC", Align::kLeft, true, 12},
                   {"BASELINE", Align::kRight, false, 0},
                   {"CANDIDATE", Align::kRight, false, 0},
                   {"CHANGE", Align::kRight, false, 0},
                   {level, Align::kRight, false, 0},
                   {"VERDICT", Align::kLeft, false, 0}});
  for (const Json& m : r["metrics"]) {
    const std::string name = m["metric"];
    table.AddRow({markdown ? MdCell(name, 80) : name, MetricText(m["baseline_median"], m["unit"]),
                  MetricText(m["candidate_median"], m["unit"]), PercentText(m["change"]), IntervalText(m),
                  m["outcome"]});
  }
  return table;
}

}  // namespace

std::string Headline(const Json& r) {
  const std::string outcome = r["outcome"];
  size_t count = 0;
  std::string names;
  for (const Json& m : r["metrics"]) {
    if (m["outcome"] != r["outcome"]) continue;
    names += (count++ == 0 ? "" : ", ") + m["metric"].get<std::string>();
  }
  const std::string limit = fmt::format("{:g} %", 100 * r["max_regression"].get<double>());
  if (outcome == "pass") return fmt::format("pass: a regression beyond {} is ruled out", limit);
  if (outcome == "regressed") return fmt::format("regressed: {} (limit {})", names, limit);
  const Json& policy = r["undecided_policy"];
  return fmt::format("undecided: {}{}", names,
                     policy.is_null() ? "" : fmt::format(" (counted as {})", policy.get<std::string>()));
}

std::string GateText(const Json& r, const TextStyle& style) {
  const std::string outcome = r["outcome"];
  const char* color = outcome == "pass" ? "\x1b[1;32m" : outcome == "regressed" ? "\x1b[1;31m" : "\x1b[1;33m";
  const std::string headline = PrintableText(Headline(r));
  std::string out = style.color ? fmt::format("{}{}\x1b[0m\n", color, headline) : headline + "\n";
  out += PrintableText(fmt::format("baseline {}, candidate {}; at most {:g} % worse", SideText(r["baseline"]),
                                   SideText(r["candidate"]), 100 * r["max_regression"].get<double>())) +
         "\n\n";
  out += MetricTable(r, false).Render(style.width, style.color);
  out += Remarks(r, style.width);
  for (const Json& c : r["comparability"]) {
    out += Wrap(PrintableText(fmt::format("not the same: {}: {} and {}", c["what"].get<std::string>(),
                                          c["a"].get<std::string>(), c["b"].get<std::string>())),
                style.width, 2) +
           "\n";
  }
  if (const std::string why = Explanation(r); !why.empty()) {
    out += "\nWhere it comes from (the runs nearest to the medians):\n";
    size_t begin = 0;
    for (size_t end = why.find('\n'); end != std::string::npos; end = why.find('\n', begin)) {
      out += "  " + Wrap(PrintableText(why.substr(begin, end - begin)), style.width - 2, 4) + "\n";
      begin = end + 1;
    }
  }
  return out;
}

std::string GateMarkdown(const Json& r) {
  std::string out = fmt::format("### NeuroLens gate: {}\n\n", MdText(Headline(r)));
  out += fmt::format("Baseline {}, candidate {}; at most {:g} % worse, decided at {:g} %.\n\n",
                     MdText(SideText(r["baseline"])), MdText(SideText(r["candidate"])),
                     100 * r["max_regression"].get<double>(), 100 * (1 - r["alpha"].get<double>()));
  out += MetricTable(r, true).Markdown() + "\n";
  for (const Json& m : r["metrics"]) {
    if (m["outcome"] != "pass")
      out += fmt::format("- **{}** {}\n", MdText(m["metric"].get<std::string>(), 80),
                         MdText(m["text"].get<std::string>(), 400));
  }
  for (const Json& c : r["comparability"]) {
    out += fmt::format("- not the same: {}: {} and {}\n", MdText(c["what"].get<std::string>()),
                       MdText(c["a"].get<std::string>()), MdText(c["b"].get<std::string>()));
  }
  const Json& e = r["explanation"];
  if (!e.is_null() && !e["contributions"].empty()) {
    TextTable table({{"DELTA", Align::kRight}, {"CAUSE", Align::kLeft}, {"WHAT", Align::kLeft}});
    for (const Json& c : e["contributions"]) {
      table.AddRow({fmt::format("{:+.3f} ms", c["delta_ms"].get<double>()),
                    MdCell(c["cause"].get<std::string>()), MdCell(c["text"].get<std::string>(), 200)});
    }
    out += "\n**Where it comes from** (the runs nearest to the medians)\n\n" + table.Markdown();
  }
  out += "\n<details><summary>Runs and values</summary>\n\n";
  for (const char* side : {"baseline", "candidate"}) {
    out += fmt::format("{}:", side);
    for (const Json& run : r[side]["runs"])
      out += fmt::format(" `{}` ({})", run["short_id"].get<std::string>(),
                         MdText(run["source_name"].get<std::string>(), 60));
    out += "\n\n";
  }
  return out + "</details>\n";
}

std::string GateJUnit(const Json& r) {
  std::string cases;
  size_t failures = 0, errors = 0, skipped = 0;
  for (const Json& m : r["metrics"]) {
    const std::string kind = JUnitKind(r, m);
    const std::string name = Xml(m["metric"].get<std::string>());
    cases += fmt::format("    <testcase classname=\"neurolens.gate\" name=\"{}\" time=\"0\"", name);
    if (kind.empty()) {
      cases += "/>\n";
      continue;
    }
    failures += kind == "failure" ? 1 : 0;
    errors += kind == "error" ? 1 : 0;
    skipped += kind == "skipped" ? 1 : 0;
    const std::string text = Xml(m["text"].get<std::string>());
    if (kind == "skipped") {
      cases += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", text);
    } else {
      cases += fmt::format(">\n      <{0} message=\"{1}\" type=\"{2}\">{3}</{0}>\n    </testcase>\n", kind,
                           text, m["outcome"].get<std::string>(), Xml(Explanation(r)));
    }
  }
  const size_t tests = r["metrics"].size();
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out +=
      fmt::format("<testsuites name=\"neurolens\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"0\">\n",
                  tests, failures, errors);
  out += fmt::format(
      "  <testsuite name=\"neurolens gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"0\" "
      "timestamp=\"{}\">\n",
      tests, failures, errors, skipped, r["judged_at"].get<std::string>().substr(0, 19));
  out += "    <properties>\n";
  for (const char* side : {"baseline", "candidate"}) {
    out += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", side, Xml(SideText(r[side])));
  }
  out += fmt::format("      <property name=\"max_regression\" value=\"{:g}\"/>\n    </properties>\n",
                     r["max_regression"].get<double>());
  return out + cases +
         fmt::format("    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n", Xml(Headline(r)));
}

}  // namespace nl::ops::gate
