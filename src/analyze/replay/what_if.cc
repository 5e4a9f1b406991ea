// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/what_if.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/plural.h"

namespace nl::replay {

namespace {

constexpr double kNoGain = 0.001;  // of the step

int64_t NotFixed(const StepReplay& steps, const Plan& plan, const FixTargets& targets) {
  return std::count_if(targets.nodes.begin(), targets.nodes.end(),
                       [&](uint32_t node) { return !IsFixed(steps, plan, node); });
}

// What forbids the capture of a graph: one wait at the end of a step does not.
std::string CaptureObstacles(const StepReplay& steps, const FixSearch& search, const Plan& plan) {
  std::vector<std::string> what, first;
  const auto add = [&](const FixTargets& targets, int64_t most, const char* noun, const char* fix) {
    const int64_t count = NotFixed(steps, plan, targets);
    if (count <= most) return;
    what.push_back(Counted(count, noun));
    first.emplace_back(fix);
  };
  add(search.Waits(""), 2 * steps.steps() - 1, "wait", "sync");
  add(search.PageableCopies(""), 0, "pageable copy", "pinned");
  add(search.Allocations(), steps.steps() - 1, "allocation", "allocs");
  if (what.empty()) return "";
  return fmt::format("a graph cannot be captured while the steps have {}; apply {} first",
                     fmt::join(what, ", "), fmt::join(first, " and "));
}

FixOutcome ApplyBatchSize(const StepReplay& steps, const RequestedFix& fix, double before_ns, Plan& plan) {
  FixOutcome out;
  out.note = fix.note;
  out.step_ns = before_ns;
  if (fix.count == 0) return out;
  const auto with = [&](BatchCase which) {
    Plan next = plan;
    ApplyBatch(steps, *fix.batch, which, next);
    return steps.StepNs(next);
  };
  const double best_ns = with(BatchCase::kBest), worst_ns = with(BatchCase::kWorst);
  ApplyBatch(steps, *fix.batch, BatchCase::kExpected, plan);
  out.step_ns = steps.StepNs(plan);
  // What is unsure of any replay: the price of the recorder.
  const Gain doubt = GainOf(steps, out.step_ns);
  const double unsure = out.step_ns > 0 ? 1 - doubt.low * 1e6 / out.step_ns : 0;
  const double low_ns = std::min(best_ns, out.step_ns) * (1 - unsure / 2);
  const double high_ns = std::max(worst_ns, out.step_ns) * (1 + unsure / 2);
  out.step_ms = Gain{low_ns / 1e6, out.step_ns / 1e6, high_ns / 1e6};
  const auto saved_ms = [&](double ns) { return (before_ns - ns / fix.batch->factor) / 1e6; };
  out.gain_ms = {saved_ms(high_ns), saved_ms(out.step_ns), saved_ms(low_ns)};
  out.gain_share = out.gain_ms.expected * 1e6 / steps.step_ns();
  return out;
}

FixOutcome Apply(const StepReplay& steps, const FixSearch& search, const RequestedFix& fix, bool first,
                 double before_ns, Plan& plan) {
  if (fix.batch) return ApplyBatchSize(steps, fix, before_ns, plan);
  FixOutcome out;
  std::vector<std::string> notes;
  if (!fix.note.empty()) notes.push_back(fix.note);
  for (const FixChange& change : fix.changes) {
    if (change.kind == FixKind::kGraphs) {
      if (std::string obstacles = CaptureObstacles(steps, search, plan); !obstacles.empty())
        notes.push_back(std::move(obstacles));
    }
    ApplyFix(steps, change, plan);
  }
  for (const WorkLimit& limit : fix.limits) steps.LimitWork(plan, limit.work, limit.most_ns);
  out.step_ns = fix.count > 0 ? std::min(before_ns, steps.StepNs(plan)) : before_ns;
  const double gain_ns = before_ns - out.step_ns;
  out.gain_ms = GainOf(steps, gain_ns);
  out.gain_share = gain_ns / steps.step_ns();
  if (fix.count > 0 && out.gain_share < kNoGain) {
    notes.push_back(first
                        ? "no gain: this time is hidden behind other work of the step"
                        : "no gain: this time is hidden behind other work, or the fixes before it gained it");
  }
  out.note = fmt::format("{}", fmt::join(notes, "; "));
  return out;
}

}  // namespace

std::vector<FixOutcome> ApplyInOrder(const StepReplay& steps, const FixSearch& search,
                                     const std::vector<RequestedFix>& fixes) {
  std::vector<FixOutcome> out;
  Plan plan = steps.unchanged();
  double step_ns = steps.step_ns();
  for (const RequestedFix& fix : fixes) {
    out.push_back(Apply(steps, search, fix, out.empty(), step_ns, plan));
    step_ns = out.back().step_ns;
  }
  return out;
}

std::vector<FixOutcome> ApplyEachAlone(const StepReplay& steps, const FixSearch& search,
                                       const std::vector<RequestedFix>& fixes) {
  std::vector<FixOutcome> out;
  for (const RequestedFix& fix : fixes) {
    Plan plan = steps.unchanged();
    out.push_back(Apply(steps, search, fix, true, steps.step_ns(), plan));
  }
  return out;
}

}  // namespace nl::replay
