// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/findings/tool_findings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "model/kernel_name.h"

namespace nl::passes::findings {

namespace {

constexpr size_t kMostToolFindings = 200;

struct Group {
  ToolFinding out;
  std::set<int64_t> kernels;
  double costliest_ms = -1;
};

}  // namespace

std::vector<ToolFinding> ToolFindings(const RunData& data) {
  const ToolFindingView& t = data.tool_finding;
  using Key = std::tuple<StringId, StringId, StringId, std::string>;  // tool, rule, scope, kernel
  std::map<Key, Group> groups;
  for (size_t i = 0; i < t.kernel_id.size(); ++i) {
    // Notes and warnings of the tool stay in the table; only suggestions are listed.
    if (data.Text(t.kind[i]) != "suggestion") continue;
    const auto row = static_cast<int64_t>(t.kernel_id[i]);
    if (row < 0 || static_cast<size_t>(row) >= data.kernel.name.size()) continue;
    const auto at = static_cast<size_t>(row);
    const double ms = IsNull(data.kernel.dur_ns[at]) ? 0 : static_cast<double>(data.kernel.dur_ns[at]) / 1e6;
    const std::string kernel = ParseKernelName(data.Text(data.kernel.name[at])).short_name;
    Group& group = groups[{t.tool[i], t.rule[i], t.speedup_scope[i], kernel}];
    ToolFinding& out = group.out;
    out.tool = data.Text(t.tool[i]);
    out.rule = data.Text(t.rule[i]);
    out.scope = KnownText(data.Text(t.speedup_scope[i]));
    out.kernel = kernel;
    const double pct = t.estimated_speedup_pct[i];
    if (!std::isnan(pct)) {
      out.speedup_pct = std::max(out.speedup_pct.value_or(pct), pct);
      if (out.scope == "global") out.estimated_ms = out.estimated_ms.value_or(0) + ms * pct / 100;
    }
    if (ms > group.costliest_ms) {
      group.costliest_ms = ms;
      out.message = data.Text(t.message[i]);
    }
    if (group.kernels.insert(row).second) {
      ++out.executions;
      out.kernel_ms += ms;
    }
  }
  std::vector<ToolFinding> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group.out));
  const auto weight = [](const ToolFinding& w) {
    return std::make_tuple(w.estimated_ms.value_or(0), w.speedup_pct.value_or(0) * w.kernel_ms, w.kernel_ms);
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const ToolFinding& a, const ToolFinding& b) { return weight(a) > weight(b); });
  if (out.size() > kMostToolFindings) out.resize(kMostToolFindings);
  return out;
}

}  // namespace nl::passes::findings
