// SPDX-License-Identifier: Apache-2.0
// The attribution facts as reports give them.
#include "analyze/facts/attribution.h"
#include "base/units.h"

namespace nl {

void Describe(Record<CallTotals>& r) {
  using T = CallTotals;
  r.Name("CallTotals", "Host and device time of one operator, module or range");
  r.Field("name", &T::name, "Name; the path of a module");
  r.Field("calls", &T::calls, "Number of calls");
  r.Field("kernels", &T::kernels, "Work items launched directly inside it");
  r.Field("host_total_ms", &T::host_total_ms, Unit::kMs, "Host time");
  r.Field("host_self_ms", &T::host_self_ms, Unit::kMs, "Host time outside nested rows of the same list");
  r.Field("gpu_total_ms", &T::gpu_total_ms, Unit::kMs, "Device time of everything it launched");
  r.Field("gpu_self_ms", &T::gpu_self_ms, Unit::kMs, "Device time of the work launched directly inside it");
}

void Describe(Record<WorkAmount>& r) {
  r.Name("WorkAmount", "An amount of device work");
  r.Field("kernels", &WorkAmount::kernels, "Work items");
  r.Field("gpu_ms", &WorkAmount::gpu_ms, Unit::kMs, "Their device time");
}

void Describe(Record<AttributionSection>& r) {
  using T = AttributionSection;
  r.Name("AttributionSection", "Device work by the operators, modules and ranges that launched it");
  r.Field("ops", &T::ops, "Operators, most device time first");
  r.Field("modules", &T::modules, "Modules, in the order of their first call");
  r.Field("ranges", &T::ranges, "Labelled ranges, most device time first");
  r.Field("outside_ops", &T::outside_ops, "Work launched outside any operator");
  r.Field("outside_modules", &T::outside_modules, "Work launched outside any module");
  r.Field("outside_ranges", &T::outside_ranges, "Work launched outside any range");
  r.Field("unlinked", &T::unlinked, "Work without a recorded launch or operator");
  r.Field("graph", &T::graph, "Work of CUDA graphs; also counted in the other amounts");
  r.Field("all", &T::all, "All device work");
}

namespace passes::attribution {

namespace {

CallTotals RowOf(const AttributionFacts::Totals& t, std::string name) {
  return {
      std::move(name),     t.calls, t.work, Ms(t.host_total_ns), Ms(t.host_self_ns), Ms(t.device_total_ns),
      Ms(t.device_self_ns)};
}

WorkAmount AmountOf(const AttributionFacts::Amount& a) { return {a.count, Ms(a.device_ns)}; }

}  // namespace

}  // namespace passes::attribution

AttributionSection SectionOf(const AttributionFacts& facts, const RunData& data) {
  using passes::attribution::AmountOf;
  using passes::attribution::RowOf;
  AttributionSection out;
  for (const auto& row : facts.ops) out.ops.push_back(RowOf(row, std::string(data.Text(row.name))));
  for (const auto& row : facts.modules) out.modules.push_back(RowOf(row, row.path));
  for (const auto& row : facts.ranges) out.ranges.push_back(RowOf(row, std::string(data.Text(row.name))));
  out.outside_ops = AmountOf(facts.outside_ops);
  out.outside_modules = AmountOf(facts.outside_modules);
  out.outside_ranges = AmountOf(facts.outside_ranges);
  out.unlinked = AmountOf(facts.unlinked);
  out.graph = AmountOf(facts.graph);
  out.all = AmountOf(facts.all);
  return out;
}

}  // namespace nl
