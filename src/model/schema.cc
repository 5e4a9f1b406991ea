// SPDX-License-Identifier: Apache-2.0
#include "model/schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <utility>

#include <fmt/format.h>

#include "model/json_fields.h"

namespace nl::embedded {
extern const std::string_view kRunSchema;  // generated from schemas/run.schema.json by nl_embed
}  // namespace nl::embedded

namespace nl {
namespace {

constexpr size_t kMaxCollected = 2000;  // a hostile document of a few MB has millions
constexpr size_t kMaxViolations = 200;
constexpr size_t kMaxValueChars = 80;
constexpr size_t kMaxPatternChars = 1000;  // std::regex uses stack per character; no pattern accepts as many

// One subschema, read once. The run schema has no $ref and no combinators, so each value has exactly one.
struct Rules {
  const Json* text = nullptr;
  std::vector<std::string> types;  // empty: any
  std::vector<Json> allowed;       // from enum or const; empty: any
  std::optional<std::regex> pattern;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  size_t min_items = 0;
  size_t max_items = std::numeric_limits<size_t>::max();
  std::vector<std::string> required;
  std::map<std::string, Rules, std::less<>> properties;
  std::unique_ptr<const Rules> items;
  std::unique_ptr<const Rules> other_properties;
  bool closed = false;  // "additionalProperties": false
};

Result<Rules> ReadRules(const Json& text);

Status ReadObjectKeyword(const std::string& keyword, const Json& value, Rules& out) {
  if (keyword == "required") {
    out.required = value.get<std::vector<std::string>>();
  } else if (keyword == "properties") {
    for (auto it = value.begin(); it != value.end(); ++it) {
      NL_ASSIGN(Rules member, ReadRules(it.value()));
      out.properties.emplace(it.key(), std::move(member));
    }
  } else if (value.is_boolean()) {
    out.closed = !value.get<bool>();
  } else {
    NL_ASSIGN(Rules member, ReadRules(value));
    out.other_properties = std::make_unique<const Rules>(std::move(member));
  }
  return {};
}

Status ReadKeyword(const std::string& keyword, const Json& value, Rules& out) {
  constexpr std::array kAnnotations{"$schema", "$id", "title", "description"};
  if (keyword == "type") {
    out.types = value.is_array() ? value.get<std::vector<std::string>>()
                                 : std::vector<std::string>{value.get<std::string>()};
  } else if (keyword == "enum") {
    out.allowed.assign(value.begin(), value.end());
  } else if (keyword == "const") {
    out.allowed = {value};
  } else if (keyword == "pattern") {
    out.pattern.emplace(value.get<std::string>());  // of the whole text: each begins with ^ and ends with $
  } else if (keyword == "minimum") {
    out.minimum = value.get<double>();
  } else if (keyword == "maximum") {
    out.maximum = value.get<double>();
  } else if (keyword == "minItems") {
    out.min_items = value.get<size_t>();
  } else if (keyword == "maxItems") {
    out.max_items = value.get<size_t>();
  } else if (keyword == "items") {
    NL_ASSIGN(Rules items, ReadRules(value));
    out.items = std::make_unique<const Rules>(std::move(items));
  } else if (keyword == "required" || keyword == "properties" || keyword == "additionalProperties") {
    return ReadObjectKeyword(keyword, value, out);
  } else if (std::find(kAnnotations.begin(), kAnnotations.end(), keyword) == kAnnotations.end()) {
    return Internal(fmt::format("the run schema uses '{}', which the validator does not know", keyword));
  }
  return {};
}

Result<Rules> ReadRules(const Json& text) {
  Rules out;
  out.text = &text;
  for (auto it = text.begin(); it != text.end(); ++it) NL_TRY(ReadKeyword(it.key(), it.value(), out));
  return out;
}

struct CompiledSchema {
  Json text;
  Rules rules;
};

Result<std::unique_ptr<const CompiledSchema>> Compile() {
  auto compiled = std::make_unique<CompiledSchema>();
  NL_ASSIGN(compiled->text, ParseJson(embedded::kRunSchema));
  NL_ASSIGN(compiled->rules, ReadRules(compiled->text));
  return std::unique_ptr<const CompiledSchema>(std::move(compiled));
}

const Json* Member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// Appends `json` as text until `out` has at least `limit` bytes: a 100 MB value costs no more than a small
// one.
void Preview(const Json& json, size_t limit, std::string& out) {
  if (out.size() >= limit) return;
  if (json.is_number_float() && json.dump() == "null") {  // NaN and infinities
    out += fmt::format("{}", json.get<double>());
  } else if (json.is_string()) {
    const std::string& text = json.get_ref<const std::string&>();
    out += text.size() > limit ? DumpJson(Json(text.substr(0, limit))) : DumpJson(json);
  } else if (!json.is_structured()) {
    out += DumpJson(json);
  } else {
    const char* separator = "";
    out += json.is_array() ? '[' : '{';
    for (auto it = json.begin(); it != json.end() && out.size() < limit; ++it) {
      out += separator;
      if (json.is_object()) {
        Preview(Json(it.key()), limit, out);
        out += ':';
      }
      Preview(*it, limit, out);
      separator = ",";
    }
    out += json.is_array() ? ']' : '}';
  }
}

std::string ValueText(const Json& json) {
  std::string text;
  Preview(json, kMaxValueChars + 1, text);
  if (text.size() <= kMaxValueChars) return text;
  size_t cut = kMaxValueChars - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;  // not inside a character
  return text.substr(0, cut) + "...";
}

std::string TypeText(const Json& type, std::string_view separator) {
  if (type.is_string()) return type.get<std::string>();
  std::string out;
  for (const Json& name : type) out += (out.empty() ? "" : std::string(separator)) + name.get<std::string>();
  return out;
}

// What JSON cannot write (NaN, infinities) becomes null in the file.
bool IsNull(const Json& value) {
  return value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>()));
}

// 3.0 is an integer, as the draft has it; beyond int64 nothing is.
bool IsInteger(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    return std::trunc(number) == number && std::fabs(number) <= 0x1p62;
  }
  return value.is_number_integer() &&
         !(value.is_number_unsigned() &&
           value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
}

bool HasType(const Json& value, std::string_view type) {
  if (type == "null") return IsNull(value);
  if (type == "integer") return IsInteger(value);
  if (type == "number") return value.is_number() && !IsNull(value);
  return type == value.type_name();
}

struct Ranked {
  SchemaViolation violation;
  bool of_version;
  size_t depth;
};

// Walks a document and its schema together and keeps what does not fit.
class Checker {
 public:
  void Check(const Json& value, const Rules& rules) {
    if (found_.size() >= kMaxCollected) return;
    const auto fits = [&](const std::string& type) { return HasType(value, type); };
    if (!rules.types.empty() && std::none_of(rules.types.begin(), rules.types.end(), fits)) {
      const Json& types = *Member(*rules.text, "type");
      Add(value, "type: " + TypeText(types, "|"),
          fmt::format("expected {}, found {}", TypeText(types, " or "), value.type_name()));
      return;  // its other rules would only repeat this
    }
    CheckScalar(value, rules);
    if (value.is_array()) CheckArray(value, rules);
    if (value.is_object()) CheckObject(value, rules);
  }

  std::vector<SchemaViolation> Take() {
    std::stable_sort(found_.begin(), found_.end(), [](const Ranked& a, const Ranked& b) {
      return a.of_version != b.of_version ? a.of_version : a.depth > b.depth;
    });
    std::vector<SchemaViolation> out;
    for (Ranked& one : found_) {
      if (out.size() == kMaxViolations) break;
      out.push_back(std::move(one.violation));
    }
    return out;
  }

 private:
  void CheckScalar(const Json& value, const Rules& rules) {
    if (!rules.allowed.empty() &&
        std::find(rules.allowed.begin(), rules.allowed.end(), value) == rules.allowed.end()) {
      const bool one = Member(*rules.text, "const") != nullptr;
      AddLimit(value, rules, one ? "const" : "enum", one ? "expected {}" : "expected one of {}");
    }
    if (rules.pattern && value.is_string() && !Matches(value.get_ref<const std::string&>(), *rules.pattern)) {
      const Json* what = Member(*rules.text, "description");
      Add(value, fmt::format("pattern: {}", Member(*rules.text, "pattern")->get<std::string>()),
          fmt::format("wrong form; expected: {}", what == nullptr ? "" : what->get<std::string>()));
    }
    if (!value.is_number()) return;
    const double number = value.get<double>();
    if (number < rules.minimum) AddLimit(value, rules, "minimum", "must not be below {}");
    if (number > rules.maximum) AddLimit(value, rules, "maximum", "must not be above {}");
  }

  void CheckArray(const Json& value, const Rules& rules) {
    if (value.size() < rules.min_items) AddLimit(value, rules, "minItems", "has {1} items; minItems is {0}");
    if (value.size() > rules.max_items) AddLimit(value, rules, "maxItems", "has {1} items; maxItems is {0}");
    if (rules.items == nullptr) return;
    for (size_t i = 0; i < value.size() && found_.size() < kMaxCollected; ++i) {
      Below(fmt::format("/{}", i), [&] { Check(value[i], *rules.items); });
    }
  }

  void CheckObject(const Json& value, const Rules& rules) {
    for (const std::string& name : rules.required) {
      if (Member(value, name) == nullptr)
        Add(value, "required: " + name, fmt::format("member '{}' is missing", name));
    }
    for (auto it = value.begin(); it != value.end() && found_.size() < kMaxCollected; ++it) {
      const auto known = rules.properties.find(it.key());
      Below(json_fields::PointerStep(it.key()), [&] {
        if (known != rules.properties.end()) return Check(it.value(), known->second);
        if (rules.other_properties != nullptr) return Check(it.value(), *rules.other_properties);
        if (!rules.closed) return;
        Add(it.value(), "additionalProperties",
            fmt::format("'{}' is not a member the schema knows here", it.key().substr(0, kMaxValueChars)));
      });
    }
  }

  template <class Then>
  void Below(const std::string& step, const Then& then) {
    const size_t length = pointer_.size();
    pointer_ += step;
    ++depth_;
    then();
    --depth_;
    pointer_.resize(length);
  }

  void Add(const Json& value, std::string rule, std::string message) {
    const bool of_version = pointer_ == "/schema_version" && rule.rfind("const", 0) == 0;
    found_.push_back({{pointer_, std::move(rule), ValueText(value), std::move(message)}, of_version, depth_});
  }

  // `message` names the limit as {0} and the number of items as {1}.
  void AddLimit(const Json& value, const Rules& rules, std::string_view keyword, std::string_view message) {
    const std::string limit = DumpJson(*Member(*rules.text, keyword));
    Add(value, fmt::format("{}: {}", keyword, limit),
        fmt::format(fmt::runtime(message), limit, value.size()));
  }

  static bool Matches(const std::string& text, const std::regex& pattern) {
    return text.size() <= kMaxPatternChars && std::regex_match(text, pattern);
  }

  std::string pointer_;
  size_t depth_ = 0;
  std::vector<Ranked> found_;
};

}  // namespace

std::string SchemaViolation::ToString() const {
  return fmt::format("{}: {} ({}; found {})", pointer.empty() ? "document" : pointer, message, rule, value);
}

Result<std::vector<SchemaViolation>> ValidateRunDocument(const Json& document) {
  NL_TRY(CheckDepth(document));
  static const auto schema = Compile();
  if (!schema.ok()) return schema.error();
  Checker checker;
  checker.Check(document, (*schema)->rules);
  return checker.Take();
}

Result<std::string> SerializeValid(const RunDocument& document) {
  const Json json = ToJson(document);
  NL_ASSIGN(const auto violations, ValidateRunDocument(json));
  if (!violations.empty()) {
    return Internal(fmt::format("the run document breaks its own schema: {}", violations.front().ToString()));
  }
  return DumpJson(json) + "\n";
}

std::string_view RunSchemaText() { return embedded::kRunSchema; }

}  // namespace nl
