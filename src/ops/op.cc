// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/record_json.h"

namespace nl {

namespace {

Error WrongType(const std::string& name, std::string_view expected, const Json& found) {
  return InvalidInput(
      fmt::format("parameter '{}' must be {}, not {}", name, expected, DumpJson(found).substr(0, 80)));
}

Status CheckChoice(const ParamInfo& info, const std::string& value) {
  if (info.choices.empty() ||
      std::find(info.choices.begin(), info.choices.end(), value) != info.choices.end())
    return {};
  return InvalidInput(fmt::format("parameter '{}' must be one of {}, not '{}'", info.name,
                                  fmt::join(info.choices, ", "), value));
}

Status CheckRange(const ParamInfo& info, double value) {
  if ((!info.min || value >= *info.min) && (!info.max || value <= *info.max)) return {};
  return InvalidInput(fmt::format("parameter '{}' must be between {} and {}, not {}", info.name,
                                  info.min.value_or(0), info.max.value_or(0), value));
}

}  // namespace

ParamBinder::Handle ParamBinder::Register(std::string name, std::string help, ParamKind kind,
                                          Json default_value, Setter setter) {
  ParamInfo info;
  info.name = std::move(name);
  info.help = std::move(help);
  info.kind = kind;
  info.default_value = std::move(default_value);
  params_.push_back(std::move(info));
  setters_.push_back(std::move(setter));
  return {this, params_.size() - 1};
}

ParamBinder::Handle ParamBinder::Add(std::string name, std::string& member, std::string help) {
  Json default_value = member.empty() ? Json() : Json(member);
  return Register(std::move(name), std::move(help), ParamKind::kString, std::move(default_value),
                  [&member](const ParamInfo& info, const Json& value) -> Status {
                    if (!value.is_string()) return WrongType(info.name, "a string", value);
                    NL_TRY(CheckChoice(info, value.get_ref<const std::string&>()));
                    member = value.get<std::string>();
                    return {};
                  });
}

ParamBinder::Handle ParamBinder::Add(std::string name, int64_t& member, std::string help) {
  return Register(std::move(name), std::move(help), ParamKind::kInt, member,
                  [&member](const ParamInfo& info, const Json& value) -> Status {
                    if (!value.is_number_integer()) return WrongType(info.name, "an integer", value);
                    NL_TRY(CheckRange(info, value.get<double>()));
                    member = value.get<int64_t>();
                    return {};
                  });
}

ParamBinder::Handle ParamBinder::Add(std::string name, double& member, std::string help) {
  return Register(std::move(name), std::move(help), ParamKind::kNumber, member,
                  [&member](const ParamInfo& info, const Json& value) -> Status {
                    if (!value.is_number()) return WrongType(info.name, "a number", value);
                    NL_TRY(CheckRange(info, value.get<double>()));
                    member = value.get<double>();
                    return {};
                  });
}

ParamBinder::Handle ParamBinder::Add(std::string name, bool& member, std::string help) {
  return Register(std::move(name), std::move(help), ParamKind::kBool, member,
                  [&member](const ParamInfo& info, const Json& value) -> Status {
                    if (!value.is_boolean()) return WrongType(info.name, "true or false", value);
                    member = value.get<bool>();
                    return {};
                  });
}

ParamBinder::Handle ParamBinder::Add(std::string name, std::vector<std::string>& member, std::string help) {
  Handle handle = Register(std::move(name), std::move(help), ParamKind::kString, nullptr,
                           [&member](const ParamInfo& info, const Json& value) -> Status {
                             if (!value.is_array()) return WrongType(info.name, "a list of strings", value);
                             member.clear();
                             for (const Json& item : value) {
                               if (!item.is_string()) return WrongType(info.name, "a list of strings", value);
                               NL_TRY(CheckChoice(info, item.get_ref<const std::string&>()));
                               member.push_back(item.get<std::string>());
                             }
                             return {};
                           });
  params_.back().repeated = true;
  return handle;
}

Status ParamBinder::Fill(const Json& args) {
  if (!args.is_object() && !args.is_null()) return InvalidInput("parameters must be an object");
  for (const auto& [name, value] : args.items()) {
    const std::string& key = name;  // clang 14 does not capture structured bindings
    const auto it =
        std::find_if(params_.begin(), params_.end(), [&](const ParamInfo& p) { return p.name == key; });
    if (it == params_.end()) return InvalidInput(fmt::format("unknown parameter '{}'", key));
    if (value.is_null()) continue;
    NL_TRY(setters_[static_cast<size_t>(it - params_.begin())](*it, value));
  }
  for (const ParamInfo& info : params_) {
    if (!info.required) continue;
    const bool given = args.is_object() && args.contains(info.name) && !args[info.name].is_null();
    if (!given || (info.repeated && args[info.name].empty())) {
      return InvalidInput(fmt::format("parameter '{}' is missing", info.name));
    }
  }
  return {};
}

std::string Reply::JsonText(int indent) const {
  std::string out;
  WriteJson(out, value.data(), value.info(), indent);
  return out;
}

Json Reply::Document() const { return ToDocument(value.data(), value.info()); }

const OpEntry* FindRole(const std::vector<OpEntry>& ops, ServerRole role) {
  for (const OpEntry& entry : ops) {
    if (entry.make()->Info().role == role) return &entry;
  }
  return nullptr;
}

bool IsNameOf(std::string_view asked, std::string_view name) {
  return std::equal(asked.begin(), asked.end(), name.begin(), name.end(),
                    [](char a, char b) { return a == b || (a == '_' && b == '-'); });
}

std::unique_ptr<Op> MakeOp(const std::vector<OpEntry>& ops, std::string_view name) {
  const auto it =
      std::find_if(ops.begin(), ops.end(), [&](const OpEntry& entry) { return IsNameOf(name, entry.name); });
  return it == ops.end() ? nullptr : it->make();
}

Json ParamSchema(const std::vector<ParamInfo>& params) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const ParamInfo& p : params) {
    Json value;
    switch (p.kind) {
      case ParamKind::kInt: value["type"] = "integer"; break;
      case ParamKind::kNumber: value["type"] = "number"; break;
      case ParamKind::kBool: value["type"] = "boolean"; break;
      case ParamKind::kChoice:
        value["type"] = "string";
        value["enum"] = p.choices;
        break;
      case ParamKind::kKeyValue:
        value["type"] = "string";
        value["pattern"] = "^[^=]+=.*$";
        break;
      default: value["type"] = "string";
    }
    if (p.min) value["minimum"] = *p.min;
    if (p.max) value["maximum"] = *p.max;
    Json property = p.repeated ? Json{{"type", "array"}, {"items", value}} : value;
    property["description"] = p.help;
    if (!p.default_value.is_null()) property["default"] = p.default_value;
    properties[p.name] = std::move(property);
    if (p.required) required.push_back(p.name);
  }
  Json schema{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

Result<Reply> RunOp(Op& op, const Json& args, OpContext& context) {
  ParamBinder binder;
  op.Bind(binder);
  NL_TRY(binder.Fill(args));
  return op.Run(context);
}

}  // namespace nl
