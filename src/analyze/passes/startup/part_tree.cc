// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/startup/part_tree.h"

#include <algorithm>

namespace nl::passes::startup {

void PartTree::Add(StartupKind kind, std::string_view outer, std::string_view inner, int64_t ns) {
  if (ns <= 0) return;
  Node* node = &kinds_[kind];
  node->ns += ns;
  for (const std::string_view name : {outer, inner}) {
    if (name.empty()) return;
    node = &node->inside.try_emplace(std::string(name)).first->second;
    node->ns += ns;
  }
}

void PartTree::Subtract(const PartTree& other, int64_t times, int64_t n) {
  for (const auto& [kind, node] : other.kinds_) Subtract(node, times, n, kinds_[kind]);
}

void PartTree::Subtract(const Node& from, int64_t times, int64_t n, Node& to) {
  constexpr double kMostNs = 4e18;  // hostile times do not fit into an integer
  const double ns = static_cast<double>(from.ns) * static_cast<double>(times) / static_cast<double>(n);
  to.ns -= static_cast<int64_t>(std::clamp(ns, -kMostNs, kMostNs));
  for (const auto& [name, node] : from.inside) Subtract(node, times, n, to.inside[name]);
}

int64_t PartTree::total_ns() const {
  int64_t sum_ns = 0;
  for (const auto& [kind, node] : kinds_) sum_ns += node.ns;
  return sum_ns;
}

void PartTree::AddRows(const Node& node, StartupKind kind, int32_t depth, int64_t name_ns,
                       std::vector<StartupFacts::Part>& out) {
  std::vector<std::pair<int64_t, std::string_view>> order;
  for (const auto& [name, inside] : node.inside) {
    if (inside.ns >= name_ns) order.emplace_back(inside.ns, name);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  int64_t left_ns = node.ns;
  bool listed = false;
  for (const auto& [ns, name] : order) {
    if (ns > left_ns) continue;
    listed = true;
    left_ns -= ns;
    out.push_back({kind, depth, std::string(name), ns});
    if (depth < StartupFacts::kMaxDepth)
      AddRows(node.inside.find(name)->second, kind, depth + 1, name_ns, out);
  }
  if (listed && left_ns > 0) out.push_back({kind, depth, "others", left_ns});
}

std::vector<StartupFacts::Part> PartTree::Rows(int64_t least_ns, int64_t name_ns) const {
  std::vector<std::pair<int64_t, StartupKind>> order;
  for (const auto& [kind, node] : kinds_) {
    if (node.ns > least_ns) order.emplace_back(node.ns, kind);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<StartupFacts::Part> out;
  for (const auto& [ns, kind] : order) {
    out.push_back({kind, 0, std::string(LabelOf(kind)), ns});
    AddRows(kinds_.at(kind), kind, 1, std::max<int64_t>(1, name_ns), out);
  }
  return out;
}

}  // namespace nl::passes::startup
