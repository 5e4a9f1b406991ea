// SPDX-License-Identifier: Apache-2.0
#include "base/record_json.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace nl {

namespace {

using Kind = TypeInfo::Kind;

// Null when the field is absent.
const void* FieldAt(const void* record, const FieldInfo& field) {
  const void* member = static_cast<const char*>(record) + field.offset;
  return field.find == nullptr ? member : field.find(member, field.name);
}

std::string_view EnumName(const TypeInfo& type, const void* at) {
  const auto names = type.names();
  const auto value = static_cast<size_t>(type.integer(at));
  return value < names.size() ? names[value] : std::string_view("unknown");
}

// JSON of one record, in the style of nlohmann's dump so that both writers agree byte for byte.
class Writer {
 public:
  Writer(std::string& out, int indent) : out_(out), indent_(indent) {}

  void Record(const void* at, const RecordInfo& info) {
    Open('{');
    bool first = true;
    for (const FieldInfo& field : info.fields) {
      const void* value = FieldAt(at, field);
      if (value == nullptr) continue;
      Separate(first);
      first = false;
      Key(field.name);
      Value(value, *field.type);
    }
    Close('}', first);
  }

 private:
  void Open(char bracket) {
    out_ += bracket;
    ++depth_;
  }
  void Separate(bool first) {
    if (!first) out_ += ',';
    NewLine();
  }
  void Close(char bracket, bool empty) {
    --depth_;
    if (!empty) NewLine();
    out_ += bracket;
  }
  void NewLine() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(indent_) * static_cast<size_t>(depth_), ' ');
  }
  void Key(std::string_view name) {
    Text(name);
    out_ += indent_ < 0 ? ":" : ": ";
  }

  // Printable ASCII, which nearly all text is, is copied; the rest goes through the library.
  void Text(std::string_view text) {
    const bool plain = std::all_of(text.begin(), text.end(),
                                   [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
    if (!plain) {
      out_ += DumpJson(Json(text));
      return;
    }
    out_ += '"';
    out_ += text;
    out_ += '"';
  }

  void Double(double value) {
    if (!std::isfinite(value)) {
      out_ += "null";
      return;
    }
    char buffer[64];
    // The shortest text that reads back as the same number, as DumpJson writes it.
    const char* end = nlohmann::detail::to_chars(buffer, buffer + sizeof buffer, value);
    out_.append(buffer, static_cast<size_t>(end - buffer));
  }

  void ScalarValue(const Scalar& value) {
    if (const auto* b = std::get_if<bool>(&value)) {
      out_ += *b ? "true" : "false";
    } else if (const auto* i = std::get_if<int64_t>(&value)) {
      out_ += fmt::format_int(*i).c_str();
    } else if (const auto* d = std::get_if<double>(&value)) {
      Double(*d);
    } else if (const auto* s = std::get_if<std::string>(&value)) {
      Text(*s);
    } else {
      out_ += "null";
    }
  }

  void Document(const Json& json) {
    std::string text = DumpJson(json, indent_);
    if (indent_ >= 0 && depth_ > 0) {
      // Nested documents start at the present depth.
      const std::string margin(static_cast<size_t>(indent_) * static_cast<size_t>(depth_), ' ');
      for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
        text.insert(at + 1, margin);
    }
    out_ += text;
  }

  void Value(const void* at, const TypeInfo& type) {
    switch (type.kind) {
      case Kind::kBool: out_ += *static_cast<const bool*>(at) ? "true" : "false"; break;
      case Kind::kInt:
        if (type.is_unsigned) {
          out_ += fmt::format_int(static_cast<uint64_t>(type.integer(at))).c_str();
        } else {
          out_ += fmt::format_int(type.integer(at)).c_str();
        }
        break;
      case Kind::kDouble: Double(*static_cast<const double*>(at)); break;
      case Kind::kString: Text(*static_cast<const std::string*>(at)); break;
      case Kind::kEnum: Text(EnumName(type, at)); break;
      case Kind::kScalar: ScalarValue(*static_cast<const Scalar*>(at)); break;
      case Kind::kJson: Document(*static_cast<const Json*>(at)); break;
      case Kind::kRecord: Record(at, type.record()); break;
      case Kind::kOptional: {
        const void* held = type.held(at);
        if (held == nullptr) {
          out_ += "null";
        } else {
          Value(held, *type.element());
        }
        break;
      }
      case Kind::kList: List(at, type); break;
      case Kind::kMap: Map(at, type); break;
    }
  }

  void List(const void* at, const TypeInfo& type) {
    const size_t count = type.count(at);
    Open('[');
    for (size_t i = 0; i < count; ++i) {
      Separate(i == 0);
      Value(type.at(at, i), *type.element());
    }
    Close(']', count == 0);
  }

  void Map(const void* at, const TypeInfo& type) {
    Open('{');
    struct State {
      Writer* writer;
      const TypeInfo* element;
      bool first = true;
    } state{this, type.element()};
    type.each(at, &state, [](void* context, const std::string& key, const void* value) {
      State& s = *static_cast<State*>(context);
      s.writer->Separate(s.first);
      s.first = false;
      s.writer->Key(key);
      s.writer->Value(value, *s.element);
    });
    Close('}', state.first);
  }

  std::string& out_;
  int indent_, depth_ = 0;
};

Json DocumentOf(const void* at, const TypeInfo& type) {
  switch (type.kind) {
    case Kind::kBool: return *static_cast<const bool*>(at);
    case Kind::kInt:
      return type.is_unsigned ? Json(static_cast<uint64_t>(type.integer(at))) : Json(type.integer(at));
    case Kind::kDouble: {
      const double value = *static_cast<const double*>(at);
      return std::isfinite(value) ? Json(value) : Json();
    }
    case Kind::kString: return *static_cast<const std::string*>(at);
    case Kind::kEnum: return std::string(EnumName(type, at));
    case Kind::kScalar:
      return std::visit(
          [](const auto& v) -> Json {
            if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) {
              return Json();
            } else {
              return Json(v);
            }
          },
          *static_cast<const Scalar*>(at));
    case Kind::kJson: return *static_cast<const Json*>(at);
    case Kind::kRecord: return ToDocument(at, type.record());
    case Kind::kOptional: {
      const void* held = type.held(at);
      return held == nullptr ? Json() : DocumentOf(held, *type.element());
    }
    case Kind::kList: {
      Json out = Json::array();
      const size_t count = type.count(at);
      for (size_t i = 0; i < count; ++i) out.push_back(DocumentOf(type.at(at, i), *type.element()));
      return out;
    }
    case Kind::kMap: {
      struct State {
        Json out = Json::object();
        const TypeInfo* element;
      } state{Json::object(), type.element()};
      type.each(at, &state, [](void* context, const std::string& key, const void* value) {
        State& s = *static_cast<State*>(context);
        s.out[key] = DocumentOf(value, *s.element);
      });
      return std::move(state.out);
    }
  }
  return Json();
}

// Records that a type holds, in the order they are met.
void Collect(const TypeInfo& type, std::vector<const RecordInfo*>& out);
void Collect(const RecordInfo& info, std::vector<const RecordInfo*>& out) {
  if (std::find(out.begin(), out.end(), &info) != out.end()) return;
  out.push_back(&info);
  for (const FieldInfo& field : info.fields) Collect(*field.type, out);
}
void Collect(const TypeInfo& type, std::vector<const RecordInfo*>& out) {
  if (type.kind == Kind::kRecord) Collect(type.record(), out);
  if (type.element != nullptr) Collect(*type.element(), out);
}

Json SchemaOf(const TypeInfo& type) {
  switch (type.kind) {
    case Kind::kBool: return {{"type", "boolean"}};
    case Kind::kInt: return {{"type", "integer"}};
    case Kind::kDouble: return {{"type", "number"}};
    case Kind::kString: return {{"type", "string"}};
    case Kind::kEnum: {
      Json names = Json::array();
      for (const std::string_view name : type.names()) names.push_back(name);
      return {{"type", "string"}, {"enum", std::move(names)}};
    }
    case Kind::kScalar: return {{"type", {"null", "boolean", "number", "string"}}};
    case Kind::kJson: return Json::object();
    case Kind::kRecord: return {{"$ref", fmt::format("#/definitions/{}", type.record().name)}};
    case Kind::kList: return {{"type", "array"}, {"items", SchemaOf(*type.element())}};
    case Kind::kMap: return {{"type", "object"}, {"additionalProperties", SchemaOf(*type.element())}};
    case Kind::kOptional: {
      Json inner = SchemaOf(*type.element());
      if (inner.size() == 1 && inner.contains("type") && inner["type"].is_string())
        return {{"type", {inner["type"], "null"}}};
      return {{"anyOf", {std::move(inner), Json{{"type", "null"}}}}};
    }
  }
  return Json::object();
}

Json RecordSchema(const RecordInfo& info) {
  Json properties = Json::object(), required = Json::array();
  for (const FieldInfo& field : info.fields) {
    Json property = SchemaOf(*field.type);
    // draft-07 ignores what stands beside a $ref.
    if (property.contains("$ref")) property = {{"allOf", Json::array({std::move(property)})}};
    property["description"] = field.doc;
    if (field.unit != Unit::kNone) property["x-unit"] = UnitName(field.unit);
    properties[field.name] = std::move(property);
    if (field.find == nullptr) required.push_back(field.name);
  }
  Json out{{"type", "object"}};
  if (info.doc[0] != '\0') out["description"] = info.doc;
  out["additionalProperties"] = false;
  out["required"] = std::move(required);
  out["properties"] = std::move(properties);
  return out;
}

std::string TypeScriptOf(const TypeInfo& type) {
  switch (type.kind) {
    case Kind::kBool: return "boolean";
    case Kind::kInt:
    case Kind::kDouble: return "number";
    case Kind::kString: return "string";
    case Kind::kEnum: {
      std::string out;
      for (const std::string_view name : type.names())
        out += fmt::format("{}\"{}\"", out.empty() ? "" : " | ", name);
      return out;
    }
    case Kind::kScalar: return "null | boolean | number | string";
    case Kind::kJson: return "unknown";
    case Kind::kRecord: return type.record().name;
    case Kind::kOptional: return TypeScriptOf(*type.element()) + " | null";
    case Kind::kList: {
      const std::string element = TypeScriptOf(*type.element());
      return element.find('|') == std::string::npos ? element + "[]" : "(" + element + ")[]";
    }
    case Kind::kMap: return fmt::format("Record<string, {}>", TypeScriptOf(*type.element()));
  }
  return "unknown";
}

std::string DocType(const TypeInfo& type) {
  switch (type.kind) {
    case Kind::kBool: return "boolean";
    case Kind::kInt: return "integer";
    case Kind::kDouble: return "number";
    case Kind::kString: return "text";
    case Kind::kEnum: {
      std::string out;
      for (const std::string_view name : type.names())
        out += fmt::format("{}`{}`", out.empty() ? "" : ", ", name);
      return out;
    }
    case Kind::kScalar: return "value";
    case Kind::kJson: return "document";
    case Kind::kRecord: return type.record().name;
    case Kind::kOptional: return DocType(*type.element()) + " or null";
    case Kind::kList: return "list of " + DocType(*type.element());
    case Kind::kMap: return "map of " + DocType(*type.element());
  }
  return "";
}

}  // namespace

const void* record_detail::FindDescribed(const void* map, const char* name) {
  const auto& structs = *static_cast<const DescribedMap*>(map);
  const auto found = structs.find(name);
  return found == structs.end() ? nullptr : found->second.data();
}

std::string_view UnitName(Unit unit) {
  switch (unit) {
    case Unit::kNone: return "";
    case Unit::kNs: return "ns";
    case Unit::kUs: return "us";
    case Unit::kMs: return "ms";
    case Unit::kSeconds: return "s";
    case Unit::kBytes: return "bytes";
    case Unit::kShare: return "share";
    case Unit::kPercent: return "percent";
    case Unit::kMhz: return "MHz";
    case Unit::kGbPerS: return "GB/s";
    case Unit::kTflops: return "TFLOP/s";
    case Unit::kFlops: return "FLOP";
    case Unit::kTokens: return "tokens";
    case Unit::kTokensPerS: return "tokens/s";
    case Unit::kWatt: return "W";
    case Unit::kRatio: return "ratio";
  }
  return "";
}

void WriteJson(std::string& out, const void* at, const RecordInfo& info, int indent) {
  Writer(out, indent).Record(at, info);
}

Json ToDocument(const void* at, const RecordInfo& info) {
  Json out = Json::object();
  for (const FieldInfo& field : info.fields) {
    if (const void* value = FieldAt(at, field)) out[field.name] = DocumentOf(value, *field.type);
  }
  return out;
}

Json JsonSchema(const RecordInfo& info) {
  Json out = RecordSchema(info), definitions = Json::object();
  const std::vector<const RecordInfo*> records = RecordsOf(info);
  for (size_t i = 1; i < records.size(); ++i) definitions[records[i]->name] = RecordSchema(*records[i]);
  if (!definitions.empty()) out["definitions"] = std::move(definitions);
  return out;
}

std::vector<const RecordInfo*> RecordsOf(const RecordInfo& info) {
  std::vector<const RecordInfo*> out;
  Collect(info, out);
  return out;
}

std::string TypeScript(const std::vector<const RecordInfo*>& records) {
  std::vector<const RecordInfo*> all;
  for (const RecordInfo* record : records) Collect(*record, all);
  std::sort(all.begin(), all.end(),
            [](const RecordInfo* a, const RecordInfo* b) { return std::string_view(a->name) < b->name; });
  std::string out;
  for (const RecordInfo* record : all) {
    if (!out.empty()) out += "\n";
    if (record->doc[0] != '\0') out += fmt::format("/** {} */\n", record->doc);
    out += fmt::format("export interface {} {{\n", record->name);
    for (const FieldInfo& field : record->fields) {
      const std::string unit = field.unit == Unit::kNone ? "" : fmt::format(" ({})", UnitName(field.unit));
      out += fmt::format("  /** {}{} */\n  {}{}: {};\n", field.doc, unit, field.name,
                         field.find == nullptr ? "" : "?", TypeScriptOf(*field.type));
    }
    out += "}\n";
  }
  return out;
}

std::string DocTable(const RecordInfo& info) {
  std::string out = "| field | type | unit | meaning |\n|---|---|---|---|\n";
  for (const FieldInfo& field : info.fields)
    out += fmt::format("| `{}` | {}{} | {} | {} |\n", field.name, DocType(*field.type),
                       field.find == nullptr ? "" : " or absent", UnitName(field.unit), field.doc);
  return out;
}

}  // namespace nl
