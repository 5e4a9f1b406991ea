// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/rocprof/field_tree.h"

#include <algorithm>

namespace nl::adapters::rocprof {

using trace_json::JsonValue;
using trace_json::Scan;
using trace_json::SkipSpace;

FieldTree::FieldTree(std::initializer_list<const char*> paths) : nodes_(1), values_(paths.size()) {
  int slot = 0;
  for (std::string_view path : paths) {
    size_t node = 0;
    for (;;) {
      const size_t dot = path.find('.');
      const std::string_view key = path.substr(0, dot);
      auto& children = nodes_[node].children;
      auto child =
          std::find_if(children.begin(), children.end(), [&](const Child& c) { return c.key == key; });
      if (child == children.end()) child = children.insert(children.end(), Child{std::string(key)});
      if (dot == std::string_view::npos) {
        child->slot = slot++;
        break;
      }
      if (child->node < 0) child->node = static_cast<int>(nodes_.size());
      node = static_cast<size_t>(child->node);
      if (node == nodes_.size()) nodes_.emplace_back();
      path.remove_prefix(dot + 1);
    }
  }
}

const FieldTree::Child* FieldTree::Find(Node& node, std::string_view key) {
  const size_t count = node.children.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = node.next + i < count ? node.next + i : node.next + i - count;
    if (node.children[at].key != key) continue;
    node.next = at + 1 < count ? at + 1 : 0;
    return &node.children[at];
  }
  return nullptr;
}

Scan FieldTree::ReadObject(const char*& p, const char* end, size_t index) {
  ++p;
  for (;;) {
    p = SkipSpace(p, end);
    if (p >= end) return Scan::kNeedMore;
    if (*p == '}') {
      ++p;
      return Scan::kOk;
    }
    if (*p == ',') {
      ++p;
      continue;
    }
    if (*p != '"') return Scan::kBad;
    JsonValue key, value;
    ++p;
    if (const Scan scan = ScanString(p, end, key); scan != Scan::kOk) return scan;
    p = SkipSpace(p, end);
    if (p >= end) return Scan::kNeedMore;
    if (*p != ':') return Scan::kBad;
    p = SkipSpace(p + 1, end);
    if (p >= end) return Scan::kNeedMore;
    const Child* child = Find(nodes_[index], key.text());
    if (child != nullptr && child->node >= 0 && *p == '{') {
      if (const Scan scan = ReadObject(p, end, static_cast<size_t>(child->node)); scan != Scan::kOk)
        return scan;
      continue;
    }
    if (const Scan scan = ScanValue(p, end, value); scan != Scan::kOk) return scan;
    if (child != nullptr && child->slot >= 0)
      values_[static_cast<size_t>(child->slot)] = value;
    else
      others_.push_back({key.text(), value});
  }
}

Scan FieldTree::Read(const char*& p, const char* end) {
  std::fill(values_.begin(), values_.end(), JsonValue{});
  others_.clear();
  if (p >= end) return Scan::kNeedMore;
  return *p == '{' ? ReadObject(p, end, 0) : Scan::kBad;
}

}  // namespace nl::adapters::rocprof
