// SPDX-License-Identifier: Apache-2.0
#include "analyze/run_counters.h"

#include <algorithm>

#include "model/string_pool.h"

namespace nl {

void Describe(Record<RunCounter>& r) {
  r.Name("RunCounter", "Records of one kind that the import could not take as they were");
  r.Field("name", &RunCounter::name, "What was found");
  r.Field("severity", &RunCounter::severity, "info, notice, data_loss or error");
  r.Field("count", &RunCounter::count, "Number of records");
  r.Field("advice", &RunCounter::advice, "What to do about it");
}

void Describe(Record<RunCounters>& r) {
  r.Name("RunCounters", "What the import of a run lost or found suspect");
  r.Field("lost", &RunCounters::lost, "Records lost");
  r.Field("reasons", &RunCounters::reasons, "Each kind of defect");
}

namespace {

// Messages of a recorder are advice of their own, each another one.
void AddAdvice(std::string_view text, std::optional<std::string>& advice) {
  constexpr size_t kMost = 600;
  size_t end = std::min(kMost, text.size());
  while (end < text.size() && end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80)
    --end;  // inside a character
  text = text.substr(0, end);
  if (!advice) {
    advice = text;
  } else if (advice->find(text) == std::string::npos && advice->size() + text.size() <= kMost) {
    *advice += "; " + std::string(text);
  }
}

}  // namespace

RunCounters CountersOf(const ImportLogView& log, const StringPool& strings) {
  RunCounters out;
  for (size_t i = 0; i < log.reason.size(); ++i) {
    const std::string_view reason = strings.Text(log.reason[i]), severity = strings.Text(log.severity[i]);
    if (severity == "data_loss") out.lost += log.count[i];
    const auto same = std::find_if(out.reasons.begin(), out.reasons.end(),
                                   [&](const RunCounter& r) { return r.name == reason; });
    const size_t at = static_cast<size_t>(same - out.reasons.begin());
    if (same == out.reasons.end()) out.reasons.push_back({std::string(reason), std::string(severity), 0, {}});
    RunCounter& counter = out.reasons[at];
    counter.count += log.count[i];
    if (!IsNull(log.advice[i])) AddAdvice(strings.Text(log.advice[i]), counter.advice);
  }
  return out;
}

}  // namespace nl
