// SPDX-License-Identifier: Apache-2.0
#pragma once
// What importing a run could not take or had to guess, by reason (docs/tables.md, import_log).
// Thread rule: pure function over the columns.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "model/event_batch.h"

namespace nl {

class StringPool;

struct RunCounter {
  std::string name, severity;
  int64_t count = 0;
  std::optional<std::string> advice;
};
struct RunCounters {
  int64_t lost = 0;
  std::vector<RunCounter> reasons;
};
void Describe(Record<RunCounter>& r);
void Describe(Record<RunCounters>& r);

// Needs reason, severity, count and advice of the log.
RunCounters CountersOf(const ImportLogView& log, const StringPool& strings);

}  // namespace nl
