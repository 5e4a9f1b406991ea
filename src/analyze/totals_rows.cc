// SPDX-License-Identifier: Apache-2.0
// Totals by name as `operators`, `kernels`, `summary` and reports give them.
#include <algorithm>

#include "analyze/totals.h"
#include "base/units.h"

namespace nl {

void Describe(Record<NameTotals>& r) {
  using T = NameTotals;
  r.Name("NameTotals", "Time of one operator or kernel");
  r.Field("name", &T::name, "Name; short for a kernel");
  r.Field("raw_name", &T::raw_name, "Name as recorded");
  r.Field("family", &T::family, "Kind of kernel, such as gemm or attention; null for an operator");
  r.Field("device", &T::device, "Device number; null for an operator or several devices");
  r.Field("calls", &T::calls, "Calls of the operator, or executions of the kernel");
  r.OptionalField(
      "timed_calls", &T::timed_calls,
      "Calls whose host time was recorded, where operators were observed in some steps only: the other "
      "calls are inferred from equal launches and count with the median host time of these; null: all");
  r.Field("total_ms", &T::total_ms, Unit::kMs,
          "Time of all calls: host time of an operator, device time of a kernel");
  r.Field("self_ms", &T::self_ms, Unit::kMs, "Time outside the operators it calls");
  r.Field("gpu_ms", &T::gpu_ms, Unit::kMs, "Device time of the kernels it launched itself");
  r.Field("gpu_total_ms", &T::gpu_total_ms, Unit::kMs, "Device time including the operators it calls");
  r.Field("mean_ms", &T::mean_ms, Unit::kMs, "Mean time of a call");
  r.Field("p50_ms", &T::p50_ms, Unit::kMs, "Median time of a call");
  r.Field("p95_ms", &T::p95_ms, Unit::kMs, "95th percentile of the time of a call");
  r.Field("share", &T::share, Unit::kShare,
          "Part of all device time, or of all host self time where there is none");
  r.Field("shapes", &T::shapes, "With --by-shape: input shapes of an operator, grid and block of a kernel");
}

void Describe(Record<CopyTotalsRow>& r) {
  using T = CopyTotalsRow;
  r.Name("CopyTotals", "Copies of one kind between two kinds of memory");
  r.Field("kind", &T::kind, "Direction, such as HtoD");
  r.Field("from", &T::from, "Kind of memory read");
  r.Field("to", &T::to, "Kind of memory written");
  r.Field("calls", &T::calls, "Number of copies");
  r.Field("total_ms", &T::total_ms, Unit::kMs, "Time of all copies");
  r.Field("bytes", &T::bytes, Unit::kBytes, "Bytes copied");
}

TotalsWhole WholeOfKernels(const std::vector<NameStats>& stats) {
  TotalsWhole whole;
  for (const NameStats& s : stats) whole.ns += s.device_ns;
  return whole;
}

TotalsWhole WholeOfOperators(const std::vector<NameStats>& stats) {
  const TotalsWhole device = WholeOfKernels(stats);
  if (device.ns != 0) return device;
  TotalsWhole host{0, true};
  for (const NameStats& s : stats) host.ns += s.self_ns;
  return host;
}

NameTotals RowOf(const NameStats& s, const TotalsWhole& whole) {
  NameTotals row;
  row.name = s.name;
  row.raw_name = s.raw_name;
  if (!s.family.empty()) row.family = s.family;
  if (s.device) row.device = Known(*s.device);
  row.calls = s.calls;
  row.timed_calls = s.timed_calls;
  row.total_ms = Ms(s.total_ns);
  row.self_ms = Ms(s.self_ns);
  row.gpu_ms = Ms(s.device_ns);
  row.gpu_total_ms = Ms(s.device_all_ns);
  row.mean_ms = static_cast<double>(s.total_ns) / static_cast<double>(s.calls) / 1e6;
  row.p50_ms = s.p50_ns / 1e6;
  row.p95_ms = s.p95_ns / 1e6;
  if (whole.ns > 0)
    row.share = static_cast<double>(whole.on_host ? s.self_ns : s.device_ns) / static_cast<double>(whole.ns);
  if (!s.shapes.empty()) row.shapes = s.shapes;
  return row;
}

std::vector<NameTotals> RowsOf(const std::vector<NameStats>& stats, const TotalsWhole& whole, size_t limit) {
  std::vector<NameTotals> out;
  const size_t rows = limit == 0 ? stats.size() : std::min(limit, stats.size());
  for (size_t i = 0; i < rows; ++i) out.push_back(RowOf(stats[i], whole));
  return out;
}

std::vector<CopyTotalsRow> RowsOf(const std::vector<CopyStats>& stats) {
  std::vector<CopyTotalsRow> out;
  for (const CopyStats& c : stats)
    out.push_back({c.kind, c.src_memory, c.dst_memory, c.calls, Ms(c.total_ns), c.bytes});
  return out;
}

}  // namespace nl
