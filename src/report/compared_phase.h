// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of the runs that a comparison or a gate is about, where it is not all of them.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <string>

#include "analyze/facts/phases.h"
#include "base/record.h"

namespace nl {

struct ComparedPhase {
  PhaseKind phase = PhaseKind::kSteady;
  int64_t steps = 0;                      // of each run; 0: steps do not matter
  double other_a_ms = 0, other_b_ms = 0;  // the rest of the runs, median over those of a side
  std::string text;                       // ComparedPhaseName
};
void Describe(Record<ComparedPhase>& r);

// "steady phase, 20 steps of each run"
std::string ComparedPhaseName(const ComparedPhase& phase);
// The same as a sentence, with what is left out; empty for whole runs. `a` and `b` name the sides.
std::string ComparedPhaseText(const std::optional<ComparedPhase>& phase, std::string_view a,
                              std::string_view b);

}  // namespace nl
