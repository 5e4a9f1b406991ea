// SPDX-License-Identifier: Apache-2.0
#include "model/json_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nl {

Status CheckDepth(const Json& json, int max_levels) {
  struct Level {
    Json::const_iterator next, end;
  };
  std::vector<Level> open;
  if (json.is_structured()) open.push_back({json.begin(), json.end()});
  while (!open.empty()) {
    if (open.size() > static_cast<size_t>(max_levels)) {
      return Limit(fmt::format("JSON nested more than {} levels deep", max_levels));
    }
    Level& top = open.back();
    if (top.next == top.end) {
      open.pop_back();
      continue;
    }
    const Json& child = *top.next;
    ++top.next;
    if (child.is_structured()) open.push_back({child.begin(), child.end()});
  }
  return {};
}

namespace json_fields {

std::string PointerStep(std::string_view key) {
  std::string out = "/";
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Path::Pointer() const {
  if (parent == nullptr) return "";
  return parent->Pointer() + (key.data() == nullptr ? "/" + std::to_string(index) : PointerStep(key));
}

Error Wrong(const Path& path, std::string_view what) {
  const std::string pointer = path.Pointer();
  return InvalidInput(fmt::format("{}: {}", pointer.empty() ? "top level" : pointer, what));
}

Status Read(const Json& json, const Path&, Json& out) {
  out = json;
  return {};
}

Status Read(const Json& json, const Path& path, std::string& out) {
  if (!json.is_string()) return Wrong(path, "expected string");
  out = json.get_ref<const std::string&>();
  return {};
}

Status Read(const Json& json, const Path& path, bool& out) {
  if (!json.is_boolean()) return Wrong(path, "expected boolean");
  out = json.get<bool>();
  return {};
}

Status Read(const Json& json, const Path& path, double& out) {
  if (!json.is_number()) return Wrong(path, "expected number");
  out = json.get<double>();
  return {};
}

Status Read(const Json& json, const Path& path, int64_t& out) {
  if (json.is_number_float()) {  // 3.0 is an integer to JSON Schema
    const double number = json.get<double>();
    if (std::trunc(number) != number) return Wrong(path, "expected integer");
    if (std::fabs(number) > 0x1p62) return Wrong(path, "integer out of range");
    out = static_cast<int64_t>(number);
    return {};
  }
  if (!json.is_number_integer()) return Wrong(path, "expected integer");
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (json.is_number_unsigned() && json.get<uint64_t>() > kMax) return Wrong(path, "integer out of range");
  out = json.get<int64_t>();
  return {};
}

Error UnknownMember::In(const Json& object, const Path& path) const {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    return Wrong(Path{&path, key, 0}, "unknown member");
  }
  return Wrong(path, "a member appears twice");
}

}  // namespace json_fields
}  // namespace nl
