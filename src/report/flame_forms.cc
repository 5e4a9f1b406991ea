// SPDX-License-Identifier: Apache-2.0
#include "report/flame_forms.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/json.h"

namespace nl {

namespace {

// Every node in order of a walk that takes heavy children first.
std::vector<uint32_t> Walk(const FlameTree& tree, bool device) {
  const auto children = tree.Children(device);
  std::vector<uint32_t> order, stack = {0};
  while (!stack.empty()) {
    const uint32_t i = stack.back();
    stack.pop_back();
    order.push_back(i);
    stack.insert(stack.end(), children[i].rbegin(), children[i].rend());
  }
  return order;
}

int64_t SelfOf(const FlameTree::Node& n, bool device) { return device ? n.device_self_ns : n.host_self_ns; }

// From the root's child down to the node.
std::vector<uint32_t> PathOf(const FlameTree& tree, uint32_t node) {
  std::vector<uint32_t> path;
  for (uint32_t i = node; i != 0 && i != kNone; i = tree.nodes[i].parent) path.push_back(i);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

std::string SpeedscopeText(const FlameTree& tree, const RunData& data, const TimelineFacts& timeline,
                           const std::string& title) {
  std::unordered_map<std::string, size_t> frame_of_name;
  std::vector<size_t> frame(tree.nodes.size(), 0);
  std::string frames;
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const std::string name = FlameName(tree.nodes[i], data, timeline);
    const auto [it, added] = frame_of_name.try_emplace(name, frame_of_name.size());
    if (added) frames += fmt::format("{}{{\"name\":{}}}", frames.empty() ? "" : ",\n", DumpJson(Json(name)));
    frame[i] = it->second;
  }
  std::string profiles;
  for (const bool device : {false, true}) {
    std::string samples, weights;
    int64_t total_ns = 0;
    for (const uint32_t i : Walk(tree, device)) {
      const int64_t self_ns = SelfOf(tree.nodes[i], device);
      if (self_ns <= 0) continue;
      std::string stack;
      for (const uint32_t at : PathOf(tree, i))
        stack += fmt::format("{}{}", stack.empty() ? "" : ",", frame[at]);
      samples += fmt::format("{}[{}]", samples.empty() ? "" : ",\n", stack);
      weights += fmt::format("{}{}", weights.empty() ? "" : ",", self_ns);
      total_ns += self_ns;
    }
    profiles += fmt::format(
        "{}{{\"type\":\"sampled\",\"name\":\"{} time\",\"unit\":\"{}\",\"startValue\":0,"
        "\"endValue\":{},\n\"samples\":[{}],\n\"weights\":[{}]}}",
        device ? ",\n" : "", device ? "device" : "host",
        tree.unit.empty()      ? "nanoseconds"
        : tree.unit == "bytes" ? "bytes"
                               : "none",
        total_ns, samples, weights);
  }
  return fmt::format(
      "{{\"$schema\":\"https://www.speedscope.app/"
      "file-format-schema.json\",\"name\":{},\"exporter\":\"neurolens\","
      "\"activeProfileIndex\":0,\n\"shared\":{{\"frames\":[{}]}},\n\"profiles\":[{}]}}\n",
      DumpJson(Json(title)), frames, profiles);
}

std::string CollapsedText(const FlameTree& tree, const RunData& data, const TimelineFacts& timeline,
                          bool device) {
  std::vector<std::string> name(tree.nodes.size());
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    name[i] = FlameName(tree.nodes[i], data, timeline);
    for (char& c : name[i]) {
      if (c == ';') c = ':';
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
  }
  std::string out;
  for (const uint32_t i : Walk(tree, device)) {
    const int64_t self_ns = SelfOf(tree.nodes[i], device);
    if (self_ns <= 0) continue;
    std::string line;
    for (const uint32_t at : PathOf(tree, i)) line += (line.empty() ? "" : ";") + name[at];
    out += fmt::format("{} {}\n", line, self_ns);
  }
  return out;
}

}  // namespace nl
