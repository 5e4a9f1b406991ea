// SPDX-License-Identifier: Apache-2.0
#include "ops/bench/reply.h"

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "report/text_table.h"

namespace nl {

std::span<const std::string_view> NamesOf(BenchOutcome) {
  static constexpr std::string_view kNames[] = {"listed", "measured", "rejected", "failed"};
  return kNames;
}
std::span<const std::string_view> NamesOf(BenchAction) {
  static constexpr std::string_view kNames[] = {"ls", "check", "run"};
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
  r.Field("meets_goal", &BenchTarget::meets_goal, "The lower end of the interval reaches the goal");
  r.Field("iterations", &BenchTarget::iterations, "Timed samples of each side");
  r.Field("baseline_time", &BenchTarget::baseline_time, "Times of the baseline");
  r.Field("optimized_time", &BenchTarget::optimized_time, "Times of the optimized program");
  r.Field("checks", &BenchTarget::checks, "Verification");
  r.Field("reason", &BenchTarget::reason, "Why it was rejected or failed");
}

void Describe(Record<BenchReply>& r) {
  r.Name("BenchReply", "Reply of `neurolens bench`");
  r.Field("action", &BenchReply::action, "ls, check or run");
  r.Field("suite", &BenchReply::suite, "Folder of the suite");
  r.Field("targets", &BenchReply::targets, "The chosen pairs");
  r.Field("problems", &BenchReply::problems, "What is wrong with the suite");
  r.Field("goal", &BenchReply::goal, Unit::kRatio, "Speedup to reach; null: nothing was run");
  r.Field("environment", &BenchReply::environment,
          "What of this machine disturbs measurements; null: nothing was run");
}

namespace ops::bench {

namespace {

using nl::bench::NamesOf;

std::string IntervalOf(const BenchTarget& t) {
  if (!t.speedup_low || !t.speedup_high) return "-";
  return fmt::format("{:.3f}–{:.3f}", *t.speedup_low, *t.speedup_high);
}

std::string OutcomeOf(const BenchTarget& t) {
  if (t.outcome == BenchOutcome::kMeasured && t.verdict) return std::string(nl::bench::Name(*t.verdict));
  return std::string(nl::NamesOf(t.outcome)[static_cast<size_t>(t.outcome)]);
}

}  // namespace

std::string BenchText(const BenchReply& r, int width, bool color) {
  std::string out;
  if (r.action == BenchAction::kRun) {
    TextTable table({{"TARGET", Align::kLeft, true, 16},
                     {"BASELINE", Align::kRight, false, 0},
                     {"OPTIMIZED", Align::kRight, false, 0},
                     {"SPEEDUP", Align::kRight, false, 0},
                     {"INTERVAL", Align::kRight, false, 0},
                     {"VERDICT", Align::kLeft, false, 0}});
    for (const BenchTarget& t : r.targets)
      table.AddRow({t.target, t.baseline_time ? HumanMs(t.baseline_time->median_ms) : "-",
                    t.optimized_time ? HumanMs(t.optimized_time->median_ms) : "-",
                    t.speedup ? fmt::format("{:.3f}×", *t.speedup) : "-", IntervalOf(t), OutcomeOf(t)});
    out += table.Render(width, color);
  } else {
    TextTable table({{"TARGET", Align::kLeft, false, 0},
                     {"BASELINE", Align::kLeft, true, 16},
                     {"OPTIMIZED", Align::kLeft, true, 16}});
    for (const BenchTarget& t : r.targets) table.AddRow({t.target, t.baseline, t.optimized});
    out += table.Render(width, color);
  }
  for (const BenchTarget& t : r.targets) {
    if (t.reason)
      out += Wrap(PrintableText(fmt::format("{}: {}", t.target, *t.reason), Keep::kLines), width, 2) + "\n";
  }
  for (const nl::bench::SuiteProblem& p : r.problems)
    out += Wrap(PrintableText(fmt::format("{}: {}", p.file, p.text)), width, 2) + "\n";
  if (r.action == BenchAction::kCheck && r.problems.empty())
    out += fmt::format("no problems in {}\n", Counted(static_cast<int64_t>(r.targets.size()), "pair"));
  if (r.environment) {
    const std::string machine = EnvironmentText(*r.environment);
    if (!machine.empty()) out += Wrap(PrintableText("machine: " + machine), width, 2) + "\n";
  }
  return out;
}

}  // namespace ops::bench
}  // namespace nl
