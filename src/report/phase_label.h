// SPDX-License-Identifier: Apache-2.0
#pragma once
// What people call the phases of a run, at the beginning of a line or a row.
// Thread rule: pure function.

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

}  // namespace nl
