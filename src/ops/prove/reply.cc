// SPDX-License-Identifier: Apache-2.0
#include "ops/prove/reply.h"

namespace nl {

void Describe(Record<ProveSide>& r) {
  r.Name("ProveSide", "One of the two commands, measured");
  r.Field("command", &ProveSide::command, "The command as given");
  r.Field("shell", &ProveSide::shell, "It ran in /bin/sh, whose start is part of the time");
  r.Field("revision", &ProveSide::revision, "Git commit it ran on");
  r.Field("wall", &ProveSide::wall, "Time from the start to the end of a run");
  r.Field("user_ms", &ProveSide::user_ms, Unit::kMs, "CPU time in user mode, median");
  r.Field("system_ms", &ProveSide::system_ms, Unit::kMs, "CPU time in the kernel, median");
  r.Field("peak_rss_bytes", &ProveSide::peak_rss_bytes, Unit::kBytes,
          "Largest resident memory of one process, median over the warm-up");
  r.Field("peak_rss_reason", &ProveSide::peak_rss_reason, "Why the peak is not known");
  r.Field("run_id", &ProveSide::run_id, "Run in the store with the recording that explains the difference");
  r.Field("walls_ms", &ProveSide::walls_ms, Unit::kMs,
          "Every timed run; run i of A was measured beside run i of B");
}

void Describe(Record<ProveCause>& r) {
  r.Name("ProveCause", "Part of the difference between the two recordings");
  r.Field("text", &ProveCause::text, "What changed");
  r.Field("a_ms", &ProveCause::a_ms, Unit::kMs, "Its time in A");
  r.Field("b_ms", &ProveCause::b_ms, Unit::kMs, "Its time in B");
  r.Field("share", &ProveCause::share, Unit::kShare, "Part of the recorded difference; negative: against it");
}

void Describe(Record<ProveWhy>& r) {
  r.Name("ProveWhy", "Why one side is faster, from one recording of each");
  r.Field("basis", &ProveWhy::basis, "What the causes come from: cpu samples or device work");
  r.Field("recorded_a_ms", &ProveWhy::recorded_a_ms, Unit::kMs, "Time of A in the recording that is divided");
  r.Field("recorded_b_ms", &ProveWhy::recorded_b_ms, Unit::kMs, "The same of B");
  r.Field("causes", &ProveWhy::causes, "Largest first");
  r.Field("reason", &ProveWhy::reason, "Why the cause is not known");
}

void Describe(Record<ProveReply>& r) {
  r.Name("ProveReply", "Reply of `neurolens prove`");
  r.Field("verdict", &ProveReply::verdict, "B compared with A: faster, slower, same or undecided");
  r.Field("text", &ProveReply::text, "The verdict in one sentence");
  r.Field("speedup", &ProveReply::speedup, Unit::kRatio, "Time of A over time of B; below 1, B is slower");
  r.Field("speedup_low", &ProveReply::speedup_low, Unit::kRatio, "Lower end of its interval; null: no limit");
  r.Field("speedup_high", &ProveReply::speedup_high, Unit::kRatio,
          "Upper end of its interval; null: no limit");
  r.Field("gain", &ProveReply::gain, Unit::kShare, "speedup - 1; negative for a slowdown");
  r.Field("p_value", &ProveReply::p_value,
          "Of no difference; valid whenever the measurement stopped, at most alpha exactly if the interval "
          "leaves "
          "out 1");
  r.Field("alpha", &ProveReply::alpha, "1 - level of the interval");
  r.Field("margin", &ProveReply::margin, Unit::kShare, "Relative difference below which both are the same");
  r.Field("precision", &ProveReply::precision, Unit::kShare, "Half-width of the interval that was aimed at");
  r.Field("stopped_by", &ProveReply::stopped_by,
          "What ended the measurement: precision, budget or iterations");
  r.Field("iterations", &ProveReply::iterations, "Timed runs of each side");
  r.Field("warmup", &ProveReply::warmup, "Runs of each side before them");
  r.Field("group_runs", &ProveReply::group_runs,
          "Neighbouring runs of each side of which the shortest counts for the ratio; 1: every run counts");
  r.Field("timed_s", &ProveReply::timed_s, Unit::kSeconds, "Duration of the timed part");
  r.Field("budget_s", &ProveReply::budget_s, Unit::kSeconds, "Most that it may take");
  r.Field("budget_needed_s", &ProveReply::budget_needed_s, Unit::kSeconds,
          "Budget with which a verdict is likely; null: decided, or not known");
  r.Field("seed", &ProveReply::seed, "Seed of the order");
  r.Field("a", &ProveReply::a, "The first command");
  r.Field("b", &ProveReply::b, "The second command");
  r.Field("outputs", &ProveReply::outputs, "Whether both gave the same result");
  r.Field("why", &ProveReply::why, "Why one is faster; null: not asked for, or no difference");
  r.Field("environment", &ProveReply::environment, "Conditions of this machine that disturb measurements");
  r.Field("gpu", &ProveReply::gpu, "The GPUs of the machine while it was measured");
  r.Field("notes", &ProveReply::notes, "What else to know about these numbers, for people");
  r.Field("result_id", &ProveReply::result_id,
          "Id of this result in the store, for `bench-results`; null: it is not kept");
  r.Field("files", &ProveReply::files, "Files written");
}

}  // namespace nl
