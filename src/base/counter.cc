// SPDX-License-Identifier: Apache-2.0
#include "base/counter.h"

namespace nl {

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kInfo: return "info";
    case Severity::kNotice: return "notice";
    case Severity::kDataLoss: return "data_loss";
    case Severity::kError: return "error";
  }
  return "error";
}

CounterSet::Total& CounterSet::TotalOf(const CounterInfo& info) {
  for (Total& total : totals_) {
    if (total.info == &info) return total;
  }
  totals_.push_back({&info, 0, 0});
  return totals_.back();
}

void CounterSet::Add(const CounterInfo& info, int64_t byte_offset, std::string_view text, int64_t count) {
  Total& total = TotalOf(info);
  total.count += count;
  if (total.samples >= kSamplesPerReason) return;
  ++total.samples;
  samples_.push_back({&info, byte_offset, std::string(text.substr(0, kSampleBytes))});
}

void CounterSet::Merge(CounterSet&& other) {
  for (const Total& theirs : other.totals_) TotalOf(*theirs.info).count += theirs.count;
  for (CounterSample& sample : other.samples_) {
    Total& total = TotalOf(*sample.info);
    if (total.samples >= kSamplesPerReason) continue;
    ++total.samples;
    samples_.push_back(std::move(sample));
  }
  other.Clear();
}

void CounterSet::Clear() {
  totals_.clear();
  samples_.clear();
}

int64_t CounterSet::Count(Severity severity) const {
  int64_t sum = 0;
  for (const Total& total : totals_) sum += total.info->severity == severity ? total.count : 0;
  return sum;
}

int64_t CounterSet::Count(std::string_view name) const {
  for (const Total& total : totals_) {
    if (name == total.info->name) return total.count;
  }
  return 0;
}

}  // namespace nl
