// SPDX-License-Identifier: Apache-2.0
#pragma once
// Totals by name: operators (total, self and device time) and kernels.
// Thread rule: pure functions over the snapshot's columns.

#include <optional>
#include <string>
#include <vector>

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
  int64_t total_ns = 0;
  int64_t self_ns = 0;        // ops: without the ops inside
  int64_t device_ns = 0;      // ops: kernels they launched themselves; kernels: total
  int64_t device_all_ns = 0;  // ops: with the kernels of the ops inside
  double p50_ns = 0, p95_ns = 0;
};

struct TotalsFilter {
  bool by_shape = false;
  bool by_type = false;                   // ops: by type where the source tells it apart from the name
  std::optional<int64_t> device, stream;  // of the kernels
};

// Sorted by device time, then total time, largest first.
Result<std::vector<NameStats>> OperatorTotals(Snapshot& snapshot, const TotalsFilter& filter);
Result<std::vector<NameStats>> KernelTotals(Snapshot& snapshot, const TotalsFilter& filter);
struct CopyStats {
  std::string kind, src_memory, dst_memory;
  int64_t calls = 0, total_ns = 0, bytes = 0;
};
Result<std::vector<CopyStats>> CopyTotals(Snapshot& snapshot);

// Linear interpolation between closest ranks, rank = (n - 1) * p / 100. Reorders `v`.
double Percentile(std::vector<int64_t>& v, double p);

}  // namespace nl
