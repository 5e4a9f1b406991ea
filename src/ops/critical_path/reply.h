// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens critical-path`.

#include <string>
#include <vector>

#include "analyze/facts/critical_path.h"
#include "analyze/facts/phases.h"
#include "base/units.h"

namespace nl::ops::critical_path {

struct WhatIfAnswer {
  std::string selector;
  double factor = 1;
  int64_t matched = 0;
  double matched_ms = 0, old_wall_ms = 0, new_wall_ms = 0, saved_ms = 0;
};
inline void Describe(Record<WhatIfAnswer>& r) {
  r.Name("WhatIfAnswer", "How long the run would take if something had a different duration");
  r.Field("selector", &WhatIfAnswer::selector, "What was scaled: kernel:NAME, op:NAME, host, launch");
  r.Field("factor", &WhatIfAnswer::factor, Unit::kRatio, "Factor that its durations were multiplied by");
  r.Field("matched", &WhatIfAnswer::matched, "Events that match the selector");
  r.Field("matched_ms", &WhatIfAnswer::matched_ms, Unit::kMs, "Their time, on or off the path");
  r.Field("old_wall_ms", &WhatIfAnswer::old_wall_ms, Unit::kMs, "Wall time as recorded");
  r.Field("new_wall_ms", &WhatIfAnswer::new_wall_ms, Unit::kMs, "Wall time after scaling, a lower bound");
  r.Field("saved_ms", &WhatIfAnswer::saved_ms, Unit::kMs, "old_wall_ms - new_wall_ms");
}

struct CriticalPathReply : CriticalPathSection {
  std::string run_id, verdict;
  std::optional<PhaseTime> phase;
  std::vector<WhatIfAnswer> what_if;
};
inline void Describe(Record<CriticalPathReply>& r) {
  r.Name("CriticalPathReply", "Reply of `neurolens critical-path`");
  r.Field("run_id", &CriticalPathReply::run_id, "The run");
  r.Field("phase", &CriticalPathReply::phase, "Part of the run that this is about; null: the whole run");
  r.Field("verdict", &CriticalPathReply::verdict, "The largest classes of time in one sentence");
  r.Base<CriticalPathSection>();
  r.Field("what_if", &CriticalPathReply::what_if, "One answer per --what-if, in order");
}

}  // namespace nl::ops::critical_path
