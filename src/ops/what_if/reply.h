// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens what-if`.

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/findings.h"

namespace nl::ops::what_if {

struct BatchPrediction {
  std::optional<int64_t> from;
  std::optional<double> to;
  double factor = 1;
  Gain step_ms, throughput_ratio;
  std::optional<double> samples_per_s_before, samples_per_s_after;
};
inline void Describe(Record<BatchPrediction>& r) {
  using T = BatchPrediction;
  r.Name("BatchPrediction", "The step with another batch size");
  r.Field("from", &T::from, "Recorded batch size, read from the shapes");
  r.Field("to", &T::to, "New batch size");
  r.Field("factor", &T::factor, Unit::kRatio, "to / from");
  r.Field("step_ms", &T::step_ms,
          "Time of the step with the new batch size: best case, expected, worst case");
  r.Field("throughput_ratio", &T::throughput_ratio,
          "Samples per second, new / recorded: worst case, expected, best case");
  r.Field("samples_per_s_before", &T::samples_per_s_before, "from / time of the step before the fixes");
  r.Field("samples_per_s_after", &T::samples_per_s_after, "to / step_ms.expected");
}

struct AppliedFix {
  std::string apply, what;
  int64_t changes = 0;
  std::string unit;
  double step_after_ms = 0;
  Gain gain_ms;
  double gain_share = 0;
  std::optional<BatchPrediction> batch;
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
  r.Field(
      "gain_ms", &AppliedFix::gain_ms,
      "Predicted saving per step that the fix adds; with another batch size, for the work of one recorded "
      "step, and negative where that gets slower");
  r.Field("gain_share", &AppliedFix::gain_share, Unit::kShare, "gain_ms.expected / time of the step");
  r.Field("batch", &AppliedFix::batch, "Of batch=N: the step and the throughput; null for other fixes");
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
  r.Field("gain_ms", &WhatIfReply::gain_ms,
          "Predicted saving of all fixes together for the work of one recorded step");
  r.Field("speedup", &WhatIfReply::speedup, Unit::kRatio,
          "Time of the step before / after all fixes; with another batch size, for the same amount of work");
}

}  // namespace nl::ops::what_if
