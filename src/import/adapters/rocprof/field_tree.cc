// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/rocprof/field_tree.h"

#include <algorithm>
#include <cstring>

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

// The key at p, whose quote p stands at, when it is the one that is expected; p is then after its closing
// quote.
const FieldTree::Child* FieldTree::TakeExpected(const char*& p, const char* end, Node& node) {
  if (node.children.empty()) return nullptr;
  const Child& child = node.children[node.next];
  const size_t size = child.key.size();
  if (static_cast<size_t>(end - p) < size + 2 || p[size + 1] != '"' ||
      std::memcmp(p + 1, child.key.data(), size) != 0)
    return nullptr;
  p += size + 2;
  node.next = node.next + 1 < node.children.size() ? node.next + 1 : 0;
  return &child;
}

// A number of digits alone, scanned and read at once; false: something else, and p stays.
bool FieldTree::TakeDigits(const char*& p, const char* end, JsonValue& out) {
  constexpr ptrdiff_t kMaxDigits = 18;
  const char *at = p, *stop = end - p > kMaxDigits ? p + kMaxDigits : end;
  int64_t digits = 0;
  for (; at < stop && *at >= '0' && *at <= '9'; ++at) digits = digits * 10 + (*at - '0');
  if (at == p || at >= end || (*at != ',' && *at != '}')) return false;
  out.data = p;
  out.size = static_cast<uint32_t>(at - p);
  out.kind = trace_json::JsonKind::kNumber;
  out.decimals = 0;
  out.digits = digits;
  p = at;
  return true;
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
    const Child* child = TakeExpected(p, end, nodes_[index]);
    if (child == nullptr) {
      ++p;
      if (const Scan scan = ScanString(p, end, key); scan != Scan::kOk) return scan;
      child = Find(nodes_[index], key.text());
    }
    p = SkipSpace(p, end);
    if (p >= end) return Scan::kNeedMore;
    if (*p != ':') return Scan::kBad;
    p = SkipSpace(p + 1, end);
    if (p >= end) return Scan::kNeedMore;
    if (child != nullptr && child->node >= 0 && *p == '{') {
      if (const Scan scan = ReadObject(p, end, static_cast<size_t>(child->node)); scan != Scan::kOk)
        return scan;
      continue;
    }
    if (!TakeDigits(p, end, value)) {
      if (const Scan scan = ScanValue(p, end, value); scan != Scan::kOk) return scan;
    }
    if (child != nullptr && child->slot >= 0)
      values_[static_cast<size_t>(child->slot)] = value;
    else
      others_.push_back({child != nullptr ? std::string_view(child->key) : key.text(), value});
  }
}

Scan FieldTree::Read(const char*& p, const char* end) {
  std::fill(values_.begin(), values_.end(), JsonValue{});
  others_.clear();
  if (p >= end) return Scan::kNeedMore;
  return *p == '{' ? ReadObject(p, end, 0) : Scan::kBad;
}

}  // namespace nl::adapters::rocprof
