// SPDX-License-Identifier: Apache-2.0
#pragma once
// Totals by name: operators (total, self and device time), kernels and copies; and their rows as
// `operators`, `kernels`, `summary` and reports give them.
// Thread rule: pure functions over the snapshot's columns.

#include <optional>
#include <string>
#include <vector>

#include "base/intervals.h"
#include "base/record.h"
#include "base/result.h"
#include "ledger/snapshot.h"

namespace nl {

struct NameStats {
  std::string name;               // friendly for kernels
  std::string raw_name;           // as the source spells it
  std::string family;             // of a kernel; empty for ops
  std::string shapes;             // with by_shape: input dims of an op, "grid x block" of a kernel
  std::optional<int32_t> device;  // null: several devices
  int64_t calls = 0;
  std::optional<int64_t> timed_calls;  // of them; each other one counts with the median host time
  int64_t total_ns = 0;
  int64_t self_ns = 0;        // ops: without the ops inside
  int64_t device_ns = 0;      // ops: kernels they launched themselves; kernels: total
  int64_t device_all_ns = 0;  // ops: with the kernels of the ops inside
  double p50_ns = 0, p95_ns = 0;
};

struct TotalsFilter {
  bool by_shape = false;
  bool by_type = false;                   // ops: by type, where the source has a type beside the name
  std::optional<int64_t> device, stream;  // of the kernels
  std::optional<Interval> part;           // of the run; what reaches over its edges is cut there
  size_t named = 0;  // how many of the first have texts and percentiles, the others only sums; 0: all
};

// Sorted by device time, then total time, largest first.
Result<std::vector<NameStats>> OperatorTotals(Snapshot& snapshot, const TotalsFilter& filter);
Result<std::vector<NameStats>> KernelTotals(Snapshot& snapshot, const TotalsFilter& filter);

struct CopyStats {
  std::string kind, src_memory, dst_memory;
  int64_t calls = 0, total_ns = 0, bytes = 0;
};
// Of the whole run, or of one part of it; what reaches over its edges counts with the time inside, and with
// all of its bytes.
Result<std::vector<CopyStats>> CopyTotals(Snapshot& snapshot, const std::optional<Interval>& part = {});

// What shares are parts of: all device time, or the host self time where there is none.
struct TotalsWhole {
  int64_t ns = 0;
  bool on_host = false;
};
TotalsWhole WholeOfOperators(const std::vector<NameStats>& stats);
TotalsWhole WholeOfKernels(const std::vector<NameStats>& stats);

struct NameTotals {
  std::string name, raw_name;
  std::optional<std::string> family;
  std::optional<int32_t> device;
  int64_t calls = 0;
  std::optional<int64_t> timed_calls;
  double total_ms = 0, self_ms = 0, gpu_ms = 0, gpu_total_ms = 0, mean_ms = 0, p50_ms = 0, p95_ms = 0;
  std::optional<double> share;
  std::optional<std::string> shapes;
};
struct CopyTotalsRow {
  std::string kind, from, to;
  int64_t calls = 0;
  double total_ms = 0;
  int64_t bytes = 0;
};
void Describe(Record<NameTotals>& r);
void Describe(Record<CopyTotalsRow>& r);

NameTotals RowOf(const NameStats& stats, const TotalsWhole& whole);
// At most `limit` of them; 0: all.
std::vector<NameTotals> RowsOf(const std::vector<NameStats>& stats, const TotalsWhole& whole, size_t limit);
std::vector<CopyTotalsRow> RowsOf(const std::vector<CopyStats>& stats);

// Linear interpolation between closest ranks, rank = (n - 1) * p / 100. Reorders `v`.
double Percentile(std::vector<int64_t>& v, double p);

}  // namespace nl
