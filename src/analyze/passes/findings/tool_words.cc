// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/findings/tool_words.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "model/kernel_name.h"

namespace nl::passes::findings {

namespace {

constexpr size_t kMostWords = 200;

struct Word {
  ToolWord out;
  std::set<int64_t> kernels;
  double costliest_ms = -1;
};

}  // namespace

std::vector<ToolWord> ToolWords(const RunData& data) {
  const ToolFindingColumns& t = data.tool_finding;
  using Key = std::tuple<StringId, StringId, StringId, std::string>;  // tool, rule, scope, kernel
  std::map<Key, Word> words;
  for (size_t i = 0; i < t.kernel_id.size(); ++i) {
    // Notes and warnings of the tool are in the table; here stands what it suggests to change.
    if (data.Text(t.kind[i]) != "suggestion") continue;
    const auto row = static_cast<int64_t>(t.kernel_id[i]);
    if (row < 0 || static_cast<size_t>(row) >= data.kernel.name.size()) continue;
    const auto at = static_cast<size_t>(row);
    const double ms = IsNull(data.kernel.dur_ns[at]) ? 0 : static_cast<double>(data.kernel.dur_ns[at]) / 1e6;
    const std::string kernel = ParseKernelName(data.Text(data.kernel.name[at])).short_name;
    Word& word = words[{t.tool[i], t.rule[i], t.speedup_scope[i], kernel}];
    ToolWord& out = word.out;
    out.tool = data.Text(t.tool[i]);
    out.rule = data.Text(t.rule[i]);
    out.scope = data.Text(t.speedup_scope[i]);
    out.kernel = kernel;
    const double pct = t.estimated_speedup_pct[i];
    if (!std::isnan(pct)) {
      out.speedup_pct = std::max(out.speedup_pct.value_or(pct), pct);
      if (out.scope == "global") out.estimated_ms = out.estimated_ms.value_or(0) + ms * pct / 100;
    }
    if (ms > word.costliest_ms) {
      word.costliest_ms = ms;
      out.message = data.Text(t.message[i]);
    }
    if (word.kernels.insert(row).second) {
      ++out.executions;
      out.kernel_ms += ms;
    }
  }
  std::vector<ToolWord> out;
  for (auto& [key, word] : words) out.push_back(std::move(word.out));
  const auto weight = [](const ToolWord& w) {
    return std::make_tuple(w.estimated_ms.value_or(0), w.speedup_pct.value_or(0) * w.kernel_ms, w.kernel_ms);
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const ToolWord& a, const ToolWord& b) { return weight(a) > weight(b); });
  if (out.size() > kMostWords) out.resize(kMostWords);
  return out;
}

}  // namespace nl::passes::findings
