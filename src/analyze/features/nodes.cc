// SPDX-License-Identifier: Apache-2.0
// A model that ONNX Runtime runs on the CPU: its runs are ranges of category Session, its nodes operators.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/cost_model/op_shapes.h"
#include "analyze/features/parts.h"

namespace nl::features {

namespace {

struct NodeTotal {
  int64_t ns = 0, longest_ns = -1;
  uint32_t longest = kNone;
};

// "1 x 512 x 7 x 7, 512 x 512 x 3 x 3": at most three inputs; scalars are left out.
std::string ShapesInWords(std::string_view text) {
  std::vector<std::string> out;
  for (const Shape& shape : ParseShapes(text)) {
    if (!shape.empty() && out.size() < 3) out.push_back(fmt::format("{}", fmt::join(shape, " x ")));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace

void AddNodes(const Program& p, Features& out) {
  const HostTree& h = p.timeline.host;
  if (p.data.Noted("/software/backend") != "onnxrt" || p.timeline.work.size() > 0) return;
  int64_t runs = 0, runs_ns = 0, nodes = 0, nodes_ns = 0, fp32_ns = 0;
  std::map<StringId, NodeTotal> totals;
  for (uint32_t i = 0; i < h.size(); ++i) {
    const int64_t ns = h.end_ns[i] - h.start_ns[i];
    if (h.kind[i] == HostKind::kRange && p.data.Text(h.name[i]) == "model_run") {
      ++runs;
      runs_ns += ns;
    }
    if (h.kind[i] != HostKind::kOp) continue;
    ++nodes;
    nodes_ns += ns;
    const std::vector<ElementType>& types = p.InputsOf(h.row[i]).types;
    fp32_ns += !types.empty() && types[0] == ElementType::kFp32 ? ns : 0;
    NodeTotal& total = totals[h.name[i]];
    total.ns += ns;
    if (ns <= total.longest_ns) continue;
    total.longest_ns = ns;
    total.longest = i;
  }
  if (runs == 0 || runs_ns <= 0 || nodes_ns <= 0) return;
  const auto top = std::max_element(totals.begin(), totals.end(),
                                    [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
  auto& n = out.run.numbers;
  n["run.model_runs"] = static_cast<double>(runs);
  n["run.model_run_ms"] = Ms(runs_ns / runs);
  n["run.nodes_per_run"] = static_cast<double>(nodes / runs);
  n["run.node_share"] = std::min(1.0, Ratio(nodes_ns, runs_ns));
  n["run.outside_node_share"] = 1 - n["run.node_share"];
  n["run.top_node_share"] = Ratio(top->second.ns, nodes_ns);
  n["run.nodes_are_fp32"] = 2 * fp32_ns > nodes_ns;
  out.run.texts["run.top_node"] = std::string(p.data.Text(top->first).substr(0, 200));
  const ColumnView<StringId>& dims = p.data.op.input_dims;
  const uint32_t row = h.row[top->second.longest];
  const std::string shapes =
      row < dims.size() && !IsNull(dims[row]) ? ShapesInWords(p.data.Text(dims[row])) : "";
  if (!shapes.empty()) out.run.texts["run.top_node_shapes"] = shapes;
  out.run.rows.push_back({"op", row, "longest call of the node", Ms(top->second.longest_ns), "ms"});
}

}  // namespace nl::features
