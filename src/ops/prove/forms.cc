// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <fmt/format.h>

#include "base/human.h"
#include "base/markdown.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "ops/prove/reply.h"
#include "report/junit.h"
#include "report/result_page.h"
#include "report/text_table.h"

namespace nl::ops::prove {

namespace {

using nl::bench::Verdict;

// Enough digits to see the interval: 1.18, but 1.0042.
std::string Factor(double value, double width) {
  const int digits = width > 0.02 ? 2 : width > 0.002 ? 3 : 4;
  return fmt::format("{:.{}f}", value, digits);
}

double Width(const ProveReply& r) {
  return r.speedup_low && r.speedup_high ? *r.speedup_high - *r.speedup_low : 1;
}

std::string Interval(const ProveReply& r, bool inverse) {
  if (!r.speedup_low || !r.speedup_high) return "no interval yet";
  const double width = Width(r);
  return inverse ? fmt::format("{}–{}", Factor(1 / *r.speedup_high, width), Factor(1 / *r.speedup_low, width))
                 : fmt::format("{}–{}", Factor(*r.speedup_low, width), Factor(*r.speedup_high, width));
}

std::string Percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string Causes(const ProveReply& r) {
  if (!r.why || r.why->causes.empty()) return "";
  std::string out;
  for (const ProveCause& cause : r.why->causes) {
    out += fmt::format("{}{:.0f} %{} because {}", out.empty() ? "" : ", ", 100 * cause.share,
                       out.empty() ? " of it" : "", cause.text);
    if (&cause - r.why->causes.data() >= 2) break;
  }
  return ": " + out;
}

std::string Memory(const ProveSide& side) {
  return side.peak_rss_bytes ? HumanBytes(*side.peak_rss_bytes) : "-";
}

TableRows Sides(const ProveReply& r) {
  TableRows table{{{"", Align::kLeft, false, 0},
                   {"MEDIAN", Align::kRight, false, 0},
                   {"MEAN", Align::kRight, false, 0},
                   {"P25", Align::kRight, false, 0},
                   {"P75", Align::kRight, false, 0},
                   {"P99", Align::kRight, false, 0},
                   {"USER", Align::kRight, false, 0},
                   {"SYSTEM", Align::kRight, false, 0},
                   {"PEAK RSS", Align::kRight, false, 0}},
                  {}};
  for (const auto& [name, side] : {std::pair("A", &r.a), std::pair("B", &r.b)}) {
    const nl::bench::TimeSummary& t = side->wall;
    table.rows.push_back({name, HumanMs(t.median_ms), HumanMs(t.mean_ms), HumanMs(t.p25_ms),
                          HumanMs(t.p75_ms), HumanMs(t.p99_ms), HumanMs(side->user_ms),
                          HumanMs(side->system_ms), Memory(*side)});
  }
  return table;
}

TableRows CauseTable(const ProveWhy& why) {
  TableRows table{
      {{"CAUSE", Align::kLeft}, {"A", Align::kRight}, {"B", Align::kRight}, {"SHARE", Align::kRight}}, {}};
  for (const ProveCause& c : why.causes)
    table.rows.push_back({c.text, HumanMs(c.a_ms), HumanMs(c.b_ms), fmt::format("{:.0f} %", 100 * c.share)});
  return table;
}

std::string OutputText(const nl::bench::OutputCheck& o) {
  if (!o.equal) return fmt::format("outputs not compared: {}", o.reason.value_or("-"));
  if (*o.equal) return fmt::format("outputs are equal ({})", fmt::join(o.compared, ", "));
  return fmt::format("the outputs differ: {}", o.difference.value_or("-"));
}

std::string MethodText(const ProveReply& r) {
  std::string out = fmt::format(
      "{} of each in {} after {}, stopped by {}; {:g} % interval, p {:.2g}", Counted(r.iterations, "run"),
      HumanMs(1e3 * r.timed_s), Counted(r.warmup, "warm-up run"),
      nl::bench::NamesOf(r.stopped_by)[static_cast<size_t>(r.stopped_by)], 100 * (1 - r.alpha), r.p_value);
  if (r.group_runs > 1) out += fmt::format("; the ratio is of the shortest of {} runs", r.group_runs);
  if (r.budget_needed_s)
    out += fmt::format("; a verdict needs about --budget {:.0f}s", std::ceil(*r.budget_needed_s));
  return out;
}

std::string WhyText(const ProveReply& r) {
  if (!r.why) return "";
  if (r.why->reason) return fmt::format("cause not known: {}", *r.why->reason);
  std::string out = fmt::format("causes from {}, one recording of each side", r.why->basis.value_or("-"));
  if (r.a.run_id && r.b.run_id) out += fmt::format(": neurolens compare {} {}", *r.a.run_id, *r.b.run_id);
  return out;
}

// `why`: with a line about the cause, where it has no section of its own.
std::vector<std::string> Remarks(const ProveReply& r, bool why = true) {
  std::vector<std::string> out{MethodText(r), OutputText(r.outputs)};
  if (const std::string cause = WhyText(r); why && !cause.empty()) out.push_back(cause);
  for (const std::string& note : r.notes) out.push_back("note: " + note);
  if (const std::string machine = EnvironmentText(r.environment); !machine.empty())
    out.push_back("machine: " + machine);
  return out;
}

std::string SideName(const ProveSide& side) {
  return side.revision ? fmt::format("{} at {}", side.command, side.revision->substr(0, 12)) : side.command;
}

}  // namespace

std::string Headline(const ProveReply& r) {
  const double width = Width(r);
  switch (r.verdict) {
    case Verdict::kFaster:
      return fmt::format("B is {}× faster ({}){}", Factor(r.speedup, width), Interval(r, false), Causes(r));
    case Verdict::kSlower:
      return fmt::format("B is {}× slower ({}, {:+.2f} %){}", Factor(1 / r.speedup, width), Interval(r, true),
                         100 * r.gain, Causes(r));
    case Verdict::kSame:
      return fmt::format("B is as fast as A: {}× ({}), within {}", Factor(r.speedup, width),
                         Interval(r, false), Percent(r.margin));
    case Verdict::kUndecided: break;
  }
  return fmt::format("undecided: {}× ({})", Factor(r.speedup, width), Interval(r, false));
}

std::string ProveText(const ProveReply& r, int width, bool color) {
  const bool good = r.verdict == Verdict::kFaster || r.verdict == Verdict::kSame;
  const bool differ = r.outputs.equal && !*r.outputs.equal;
  const char* code = differ || r.verdict == Verdict::kSlower ? "\x1b[1;31m"
                     : good                                  ? "\x1b[1;32m"
                                                             : "\x1b[1;33m";
  const std::string headline = Wrap(PrintableText(r.text), width, 2);
  std::string out = color ? fmt::format("{}{}\x1b[0m\n", code, headline) : headline + "\n";
  out += "A  " + PrintableName(SideName(r.a), width - 3) + "\nB  " + PrintableName(SideName(r.b), width - 3) +
         "\n\n";
  out += Sides(r).Text().Render(width, color) + "\n";
  for (const std::string& line : Remarks(r)) out += Wrap(PrintableText(line), width, 2) + "\n";
  for (const WrittenFile& file : r.files) out += fmt::format("wrote {}\n", PrintableText(file.path));
  return out;
}

std::string ProveMarkdown(const ProveReply& r) {
  std::string out = fmt::format("### NeuroLens: {}\n\n", MarkdownText(r.text));
  out += fmt::format("- A: {}\n- B: {}\n\n", MarkdownText(SideName(r.a)), MarkdownText(SideName(r.b)));
  out += Sides(r).Text().Markdown() + "\n";
  if (r.why && !r.why->causes.empty()) out += CauseTable(*r.why).Text().Markdown() + "\n";
  for (const std::string& line : Remarks(r)) out += fmt::format("- {}\n", MarkdownText(line));
  return out;
}

std::string ProveHtml(const ProveReply& r) {
  const bool differ = r.outputs.equal && !*r.outputs.equal;
  const PageTone tone = differ || r.verdict == Verdict::kSlower ? PageTone::kBad
                        : r.verdict == Verdict::kUndecided      ? PageTone::kOpen
                                                                : PageTone::kGood;
  ResultPage page("NeuroLens: " + r.text, r.text, tone);
  if (differ) page.Paragraph(OutputText(r.outputs));
  page.List({"A: " + SideName(r.a), "B: " + SideName(r.b)});
  page.Table(Sides(r));
  page.Section("Why");
  const bool decided = r.verdict == Verdict::kFaster || r.verdict == Verdict::kSlower;
  page.Paragraph(r.why     ? WhyText(r)
                 : decided ? "not recorded (--no-why)"
                           : "no difference was proven, so there is none to explain");
  if (r.why && !r.why->causes.empty()) page.Table(CauseTable(*r.why));
  page.Section("Measurement");
  page.List(Remarks(r, false));
  return page.Html();
}

std::string ProveJUnit(const ProveReply& r) {
  const bool slower = r.verdict == Verdict::kSlower;
  const bool undecided = r.verdict == Verdict::kUndecided;
  const bool differ = r.outputs.equal && !*r.outputs.equal;
  JUnitSuite suite;
  suite.command = "prove";
  suite.seconds = r.timed_s;
  suite.cases.push_back({"time",
                         slower      ? JUnitOutcome::kFailure
                         : undecided ? JUnitOutcome::kSkipped
                                     : JUnitOutcome::kPassed,
                         r.text, "time", ""});
  suite.cases.push_back({"output",
                         differ            ? JUnitOutcome::kFailure
                         : r.outputs.equal ? JUnitOutcome::kPassed
                                           : JUnitOutcome::kSkipped,
                         OutputText(r.outputs), "output", ""});
  suite.output = r.text;
  return JUnitXml(suite);
}

}  // namespace nl::ops::prove
