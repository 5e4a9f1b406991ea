// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counters: what went wrong with single records, graded, explained, never silent.
// A reason is declared once (name, severity, what it means, what to do) and counted
// wherever it happens; the ledger stores every counter that is not zero.
// Thread rule: a CounterSet belongs to one thread; merge sets to combine them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nl {

enum class Severity { kInfo, kNotice, kDataLoss, kError };
std::string_view SeverityName(Severity severity);

struct CounterInfo {
  const char* name;  // stable, snake_case
  Severity severity;
  const char* meaning;
  const char* advice;  // "": what was met speaks for itself, such as a message of the recorder
};

// One occurrence worth showing: the first few of each reason keep their place and text.
struct CounterSample {
  const CounterInfo* info;
  int64_t byte_offset;
  std::string text;
};

class CounterSet {
 public:
  static constexpr size_t kSamplesPerReason = 100;
  static constexpr size_t kSampleBytes = 4096;

  void Add(const CounterInfo& info, int64_t byte_offset = -1, std::string_view text = {}, int64_t count = 1);
  void Merge(CounterSet&& other);
  void Clear();
  bool empty() const { return totals_.empty(); }

  struct Total {
    const CounterInfo* info;
    int64_t count;
    size_t samples;
  };
  const std::vector<Total>& totals() const { return totals_; }
  const std::vector<CounterSample>& samples() const { return samples_; }
  int64_t Count(Severity severity) const;
  int64_t Count(std::string_view name) const;

 private:
  Total& TotalOf(const CounterInfo& info);
  std::vector<Total> totals_;  // few: linear search
  std::vector<CounterSample> samples_;
};

}  // namespace nl
