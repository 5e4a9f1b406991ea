// SPDX-License-Identifier: Apache-2.0
#include "report/gate/gate_forms.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/terminal.h"
#include "report/metric_text.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

std::string PercentText(std::optional<double> share) {
  return share ? fmt::format("{:+.2f} %", 100 * *share) : "-";
}

std::string IntervalText(const GateMetric& m) {
  if (!m.ci_low || !m.ci_high) return "-";
  constexpr double kShown = 9.995;  // with two runs on a side the interval excludes next to nothing
  return fmt::format("{:+.2f} .. {}", 100 * *m.ci_low,
                     *m.ci_high > kShown ? ">+999 %" : fmt::format("{:+.2f} %", 100 * *m.ci_high));
}

std::string SideText(const GateSide& side) {
  const size_t runs = side.runs.size();
  const std::string amount = fmt::format("{} run{}", runs, runs == 1 ? "" : "s");
  return side.name ? fmt::format("{} ({})", *side.name, amount) : amount;
}

std::string DifferenceText(const CompareDifference& d) {
  return fmt::format("the setups differ in {}: {} and {}", d.what, d.a.value_or("-"), d.b.value_or("-"));
}

bool HasContributions(const GateReply& r) { return r.explanation && !r.explanation->contributions.empty(); }

std::string ContributionLine(const GateContribution& c) {
  return fmt::format("{:+.3f} ms  {}: {}", c.delta_ms, CauseName(c.cause), c.text);
}

// Metrics that did not pass, one paragraph each; those undecided for the same reason share one.
std::string Remarks(const GateReply& r, int width) {
  std::string out;
  std::vector<std::pair<std::string, std::string>> undecided;  // reason -> metrics
  for (const GateMetric& m : r.metrics) {
    if (m.outcome == GateOutcome::kRegressed)
      out += "\n" + Wrap(PrintableText(fmt::format("{} {}.", m.metric, m.text)), width, 2) + "\n";
    if (m.outcome != GateOutcome::kUndecided) continue;
    const size_t why = m.text.find("; ");
    const std::string key = why == std::string::npos ? m.text : m.text.substr(why + 2);
    const auto same =
        std::find_if(undecided.begin(), undecided.end(), [&](const auto& u) { return u.first == key; });
    if (same == undecided.end()) {
      undecided.emplace_back(key, m.metric);
    } else {
      same->second += ", " + m.metric;
    }
  }
  for (const auto& [why, names] : undecided)
    out += "\n" + Wrap(PrintableText(fmt::format("{} undecided: {}.", names, why)), width, 2) + "\n";
  return out;
}

TextTable MetricTable(const GateReply& r, bool markdown) {
  TextTable table({{"METRIC", Align::kLeft, true, 12},
                   {"BASELINE", Align::kRight, false, 0},
                   {"CANDIDATE", Align::kRight, false, 0},
                   {"CHANGE", Align::kRight, false, 0},
                   {fmt::format("{:g} % INTERVAL", 100 * (1 - r.alpha)), Align::kRight, false, 0},
                   {"VERDICT", Align::kLeft, false, 0}});
  for (const GateMetric& m : r.metrics) {
    table.AddRow({markdown ? MdCell(m.metric, 80) : m.metric, MetricText(m.baseline_median, m.unit),
                  MetricText(m.candidate_median, m.unit), PercentText(m.change), IntervalText(m),
                  std::string(OutcomeName(m.outcome))});
  }
  return table;
}

std::string ColoredHeadline(const GateReply& r, bool color) {
  const std::string headline = PrintableText(GateHeadline(r));
  if (!color) return headline + "\n";
  const char* code = r.outcome == GateOutcome::kPass        ? "\x1b[1;32m"
                     : r.outcome == GateOutcome::kRegressed ? "\x1b[1;31m"
                                                            : "\x1b[1;33m";
  return fmt::format("{}{}\x1b[0m\n", code, headline);
}

}  // namespace

std::string GateText(const GateReply& r, int width, bool color) {
  std::string out = ColoredHeadline(r, color);
  out += PrintableText(fmt::format("baseline {}, candidate {}; limit {:g} % worse", SideText(r.baseline),
                                   SideText(r.candidate), 100 * r.max_regression)) +
         "\n";
  if (r.phase) out += Wrap(ComparedPhaseText(r.phase, "the baseline", "the candidate"), width, 0) + "\n";
  out += "\n";
  out += MetricTable(r, false).Render(width, color);
  out += Remarks(r, width);
  for (const CompareDifference& d : r.comparability)
    out += Wrap(PrintableText(DifferenceText(d)), width, 2) + "\n";
  if (!HasContributions(r)) return out;
  out += "\nChanges between the runs nearest to the medians:\n";
  for (const GateContribution& c : r.explanation->contributions)
    out += "  " + Wrap(PrintableText(ContributionLine(c)), width - 2, 4) + "\n";
  return out;
}

std::string GateMarkdown(const GateReply& r) {
  std::string out = fmt::format("### NeuroLens gate: {}\n\n", MdText(GateHeadline(r)));
  out += fmt::format("Baseline {}, candidate {}; limit {:g} % worse, decided at {:g} %.",
                     MdText(SideText(r.baseline)), MdText(SideText(r.candidate)), 100 * r.max_regression,
                     100 * (1 - r.alpha));
  if (r.phase) out += " " + ComparedPhaseText(r.phase, "the baseline", "the candidate");
  out += "\n\n";
  out += MetricTable(r, true).Markdown() + "\n";
  for (const GateMetric& m : r.metrics) {
    if (m.outcome != GateOutcome::kPass)
      out += fmt::format("- **{}** {}\n", MdText(m.metric, 80), MdText(m.text, 400));
  }
  for (const CompareDifference& d : r.comparability) out += fmt::format("- {}\n", MdText(DifferenceText(d)));
  if (HasContributions(r)) {
    TextTable table({{"DELTA", Align::kRight}, {"CAUSE", Align::kLeft}, {"CHANGE", Align::kLeft}});
    for (const GateContribution& c : r.explanation->contributions) {
      table.AddRow({fmt::format("{:+.3f} ms", c.delta_ms), MdCell(CauseName(c.cause)), MdCell(c.text, 200)});
    }
    out += "\n**Changes** between the runs nearest to the medians\n\n" + table.Markdown();
  }
  out += "\n<details><summary>Runs</summary>\n\n";
  for (const auto& [name, side] :
       {std::pair("baseline", &r.baseline), std::pair("candidate", &r.candidate)}) {
    out += fmt::format("{}:", name);
    for (const GateRun& run : side->runs)
      out += fmt::format(" `{}` ({})", run.short_id, MdText(run.source_name, 60));
    out += "\n\n";
  }
  return out + "</details>\n";
}

}  // namespace nl
