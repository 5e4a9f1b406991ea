// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/sequence/op_types.h"

namespace nl::compare {

namespace {

// "aten::mm" has type mm: the type is in the name.
bool NameTells(std::string_view name, std::string_view type) {
  return name == type || (name.ends_with(type) && name.substr(0, name.size() - type.size()).ends_with("::"));
}

std::string_view TextAt(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? std::string_view(it->get_ref<const std::string&>())
                                               : std::string_view();
}

}  // namespace

OpTypes::OpTypes(const RunData& data) {
  const auto timeline = data.document.find("timeline");
  if (timeline == data.document.end() || !timeline->is_array()) return;
  for (const Json& op : *timeline) {
    if (!op.is_object()) continue;
    const std::string_view name = TextAt(op, "op_name"), type = TextAt(op, "op_type");
    const StringId id = data.strings->Find(name);
    if (type.empty() || IsNull(id) || NameTells(name, type)) continue;
    types_.emplace(static_cast<uint32_t>(id), type);
    if (types_.size() > kMostNames) break;
  }
  if (types_.size() > kMostNames) types_.clear();
}

}  // namespace nl::compare
