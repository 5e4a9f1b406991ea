// SPDX-License-Identifier: Apache-2.0
#pragma once
// PhasesFacts: the wall time of a run divided into start-up, warm-up, the steady phase and the tail. The
// steady phase is what a program does again and again: its steps.
//
// Steps are the labelled ones of table step; without labels, what repeats in the sequence of launches
// (passes/phases/find_steps.h). Steps that execute the same kernels are one group. The spans are in time
// order and sum to the wall time exactly; where nothing repeats there is one span of the whole run. What the
// program did before its first event belongs to none: passes/startup explains it.
//
// Time of one steady step: a host that runs ahead finishes its part of a step long before the device does,
// so the step takes the larger of
// - the median window of the steady steps on the host, and
// - the mean time that their work takes on the device with the busiest stream: from the first start of one
//   step's work to that of the next, and to the end of the work for the last step and where the next step
//   follows after a pause longer than the step. Without other groups and pauses, this is the time from the
//   first start to the last end, divided by the steps.
// Made by passes/phases. Thread rule: plain values, read-only once made.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/intervals.h"
#include "base/record.h"

namespace nl {

enum class PhaseKind : uint8_t { kStartup, kWarmup, kSteady, kTail, kWhole };
std::span<const std::string_view> NamesOf(PhaseKind);

// Where the steps come from.
enum class StepSource : uint8_t { kLabels, kGraphLaunches, kRepetition, kNone };
std::span<const std::string_view> NamesOf(StepSource);

struct PhasesFacts {
  static constexpr const char* kName = "phases";

  // A window on the thread that launches. Without recorded launches it is one on the device.
  struct Step {
    int64_t start_ns = 0, end_ns = 0;
    uint32_t group = 0;       // steps of one group execute the same kernels
    bool steady = false;      // of group 0 and in the steady phase
    int64_t work_end_ns = 0;  // end of the step or of the device work launched in it, whichever is later
  };
  struct Span {
    PhaseKind what = PhaseKind::kWhole;
    int64_t start_ns = 0, end_ns = 0;
    int64_t steps = 0;  // that begin in it, of any group
    // Labelled range that takes most of a start-up, warm-up or tail, such as LLM@prefill; empty: none.
    std::string label;
  };
  StepSource source = StepSource::kNone;
  std::string label;        // of labelled steps, such as "ProfilerStep"; else empty
  std::string reason;       // why no steady phase was found; empty when one was
  std::vector<Step> steps;  // by time, not overlapping, inside the wall time
  uint32_t groups = 0;      // most time first: group 0 is the main one
  std::vector<Span> spans;
  int64_t start_ns = 0, end_ns = 0;  // of all spans
  // From the host start of the first steady step to the host end of the last one, or to the end of the device
  // work launched in between where that is later.
  int64_t steady_start_ns = 0, steady_end_ns = 0;
  int64_t steady_steps = 0;  // of group 0; 0: no steady phase
  int64_t step_ns = 0;       // time of one steady step; 0: no steady phase
};

// The facts as reports give them.
struct PhaseTime {
  PhaseKind phase = PhaseKind::kWhole;
  double start_ms = 0, ms = 0;
  std::optional<double> share;
  int64_t steps = 0;
  std::optional<std::string> label;
};
struct PhasesSection {
  StepSource source = StepSource::kNone;
  std::optional<std::string> label, reason;
  int64_t steps = 0, groups = 0, steady_steps = 0;
  std::optional<double> step_ms;
  std::vector<PhaseTime> spans;
};
void Describe(Record<PhaseTime>& r);
void Describe(Record<PhasesSection>& r);

PhaseTime TimeOf(const PhasesFacts::Span& span, const PhasesFacts& facts);
PhasesSection SectionOf(const PhasesFacts& facts);

// The phase of this name ("steady"); null: the run has none.
const PhasesFacts::Span* FindPhase(const PhasesFacts& facts, std::string_view name);
// Whether answers about a program recorded from its start are about the steady phase alone when no phase is
// asked for: more than a quarter of the run is something else.
bool IsSteadyByDefault(const PhasesFacts& facts, int64_t wall_ns);
// The time of the steps from `first` to `last`, which are indices of steady steps, with the device work that
// they launch.
Interval SteadyPart(const PhasesFacts& facts, size_t first, size_t last);

}  // namespace nl
