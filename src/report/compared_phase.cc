// SPDX-License-Identifier: Apache-2.0
#include "report/compared_phase.h"

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "report/phase_label.h"

namespace nl {

void Describe(Record<ComparedPhase>& r) {
  using T = ComparedPhase;
  r.Name("ComparedPhase", "The part of the runs that is compared");
  r.Field("phase", &T::phase, "Which phase");
  r.Field("text", &T::text, "The same in words");
  r.Field("steps", &T::steps,
          "Steady steps of each run: as many as the run with the fewest has; 0 in other phases");
  r.Field("other_a_ms", &T::other_a_ms, Unit::kMs,
          "Time of A, or of the baseline, outside of it; the median of several runs");
  r.Field("other_b_ms", &T::other_b_ms, Unit::kMs, "Time of B, or of the candidate, outside of it");
}

std::string ComparedPhaseName(const ComparedPhase& phase) {
  std::string out(PhaseLabel(phase.phase));
  if (phase.phase == PhaseKind::kSteady) out += " phase";
  return phase.steps > 0 ? fmt::format("{}, {} of each run", out, Counted(phase.steps, "step")) : out;
}

std::string ComparedPhaseText(const std::optional<ComparedPhase>& phase, std::string_view a,
                              std::string_view b) {
  if (!phase) return "";
  return fmt::format("{}. Not compared: the other {} of {} and {} of {} (--phase all compares everything).",
                     phase->text, HumanMs(phase->other_a_ms), a, HumanMs(phase->other_b_ms), b);
}

}  // namespace nl
