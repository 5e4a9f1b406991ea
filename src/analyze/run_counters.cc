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

// What a recorder said is better read than announced.
bool IsMessage(std::string_view reason) {
  return reason == "recorder_message" || reason == "profiler_warning";
}

void AddMessage(std::string_view text, RunCounter& counter) {
  constexpr size_t kMost = 600;
  if (!counter.advice) counter.advice.emplace();
  std::string& all = *counter.advice;
  if (all.size() + text.size() > kMost || all.find(text) != std::string::npos) return;
  all += (all.empty() ? "" : "; ") + std::string(text);
}

}  // namespace

RunCounters CountersOf(const ImportLogView& log, const StringPool& strings) {
  RunCounters out;
  for (size_t i = 0; i < log.reason.size(); ++i) {
    const std::string_view reason = strings.Text(log.reason[i]), severity = strings.Text(log.severity[i]);
    if (severity == "data_loss") out.lost += log.count[i];
    const auto same = std::find_if(out.reasons.begin(), out.reasons.end(),
                                   [&](const RunCounter& r) { return r.name == reason; });
    const std::string_view message =
        IsMessage(reason) && !IsNull(log.text[i]) ? strings.Text(log.text[i]) : std::string_view();
    if (same != out.reasons.end()) {
      same->count += log.count[i];
      if (!message.empty()) AddMessage(message, *same);
      continue;
    }
    RunCounter counter{std::string(reason), std::string(severity), log.count[i], {}};
    if (!IsNull(log.advice[i])) counter.advice = std::string(strings.Text(log.advice[i]));
    if (!message.empty()) {
      counter.advice.reset();
      AddMessage(message, counter);
    }
    out.reasons.push_back(std::move(counter));
  }
  return out;
}

}  // namespace nl
