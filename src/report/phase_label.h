// SPDX-License-Identifier: Apache-2.0
#pragma once
// What people call the phases of a run: at the beginning of a line or a row, and inside a sentence.
// Thread rule: pure functions.

#include <string>
#include <string_view>

#include "analyze/facts/phases.h"

namespace nl {

inline std::string_view PhaseLabel(PhaseKind phase) {
  switch (phase) {
    case PhaseKind::kStartup: return "Start-up";
    case PhaseKind::kWarmup: return "Warm-up";
    case PhaseKind::kSteady: return "Steady";
    case PhaseKind::kTail: return "Tail";
    case PhaseKind::kWhole: break;
  }
  return "Whole run";
}

// "Start-up", or "Start-up (LLM@prefill)" where a label takes most of it
inline std::string PhaseLabel(const PhaseTime& time) {
  std::string out(PhaseLabel(time.phase));
  return time.label ? out + " (" + *time.label + ")" : out;
}

// "Steady phase", "Start-up"
inline std::string PhaseTitle(PhaseKind phase) {
  return std::string(PhaseLabel(phase)) + (phase == PhaseKind::kSteady ? " phase" : "");
}

// "the steady phase", "start-up"
inline std::string_view PhaseInSentence(PhaseKind phase) {
  switch (phase) {
    case PhaseKind::kStartup: return "start-up";
    case PhaseKind::kWarmup: return "warm-up";
    case PhaseKind::kSteady: return "the steady phase";
    case PhaseKind::kTail: return "the tail";
    case PhaseKind::kWhole: break;
  }
  return "the run";
}

}  // namespace nl
