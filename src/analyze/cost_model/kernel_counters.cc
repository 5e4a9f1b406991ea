// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/kernel_counters.h"

#include <cmath>

namespace nl {

namespace {

using Column = ColumnView<double> KernelCounterView::*;
constexpr Column kColumns[kCounters] = {&KernelCounterView::achieved_occupancy,
                                        &KernelCounterView::warp_execution_efficiency,
                                        &KernelCounterView::sm_efficiency,
                                        &KernelCounterView::tensor_active,
                                        &KernelCounterView::sm_throughput,
                                        &KernelCounterView::dram_throughput,
                                        &KernelCounterView::l2_hit_rate,
                                        &KernelCounterView::dram_read_bytes,
                                        &KernelCounterView::dram_write_bytes,
                                        &KernelCounterView::dram_bytes,
                                        &KernelCounterView::flops,
                                        &KernelCounterView::local_sectors,
                                        &KernelCounterView::bank_conflicts,
                                        &KernelCounterView::coalescing,
                                        &KernelCounterView::stall_memory,
                                        &KernelCounterView::stall_sync,
                                        &KernelCounterView::stall_dependency,
                                        &KernelCounterView::stall_contention};

}  // namespace

void CounterSum::Add(const CounterValues& values, int64_t dur_ns) {
  ++executions_;
  ns_ += dur_ns;
  source_ = values.source;
  for (size_t c = 0; c < kCounters; ++c) {
    if (std::isnan(values.values[c])) continue;
    weighted_[c] += values.values[c] * static_cast<double>(dur_ns);
    weight_ns_[c] += static_cast<double>(dur_ns);
    sum_[c] += values.values[c];
    ++count_[c];
  }
}

std::optional<double> CounterSum::Mean(Counter counter) const {
  const auto c = static_cast<size_t>(counter);
  if (count_[c] == 0) return std::nullopt;
  // Executions without a duration weigh the same.
  return weight_ns_[c] > 0 ? weighted_[c] / weight_ns_[c] : sum_[c] / static_cast<double>(count_[c]);
}

std::optional<double> CounterSum::Sum(Counter counter) const {
  const auto c = static_cast<size_t>(counter);
  // A sum of some is no sum.
  return count_[c] > 0 && count_[c] == executions_ ? std::optional(sum_[c]) : std::nullopt;
}

KernelCounters::KernelCounters(const RunData& data) : strings_(data.strings) {
  const KernelCounterView& t = data.kernel_counter;
  for (size_t i = 0; i < t.kernel_id.size(); ++i) {
    const auto kernel = static_cast<int64_t>(t.kernel_id[i]);
    if (kernel < 0 || static_cast<size_t>(kernel) >= data.kernel.name.size()) continue;
    const auto [at, added] = row_of_.try_emplace(kernel, static_cast<uint32_t>(rows_.size()));
    if (added) {
      rows_.emplace_back();
      rows_.back().values.fill(NullOf<double>::value);
    }
    CounterValues& row = rows_[at->second];
    for (size_t c = 0; c < kCounters; ++c) {
      const ColumnView<double>& column = t.*kColumns[c];
      if (i < column.size() && !std::isnan(column[i])) row.values[c] = column[i];
    }
    if (i < t.dur_ns.size() && !IsNull(t.dur_ns[i])) row.dur_ns = t.dur_ns[i];
    if (i < t.source.size()) row.source = t.source[i];
  }
  for (const auto& [kernel, row] : row_of_) {
    const auto at = static_cast<size_t>(kernel);
    const bool timed = at < data.kernel.dur_ns.size() && !IsNull(data.kernel.dur_ns[at]);
    by_name_[static_cast<uint32_t>(data.kernel.name[at])].Add(
        rows_[row], timed ? data.kernel.dur_ns[at] : rows_[row].dur_ns);
  }
}

const CounterValues* KernelCounters::Of(int64_t kernel_row) const {
  const auto it = row_of_.find(kernel_row);
  return it == row_of_.end() ? nullptr : &rows_[it->second];
}

bool KernelCounters::Any(std::initializer_list<Counter> counters) const {
  for (const CounterValues& row : rows_) {
    for (const Counter counter : counters) {
      if (!std::isnan(row.Get(counter))) return true;
    }
  }
  return false;
}

const CounterSum* KernelCounters::OfName(StringId name) const {
  const auto it = by_name_.find(static_cast<uint32_t>(name));
  return it == by_name_.end() ? nullptr : &it->second;
}

const CounterSum* KernelCounters::OfName(std::string_view name) const {
  const StringId id = strings_ == nullptr ? StringId::kNull : strings_->Find(name);
  return IsNull(id) ? nullptr : OfName(id);
}

}  // namespace nl
