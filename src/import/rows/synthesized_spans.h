// SPDX-License-Identifier: Apache-2.0
#pragma once
// SynthesizedSpans: rows of a source that kept sums per name and no events. The executions that
// a sum stands for are drawn end to end on their lane, each as long as their mean, so that calls and
// sums are those of the source; order, idle time and percentiles are not known, which the
// clock of the run says (order_only) and totals_only counts.
// Thread rule: one thread. Ownership: lives for one import.

#include <string>
#include <string_view>
#include <vector>

#include "import/rows/row_writer.h"

namespace nl {

inline constexpr CounterInfo kTotalsOnly{
    "totals_only", Severity::kNotice,
    "Execution of which the source has only its part in a sum: drawn end to end with the others, each as "
    "long as their mean",
    "Calls, total and mean times are measured; order, idle time and percentiles are not: import the "
    "recording itself for those"};
inline constexpr CounterInfo kExecutionsMerged{
    "executions_merged", Severity::kDataLoss,
    "Execution drawn as one row with its neighbours, because the sums count more than a million",
    "Total times are right, calls are too few; the counts as written are in args"};

struct NamedTotal {
  std::string name;
  int64_t calls = 0, total_ns = 0;
  // What else the source says of it, as JSON: kept with the first row.
  std::vector<std::pair<std::string, std::string>> fields;

  // A number as it is written, else the text.
  void Keep(std::string key, const std::string& written);
};

class SynthesizedSpans {
 public:
  // `executions`: all that will be drawn.
  SynthesizedSpans(ImportFile& file, std::string_view process, int64_t executions);

  // Device work of a device the source does not number.
  Status Kernels(const NamedTotal& total);
  Status Copies(const NamedTotal& total, std::string_view kind);
  Status Fills(const NamedTotal& total);
  // What ran on hosts.
  Status Calls(const NamedTotal& total, std::string_view domain);
  Status Ranges(const NamedTotal& total, std::string_view category);

  Status Finish() { return writer_.Finish(); }

 private:
  static constexpr int64_t kMaxDrawn = 1'000'000;
  struct Lane {
    std::string_view name;
    ThreadId thread = ThreadId::kNull;
    int64_t now_ns = 0;
  };
  Lane device_{"device"}, calls_{"calls"}, ranges_{"ranges"};

  template <class Columns, class Row>
  Status Draw(const NamedTotal& total, Lane& lane, Table table, Columns& columns, Row row);
  void Open(Lane& lane);

  ImportFile& file_;
  RowWriter writer_;
  int64_t group_;  // executions a row stands for
  ProcessId process_;
  int64_t first_lane_, lanes_ = 0;
};

}  // namespace nl
