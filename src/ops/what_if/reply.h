// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens what-if`.

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/findings.h"

namespace nl::ops::what_if {

struct AppliedFix {
  std::string apply, what;
  int64_t changes = 0;
  std::string unit;
  double step_after_ms = 0;
  Gain gain_ms;
  double gain_share = 0;
  std::optional<std::string> note;
};
inline void Describe(Record<AppliedFix>& r) {
  r.Name("AppliedFix", "One fix and the steady step that is predicted with it");
  r.Field("apply", &AppliedFix::apply, "The fix as --apply takes it");
  r.Field("what", &AppliedFix::what, "The change in words");
  r.Field("changes", &AppliedFix::changes, "Number of things that it changes in all steady steps");
  r.Field("unit", &AppliedFix::unit, "Unit of changes: wait, kernel, call");
  r.Field("step_after_ms", &AppliedFix::step_after_ms, Unit::kMs,
          "Time of the step with this fix, and with those before it unless each is applied alone");
  r.Field("gain_ms", &AppliedFix::gain_ms, "Predicted saving per step that the fix adds");
  r.Field("gain_share", &AppliedFix::gain_share, Unit::kShare, "gain_ms.expected / time of the step");
  r.Field("note", &AppliedFix::note,
          "Why it changes nothing, or its limits; null when there is nothing to add");
}

struct WhatIfReply {
  std::string run_id;
  SteadyStep step;
  bool alone = false;
  std::vector<AppliedFix> fixes;
  std::optional<double> step_after_ms;
  std::optional<Gain> gain_ms;
  std::optional<double> speedup;
};
inline void Describe(Record<WhatIfReply>& r) {
  r.Name("WhatIfReply", "Reply of `neurolens what-if`");
  r.Field("run_id", &WhatIfReply::run_id, "The run");
  r.Field("step", &WhatIfReply::step, "The steady step before the fixes");
  r.Field("alone", &WhatIfReply::alone,
          "True without --apply: each fix is applied alone; false: one after the other");
  r.Field("fixes", &WhatIfReply::fixes,
          "The fixes in the given order; largest gain first when each is alone");
  r.Field("step_after_ms", &WhatIfReply::step_after_ms, Unit::kMs,
          "Time of the step with all fixes; null without --apply");
  r.Field("gain_ms", &WhatIfReply::gain_ms, "Predicted saving per step of all fixes together");
  r.Field("speedup", &WhatIfReply::speedup, Unit::kRatio, "Time of the step before / after all fixes");
}

}  // namespace nl::ops::what_if
