// SPDX-License-Identifier: Apache-2.0
#include "ops/bench/reply.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/human.h"
#include "base/markdown.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "report/junit.h"
#include "report/result_page.h"
#include "report/text_table.h"

namespace nl {

std::span<const std::string_view> NamesOf(BenchOutcome) {
  static constexpr std::string_view kNames[] = {"listed", "measured", "rejected", "failed"};
  return kNames;
}
std::span<const std::string_view> NamesOf(BenchAction) {
  static constexpr std::string_view kNames[] = {"ls", "check", "run", "deep_dive", "sweep", "expectations"};
  return kNames;
}

void Describe(Record<BenchTarget>& r) {
  r.Name("BenchTarget", "A baseline and an optimized program");
  r.Field("target", &BenchTarget::target, "GROUP:NAME, or GROUP:NAME_VARIANT");
  r.Field("baseline", &BenchTarget::baseline, "File or command of the baseline");
  r.Field("optimized", &BenchTarget::optimized, "File or command that is measured against it");
  r.Field("outcome", &BenchTarget::outcome,
          "listed: not run; measured; rejected: a check failed, so no time is reported; failed: it cannot be "
          "run");
  r.Field("verdict", &BenchTarget::verdict, "The optimized program: faster, slower, same or undecided");
  r.Field("speedup", &BenchTarget::speedup, Unit::kRatio,
          "Time of the baseline over time of the optimized program");
  r.Field("speedup_low", &BenchTarget::speedup_low, Unit::kRatio, "Lower end of its interval");
  r.Field("speedup_high", &BenchTarget::speedup_high, Unit::kRatio, "Upper end of its interval");
  r.Field("gain", &BenchTarget::gain, Unit::kShare, "speedup - 1; negative for a slowdown");
  r.Field("p_value", &BenchTarget::p_value, "Of no difference");
  r.Field("goal", &BenchTarget::goal,
          "speed: less time; memory: a lower peak; throughput: more items per second");
  r.Field("goal_declared", &BenchTarget::goal_declared,
          "bench.yaml declares it: missing it makes the answer no");
  r.Field("goal_ratio", &BenchTarget::goal_ratio, Unit::kRatio, "To reach; null: it was not run");
  r.Field(
      "goal_reached", &BenchTarget::goal_reached, Unit::kRatio,
      "What was reached: speedup, memory_ratio, or speedup times the ratio of the items; null: not known");
  r.Field("meets_goal", &BenchTarget::meets_goal,
          "goal_reached is at least goal_ratio; of speed and throughput, the lower end of the interval is");
  r.Field("meets_memory_goal", &BenchTarget::meets_memory_goal, "memory_ratio reaches the goal for memory");
  r.Field("iterations", &BenchTarget::iterations, "Timed samples of each side");
  r.Field("baseline_time", &BenchTarget::baseline_time, "Times of the baseline");
  r.Field("optimized_time", &BenchTarget::optimized_time, "Times of the optimized program");
  r.Field("baseline_device_ms", &BenchTarget::baseline_device_ms, Unit::kMs,
          "Median time on the GPU, on the declared streams; null: no GPU is used");
  r.Field("optimized_device_ms", &BenchTarget::optimized_device_ms, Unit::kMs, "Of the optimized program");
  r.Field("baseline_peak_bytes", &BenchTarget::baseline_peak_bytes, Unit::kBytes,
          "Peak memory: of the GPU where one is used, of the process otherwise; null: not known");
  r.Field("optimized_peak_bytes", &BenchTarget::optimized_peak_bytes, Unit::kBytes,
          "Of the optimized program");
  r.Field("memory_ratio", &BenchTarget::memory_ratio, Unit::kRatio,
          "Peak memory of the baseline over that of the optimized program");
  r.Field("checks", &BenchTarget::checks, "Verification");
  r.Field("gpu", &BenchTarget::gpu, "The GPUs while it was measured; null: it uses none");
  r.Field("profile", &BenchTarget::profile,
          "Both programs recorded and compared; null: not asked for, or another variant is faster");
  r.Field("reason", &BenchTarget::reason,
          "Why it was rejected or failed; with --phase detect, which checks failed");
}

bool IsWorse(const BenchTarget& t, double regression) {
  if (t.goal_declared && t.meets_goal == false) return true;
  if (t.verdict != bench::Verdict::kSlower) return false;
  // Another goal may cost some speed.
  return t.goal == bench::Goal::kSpeed || !t.gain || *t.gain < -regression;
}

void Describe(Record<BenchReply>& r) {
  r.Name("BenchReply", "Reply of `neurolens bench`");
  r.Field("action", &BenchReply::action, "ls, check, run, deep_dive, sweep or expectations");
  r.Field("suite", &BenchReply::suite, "Folder of the suite");
  r.Field("targets", &BenchReply::targets, "The chosen pairs");
  r.Field("problems", &BenchReply::problems, "What is wrong with the suite");
  r.Field("expectations", &BenchReply::expectations,
          "The measured pairs against expectations_HARDWARE.json of the suite; empty without the file");
  r.Field("memory_goal", &BenchReply::memory_goal, Unit::kRatio,
          "Memory ratio to reach; null: nothing was run");
  r.Field("run_id", &BenchReply::run_id, "Name of the folder in --artifacts; null: not asked for");
  r.Field("result_id", &BenchReply::result_id,
          "Id of this result in the store, for `bench-results`; null: nothing was run, or it is not kept");
  r.Field("sweep", &BenchReply::sweep, "What a sweep recorded; null: it was not one");
  r.Field("files", &BenchReply::files, "Files that were written");
  r.Field("goal", &BenchReply::goal, Unit::kRatio, "Speedup to reach; null: nothing was run");
  r.Field(
      "regression", &BenchReply::regression, Unit::kShare,
      "Slowdown (a negative gain) that pairs with another goal than speed may have; null: nothing was run");
  r.Field("environment", &BenchReply::environment,
          "Conditions of this machine that disturb measurements; null: nothing was run");
}

void Describe(Record<DeepDiveExample>& r) {
  r.Name("DeepDiveExample", "A baseline with its variants");
  r.Field("example", &DeepDiveExample::example, "GROUP:NAME");
  r.Field("selected", &DeepDiveExample::selected, "The variant that is profiled; null: see selected_reason");
  r.Field("selected_reason", &DeepDiveExample::selected_reason, "Why none is");
  r.Field("targets", &DeepDiveExample::targets,
          "Every variant with its times; the selected one with its profile");
  r.Field("comparison", &DeepDiveExample::comparison, "Its recordings as `compare` compares them");
}

void Describe(Record<DeepDiveDocument>& r) {
  r.Name("DeepDiveDocument", "reports/deep_dive_compare.json of `neurolens bench deep-dive`");
  r.Field("deep_dive_version", &DeepDiveDocument::deep_dive_version, "Version of this form");
  r.Field("run_id", &DeepDiveDocument::run_id, "Name of the folder");
  r.Field("suite", &DeepDiveDocument::suite, "Folder of the suite");
  r.Field("profile", &DeepDiveDocument::profile, "minimal, roofline or deep_dive");
  r.Field("created_at", &DeepDiveDocument::created_at, "RFC 3339");
  r.Field("examples", &DeepDiveDocument::examples, "By group and name");
}

namespace ops::bench {

namespace {

using nl::bench::NamesOf;

// Of every profiled pair: the sentences, and the kernels that changed most.
std::vector<std::string> ProfileLines(const BenchReply& r) {
  std::vector<std::string> out;
  for (const BenchTarget& t : r.targets) {
    if (!t.profile) continue;
    for (const std::string& sentence : t.profile->narrative)
      out.push_back(fmt::format("{}: {}", t.target, sentence));
    for (const auto& text : {t.profile->reason, t.profile->baseline.reason, t.profile->optimized.reason,
                             r.action == BenchAction::kDeepDive ? t.profile->metric_reason : std::nullopt}) {
      if (text) out.push_back(fmt::format("{}: {}", t.target, *text));
    }
  }
  return out;
}

std::string SettingsText(const std::map<std::string, std::string>& settings) {
  std::string out;
  for (const auto& [name, value] : settings)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  return out;
}

TextTable SweepTable(const BenchSweep& sweep) {
  TextTable table({{"SETTINGS", Align::kLeft, true, 16},
                   {"RUNS", Align::kRight, false, 0},
                   {"FAILED", Align::kRight, false, 0},
                   {"WALL", Align::kRight, false, 0},
                   {"LOW", Align::kRight, false, 0},
                   {"HIGH", Align::kRight, false, 0},
                   {"GPU", Align::kRight, false, 0}});
  const auto ms = [](const std::optional<double>& value) { return value ? HumanMs(*value) : "-"; };
  for (const SweepPoint& p : sweep.points)
    table.AddRow({SettingsText(p.settings), std::to_string(p.runs), std::to_string(p.failed), ms(p.wall_ms),
                  ms(p.wall_low_ms), ms(p.wall_high_ms), ms(p.busy_ms)});
  return table;
}

std::string GoalText(const BenchTarget& t) {
  if (!t.goal_declared || !t.goal_reached || !t.goal_ratio) return "";
  return fmt::format("{}: goal {} {:.3g}×: {} ({:.3g}×)", t.target,
                     NamesOf(t.goal)[static_cast<size_t>(t.goal)], *t.goal_ratio,
                     t.meets_goal == true ? "reached" : "not reached", *t.goal_reached);
}

std::string IntervalOf(const BenchTarget& t) {
  if (!t.speedup_low || !t.speedup_high) return "-";
  return fmt::format("{:.3f}–{:.3f}", *t.speedup_low, *t.speedup_high);
}

std::string OutcomeOf(const BenchTarget& t) {
  if (t.outcome == BenchOutcome::kMeasured && t.verdict) return std::string(nl::bench::Name(*t.verdict));
  return std::string(nl::NamesOf(t.outcome)[static_cast<size_t>(t.outcome)]);
}

TableRows Measured(const BenchReply& r) {
  const bool on_device = std::any_of(r.targets.begin(), r.targets.end(),
                                     [](const BenchTarget& t) { return t.optimized_device_ms.has_value(); });
  std::vector<TextColumn> columns{
      {"TARGET", Align::kLeft, true, 16},     {"BASELINE", Align::kRight, false, 0},
      {"OPTIMIZED", Align::kRight, false, 0}, {"SPEEDUP", Align::kRight, false, 0},
      {"INTERVAL", Align::kRight, false, 0},  {"MEMORY", Align::kRight, false, 0},
      {"VERDICT", Align::kLeft, false, 0}};
  if (on_device) columns.insert(columns.begin() + 3, {"ON GPU", Align::kRight, false, 0});
  TableRows table{std::move(columns), {}};
  for (const BenchTarget& t : r.targets) {
    std::vector<std::string> row{t.target,
                                 t.baseline_time ? HumanMs(t.baseline_time->median_ms) : "-",
                                 t.optimized_time ? HumanMs(t.optimized_time->median_ms) : "-",
                                 t.speedup ? fmt::format("{:.3f}×", *t.speedup) : "-",
                                 IntervalOf(t),
                                 t.memory_ratio ? fmt::format("{:.2f}×", *t.memory_ratio) : "-",
                                 OutcomeOf(t)};
    if (on_device) row.insert(row.begin() + 3, t.optimized_device_ms ? HumanMs(*t.optimized_device_ms) : "-");
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<std::string> Remarks(const BenchReply& r) {
  std::vector<std::string> out;
  for (const BenchTarget& t : r.targets) {
    if (t.reason) out.push_back(fmt::format("{}: {}", t.target, *t.reason));
    if (std::string goal = GoalText(t); !goal.empty()) out.push_back(std::move(goal));
    const std::string gpu = t.gpu ? ConditionsText(*t.gpu) : "";
    if (!gpu.empty()) out.push_back(fmt::format("{}: {}", t.target, gpu));
  }
  for (std::string& line : ProfileLines(r)) out.push_back(std::move(line));
  for (const nl::bench::ExpectationResult& e : r.expectations)
    out.push_back(
        fmt::format("{}: {}: {}", e.target, NamesOf(e.status)[static_cast<size_t>(e.status)], e.text));
  for (const nl::bench::SuiteProblem& p : r.problems) out.push_back(fmt::format("{}: {}", p.file, p.text));
  if (r.environment) {
    const std::string machine = EnvironmentText(*r.environment);
    if (!machine.empty()) out.push_back("machine: " + machine);
  }
  return out;
}

}  // namespace

std::string BenchText(const BenchReply& r, int width, bool color) {
  std::string out;
  if (r.sweep) {
    out += SweepTable(*r.sweep).Render(width, color);
    for (const SweepRun& run : r.sweep->runs)
      if (run.reason)
        out += Wrap(PrintableText(
                        fmt::format("{} repeat={}: {}", SettingsText(run.settings), run.repeat, *run.reason),
                        Keep::kLines),
                    width, 2) +
               "\n";
  } else if (r.action == BenchAction::kRun || r.action == BenchAction::kDeepDive) {
    out += Measured(r).Text().Render(width, color);
  } else {
    TextTable table({{"TARGET", Align::kLeft, false, 0},
                     {"BASELINE", Align::kLeft, true, 16},
                     {"OPTIMIZED", Align::kLeft, true, 16}});
    for (const BenchTarget& t : r.targets) table.AddRow({t.target, t.baseline, t.optimized});
    out += table.Render(width, color);
  }
  for (const std::string& line : Remarks(r)) out += Wrap(PrintableText(line, Keep::kLines), width, 2) + "\n";
  if (r.action == BenchAction::kExpectations && r.problems.empty())
    out += "no problems in the expectations\n";
  if (r.action == BenchAction::kCheck && r.problems.empty())
    out += fmt::format("no problems in {}\n", Counted(static_cast<int64_t>(r.targets.size()), "pair"));
  for (const WrittenFile& file : r.files) out += fmt::format("wrote {}\n", PrintableText(file.path));
  return out;
}

std::string BenchMarkdown(const BenchReply& r) {
  std::string out =
      fmt::format("### NeuroLens: {} of {}\n\n{}\n", Counted(static_cast<int64_t>(r.targets.size()), "pair"),
                  MarkdownText(r.suite), Measured(r).Text().Markdown());
  for (const std::string& line : Remarks(r)) out += fmt::format("- {}\n", MarkdownText(line));
  return out;
}

std::string BenchHtml(const BenchReply& r) {
  std::map<std::string, int64_t> outcomes;
  for (const BenchTarget& t : r.targets) ++outcomes[OutcomeOf(t)];
  std::string headline = Counted(static_cast<int64_t>(r.targets.size()), "pair") + ":";
  for (const auto& [outcome, count] : outcomes)
    headline += fmt::format("{} {} {}", headline.back() == ':' ? "" : ",", count, outcome);
  const bool bad = outcomes.count("rejected") + outcomes.count("failed") > 0 ||
                   std::any_of(r.targets.begin(), r.targets.end(),
                               [&](const BenchTarget& t) { return IsWorse(t, r.regression.value_or(0)); });
  ResultPage page("NeuroLens: " + r.suite, headline,
                  bad                               ? PageTone::kBad
                  : outcomes.count("undecided") > 0 ? PageTone::kOpen
                                                    : PageTone::kGood);
  page.Paragraph("Suite " + r.suite);
  page.Table(Measured(r));
  const std::vector<std::string> remarks = Remarks(r);
  if (!remarks.empty()) page.Section("Notes");
  page.List(remarks);
  return page.Html();
}

std::string BenchJUnit(const BenchReply& r) {
  JUnitSuite suite;
  suite.command = "bench";
  for (const BenchTarget& t : r.targets) {
    const bool bad = t.outcome != BenchOutcome::kMeasured || IsWorse(t, r.regression.value_or(0));
    suite.cases.push_back(
        {t.target, bad ? JUnitOutcome::kFailure : JUnitOutcome::kPassed,
         t.reason.value_or(fmt::format("{:.3f}× ({})", t.speedup.value_or(0), IntervalOf(t))), OutcomeOf(t),
         ""});
  }
  suite.output = fmt::format("{} of {}", Counted(static_cast<int64_t>(r.targets.size()), "pair"), r.suite);
  return JUnitXml(suite);
}

}  // namespace ops::bench
}  // namespace nl
