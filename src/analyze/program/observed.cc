// SPDX-License-Identifier: Apache-2.0
#include "analyze/program/observed.h"

#include <algorithm>

#include "model/labels/observed_label.h"

namespace nl::program {

ObservedSteps::ObservedSteps(const RunData& data) : data_(data) {
  // Compared as text once per run: a run without such ranges does not have the texts.
  const RangeView& r = data.range;
  for (size_t i = 0; i < r.name.size(); ++i) {
    if (IsNull(r.dur_ns[i]) || IsNull(r.start_ns[i]) || data.Text(r.category[i]) != kRecorderCategory ||
        data.Text(r.name[i]) != kNotObservedLabel)
      continue;
    const Interval stretch{r.start_ns[i], r.start_ns[i] + std::max<int64_t>(0, r.dur_ns[i])};
    not_observed_[ProcessOf(r.thread_id[i])].push_back(stretch);
    any_.push_back(stretch);
  }
  for (auto& [process, stretches] : not_observed_) MergeIntervals(stretches);
  MergeIntervals(any_);
}

int32_t ObservedSteps::ProcessOf(ThreadId thread) const {
  const auto row = static_cast<size_t>(thread);
  return IsNull(thread) || row >= data_.thread.process_id.size()
             ? -1
             : static_cast<int32_t>(data_.thread.process_id[row]);
}

const std::vector<Interval>& ObservedSteps::NotObserved(ThreadId thread) const {
  static const std::vector<Interval> none;
  const auto found = not_observed_.find(ProcessOf(thread));
  return found == not_observed_.end() ? none : found->second;
}

bool ObservedSteps::Observed(int64_t start_ns, int64_t end_ns) const {
  const auto after =
      std::partition_point(any_.begin(), any_.end(), [&](const Interval& i) { return i.end_ns <= start_ns; });
  return after == any_.end() || after->start_ns >= end_ns;
}

std::vector<bool> ObservedSteps::Of(const std::vector<PhasesFacts::Step>& steps) const {
  std::vector<bool> out;
  for (const PhasesFacts::Step& step : steps) out.push_back(Observed(step.start_ns, step.end_ns));
  return out;
}

}  // namespace nl::program
