// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/proton/hatchet_tree.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "import/adapters/proton/counters.h"

namespace nl::adapters::proton {

namespace {

// Sums of a hundred years of device time still fit.
constexpr int64_t kMaxNs = int64_t{3'200'000'000'000'000'000};
constexpr int64_t kMaxCount = int64_t{1} << 53;

const Json* Member(const Json& json, std::string_view key) {
  const auto it = json.find(std::string(key));
  return it == json.end() ? nullptr : &*it;
}

// A whole number that is not negative; Proton writes totals as integers, pandas as 52351.0.
bool WholeNumber(const Json& json, int64_t limit, int64_t& out) {
  if (json.is_number_integer()) {
    if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(limit)) return false;
    out = json.get<int64_t>();
    return out >= 0 && out <= limit;
  }
  if (!json.is_number_float()) return false;
  const double value = json.get<double>();
  if (!(value >= 0 && value <= static_cast<double>(kMaxCount))) return false;
  out = std::llround(value);
  return out <= limit;
}

// Proton 3.6 writes the device as text ("0").
bool DeviceNumber(const Json& json, int32_t& out) {
  int64_t number = 0;
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return false;
  } else if (!WholeNumber(json, INT32_MAX, number)) {
    return false;
  }
  if (number < 0 || number > INT32_MAX) return false;
  out = static_cast<int32_t>(number);
  return true;
}

}  // namespace

void HatchetTree::ReadMetrics(TreeNode& node) {
  const auto bad = [&](std::string_view key, const Json& value) {
    counters_.Add(kBadMetric, -1, std::string(node.name) + ": " + std::string(key) + " = " + DumpJson(value));
  };
  if (const Json* count = Member(*node.metrics, kCountKey); count != nullptr && !count->is_null()) {
    if (!WholeNumber(*count, kMaxCount, node.count)) {
      bad(kCountKey, *count);
      node.count = NullOf<int64_t>::value;
    }
  }
  if (const Json* time = Member(*node.metrics, kTimeKey); time != nullptr && !time->is_null()) {
    if (!WholeNumber(*time, kMaxNs, node.time_ns) || time_ns_ + node.time_ns > kMaxNs) {
      bad(kTimeKey, *time);
      node.time_ns = NullOf<int64_t>::value;
    } else {
      time_ns_ += node.time_ns;
    }
  }
  if (const Json* device = Member(*node.metrics, kDeviceKey); device != nullptr && !device->is_null()) {
    if (!DeviceNumber(*device, node.device)) bad(kDeviceKey, *device);
  }
  const Json* type = Member(*node.metrics, kDeviceTypeKey);
  if (type != nullptr && type->is_string()) node.device_type = type->get_ref<const std::string&>();
}

bool HatchetTree::AddNode(const Json& json, bool top) {
  const Json* frame = json.is_object() ? Member(json, "frame") : nullptr;
  const Json* name = frame != nullptr && frame->is_object() ? Member(*frame, "name") : nullptr;
  const Json* metrics = json.is_object() ? Member(json, "metrics") : nullptr;
  if (name == nullptr || !name->is_string() || metrics == nullptr || !metrics->is_object()) {
    counters_.Add(kBadNode, -1, DumpJson(json).substr(0, CounterSet::kSampleBytes));
    return false;
  }
  const auto at = static_cast<uint32_t>(nodes_.size());
  TreeNode node;
  node.name = name->get_ref<const std::string&>();
  node.metrics = metrics;
  ReadMetrics(node);
  node.root = top && node.name == "ROOT" && !node.IsWork();
  node.launches = node.IsWork();
  node.total_ns = node.IsWork() ? node.time_ns : 0;
  if (node.IsWork())
    executions_ =
        std::min(kMaxCount, executions_ + (IsNull(node.count) ? 1 : std::max<int64_t>(1, node.count)));
  nodes_.push_back(node);
  if (const Json* children = Member(json, "children"); children != nullptr && children->is_array()) {
    for (const Json& child : *children) {
      const size_t first = nodes_.size();
      if (!AddNode(child, false)) continue;
      nodes_[at].has_children = true;
      nodes_[at].total_ns += nodes_[first].total_ns;
      nodes_[at].launches |= nodes_[first].IsWork() && !nodes_[first].has_children;
    }
  }
  nodes_[at].last = static_cast<uint32_t>(nodes_.size());
  return true;
}

}  // namespace nl::adapters::proton
