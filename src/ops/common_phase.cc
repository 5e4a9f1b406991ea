// SPDX-License-Identifier: Apache-2.0
#include "ops/common_phase.h"

#include <algorithm>

#include "analyze/facts/timeline.h"
#include "base/median.h"
#include "base/units.h"

namespace nl {

Status CommonPhase::Add(Analysis& run, bool in_b) {
  if (is_all()) return {};
  if (run.data().OrderOnly()) {
    runs_.push_back({{}, 0, in_b, false, {}});
    return {};
  }
  NL_ASSIGN(const PhasesFacts* facts, run.Need<PhasesFacts>());
  const int64_t wall_ns = run.facts().Get<TimelineFacts>().wall_ns();
  Phases& added = runs_.emplace_back(Phases{*facts, wall_ns, in_b, run.data().FromProgramStart(), {}});
  for (size_t i = 0; i < facts->steps.size(); ++i) {
    if (facts->steps[i].steady) added.steady.push_back(i);
  }
  return {};
}

// Asked for, or what is worth comparing: every run has a steady phase, and one of them is largely something
// else.
bool CommonPhase::IsSteady() const {
  if (asked_ == "steady") return true;
  if (asked_ != "auto") return false;
  const auto has = [](const Phases& run) { return run.facts.steady_steps > 0; };
  const auto other = [](const Phases& run) {
    return run.from_start && IsSteadyByDefault(run.facts, run.wall_ns);
  };
  return std::all_of(runs_.begin(), runs_.end(), has) && std::any_of(runs_.begin(), runs_.end(), other);
}

// Returns the number of steps.
int64_t CommonPhase::AddSteadyParts() {
  size_t first = 0, last = SIZE_MAX, fewest = SIZE_MAX;
  for (const Phases& run : runs_) {
    first = std::max(first, run.steady.front());
    last = std::min(last, run.steady.back());
    fewest = std::min(fewest, run.steady.size());
  }
  const auto in = [&](const Phases& run) {
    const auto from = std::lower_bound(run.steady.begin(), run.steady.end(), first);
    const auto to = std::upper_bound(from, run.steady.end(), last);
    return std::pair(static_cast<size_t>(from - run.steady.begin()), static_cast<size_t>(to - from));
  };
  size_t shared = fewest;
  for (const Phases& run : runs_) shared = std::min(shared, first <= last ? in(run).second : 0);
  const bool same = 2 * shared >= fewest && shared > 0;
  const size_t steps = same ? shared : fewest;  // else the last ones of each
  for (const Phases& run : runs_) {
    const size_t from = same ? in(run).first : run.steady.size() - steps;
    parts_.push_back(SteadyPart(run.facts, run.steady[from], run.steady[from + steps - 1]));
  }
  return static_cast<int64_t>(steps);
}

// Those of the phase that was asked for.
Status CommonPhase::AddParts(PhaseKind& phase) {
  for (const Phases& run : runs_) {
    const PhasesFacts::Span* span = FindPhase(run.facts, asked_);
    if (span == nullptr) return NoSuchPhase(run.facts, asked_);
    phase = span->what;
    parts_.push_back({span->start_ns, span->end_ns});
  }
  return {};
}

double CommonPhase::OtherMs(bool in_b) const {
  std::vector<int64_t> other_ns;
  for (size_t i = 0; i < runs_.size(); ++i) {
    const int64_t run_ns = runs_[i].facts.end_ns - runs_[i].facts.start_ns;
    if (runs_[i].in_b == in_b) other_ns.push_back(run_ns - (parts_[i].end_ns - parts_[i].start_ns));
  }
  return other_ns.empty() ? 0 : Ms(LowerMedian(other_ns));
}

Status CommonPhase::Choose() {
  const bool steady = IsSteady();
  if (runs_.empty() || (asked_ == "auto" && !steady)) return {};
  ComparedPhase out;
  if (steady) {
    for (const Phases& run : runs_) {
      if (run.steady.empty()) return NoSuchPhase(run.facts, "steady");
    }
    out.steps = AddSteadyParts();
  } else {
    NL_TRY(AddParts(out.phase));
  }
  out.other_a_ms = OtherMs(false);
  out.other_b_ms = OtherMs(true);
  out.text = ComparedPhaseName(out);
  chosen_ = out;
  return {};
}

void CommonPhase::LookAt(size_t i, Analysis& run) const {
  if (!parts_.empty()) run.LookAt(parts_[i]);
}

}  // namespace nl
