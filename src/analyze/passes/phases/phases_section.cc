// SPDX-License-Identifier: Apache-2.0
// The phases as reports give them.
#include <algorithm>
#include <array>

#include "analyze/facts/phases.h"
#include "base/units.h"

namespace nl {

std::span<const std::string_view> NamesOf(PhaseKind) {
  static constexpr std::array<std::string_view, 5> kNames = {"startup", "warmup", "steady", "tail", "whole"};
  return kNames;
}

std::span<const std::string_view> NamesOf(StepSource) {
  static constexpr std::array<std::string_view, 4> kNames = {"labels", "graph_launches", "repetition",
                                                             "none"};
  return kNames;
}

void Describe(Record<PhaseTime>& r) {
  using T = PhaseTime;
  r.Name("PhaseTime", "One phase of the run");
  r.Field("phase", &T::phase,
          "startup: before the first step; warmup: first steps that are slower than later ones; steady: the "
          "repeating steps; tail: after them; whole: the run has no steady phase");
  r.Field("start_ms", &T::start_ms, Unit::kMs, "Start, from the start of the run");
  r.Field("ms", &T::ms, Unit::kMs, "Duration");
  r.Field("share", &T::share, Unit::kShare, "Part of the wall time");
  r.Field("steps", &T::steps, "Steps that begin in it");
  r.Field("label", &T::label,
          "Labelled range that takes most of a start-up, warm-up or tail, such as LLM@prefill; null: none");
}

void Describe(Record<PhasesSection>& r) {
  using T = PhasesSection;
  r.Name("PhasesSection", "Start-up, warm-up, steady steps and tail of the run");
  r.Field("source", &T::source, "How the steps were found");
  r.Field("label", &T::label, "Label of the steps; null when they were detected");
  r.Field("reason", &T::reason, "Why no steady phase was found; null when one was");
  r.Field("steps", &T::steps, "Steps of the run");
  r.Field("groups", &T::groups, "Groups of steps that execute different kernels");
  r.Field("steady_steps", &T::steady_steps, "Steady steps of the group with the most time");
  r.Field("step_ms", &T::step_ms, Unit::kMs, "Time of one steady step; null without a steady phase");
  r.Field("spans", &T::spans, "Phases in time order; they sum to the wall time");
}

PhaseTime TimeOf(const PhasesFacts::Span& span, const PhasesFacts& facts) {
  PhaseTime out;
  out.phase = span.what;
  out.start_ms = Ms(span.start_ns - facts.start_ns);
  out.ms = Ms(span.end_ns - span.start_ns);
  if (facts.end_ns > facts.start_ns) out.share = out.ms / Ms(facts.end_ns - facts.start_ns);
  out.steps = span.steps;
  out.label = KnownText(span.label);
  return out;
}

PhasesSection SectionOf(const PhasesFacts& facts) {
  PhasesSection out;
  out.source = facts.source;
  out.label = KnownText(facts.label);
  out.reason = KnownText(facts.reason);
  out.steps = static_cast<int64_t>(facts.steps.size());
  out.groups = facts.groups;
  out.steady_steps = facts.steady_steps;
  if (facts.steady_steps > 0) out.step_ms = Ms(facts.step_ns);
  for (const PhasesFacts::Span& span : facts.spans) out.spans.push_back(TimeOf(span, facts));
  return out;
}

const PhasesFacts::Span* FindPhase(const PhasesFacts& facts, std::string_view name) {
  for (const PhasesFacts::Span& span : facts.spans) {
    if (NamesOf(span.what)[static_cast<size_t>(span.what)] == name) return &span;
  }
  return nullptr;
}

bool IsSteadyByDefault(const PhasesFacts& facts, int64_t wall_ns) {
  constexpr double kMostElsewhere = 0.25;
  if (facts.steady_steps == 0 || wall_ns <= 0) return false;
  const double steady = Ms(facts.steady_end_ns - facts.steady_start_ns) / Ms(wall_ns);
  return 1 - steady > kMostElsewhere;
}

Interval SteadyPart(const PhasesFacts& facts, size_t first, size_t last) {
  const std::vector<PhasesFacts::Step>& steps = facts.steps;
  Interval out{steps[first].start_ns, steps[last].work_end_ns};
  // Where the host runs ahead, the device still works on earlier steps when this one begins on the host.
  if (out.start_ns > facts.steady_start_ns && first > 0) {
    const int64_t before_ns = steps[first - 1].work_end_ns;
    if (before_ns - out.start_ns > facts.step_ns / 2) out.start_ns = before_ns;
  }
  for (size_t i = first; i < last; ++i) out.end_ns = std::max(out.end_ns, steps[i].work_end_ns);
  return out;
}

}  // namespace nl
