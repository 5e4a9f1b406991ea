// SPDX-License-Identifier: Apache-2.0
#include "import/rows/step_rows.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "model/labels/step_label.h"

namespace nl {

void StepRows::Put(const StringPool& strings, StepColumns& to) {
  std::stable_sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
    return std::tie(a.start_ns, b.dur_ns) < std::tie(b.start_ns, a.dur_ns);
  });
  std::map<std::pair<ThreadId, StringId>, int64_t> until_ns;
  int64_t count = 0;
  for (const Span& s : spans_) {
    int64_t end_ns = 0;
    if (__builtin_add_overflow(s.start_ns, s.dur_ns, &end_ns)) end_ns = INT64_MAX;
    int64_t& until = until_ns.try_emplace({s.thread, s.name}, INT64_MIN).first->second;
    if (end_ns <= until) continue;
    until = end_ns;
    StepRow step;
    step.range_id = s.range;
    step.number = StepNumber(strings.Text(s.name), count++);
    step.name = s.name;
    step.start_ns = s.start_ns;
    step.dur_ns = s.dur_ns;
    to.Add(step);
  }
  spans_.clear();
}

}  // namespace nl
