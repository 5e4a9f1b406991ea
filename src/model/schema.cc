// SPDX-License-Identifier: Apache-2.0
#include "model/schema.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

// Without this valijson prints to stderr and aborts.
#define VALIJSON_USE_EXCEPTIONS 1
#include <fmt/format.h>

#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "model/json_fields.h"
#include "model/valijson_adapter.h"

namespace nl::embedded {
extern const std::string_view kRunSchema;  // generated from schemas/run.schema.json by nl_embed
}  // namespace nl::embedded

namespace nl {
namespace {

constexpr size_t kMaxCollected = 2000;  // valijson's own list, which also holds the follow-up errors
constexpr size_t kMaxViolations = 200;
constexpr size_t kMaxValueChars = 80;

struct CompiledSchema {
  Json text;
  valijson::Schema rules;
};

Result<std::unique_ptr<const CompiledSchema>> Compile() {
  NL_ASSIGN(Json text, ParseJson(embedded::kRunSchema));
  auto compiled = std::make_unique<CompiledSchema>();
  compiled->text = std::move(text);
  try {
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(schema_internal::JsonAdapter(compiled->text), compiled->rules);
  } catch (const std::exception& e) {
    return Internal(fmt::format("the built-in run schema does not compile: {}", e.what()));
  }
  return std::unique_ptr<const CompiledSchema>(std::move(compiled));
}

// Runs valijson; its exceptions end here.
Status Collect(const CompiledSchema& schema, const Json& document, valijson::ValidationResults& results) {
  schema_internal::error_budget = {&results, kMaxCollected};
  std::optional<Error> failure;
  try {
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    const bool valid = validator.validate(schema.rules, schema_internal::JsonAdapter(document), &results);
    if (!valid && results.numErrors() == 0) failure = Internal("schema validation failed without a reason");
  } catch (const std::exception& e) {
    failure = Internal(fmt::format("schema validation failed: {}", e.what()));
  }
  schema_internal::error_budget = {};
  if (failure) return *std::move(failure);
  return {};
}

// What valijson 1.0 says, and the keyword it means. Texts not listed follow from a more specific error on a
// value further down and say nothing of their own.
struct Wording {
  std::string_view prefix;
  std::string_view keyword;
};
constexpr Wording kWordings[] = {
    {"Value type not permitted by 'type'", "type"},
    {"Missing required property '", "required"},
    {"Object contains a property that could not be validated", "additionalProperties"},
    {"Failed to match against any enum values", "enum"},
    {"Failed to match expected value set by 'const'", "const"},
    {"Failed to match regex", "pattern"},
    {"Expected number greater than or equal to", "minimum"},
    {"Expected number less than or equal to", "maximum"},
    {"Array should contain no fewer than", "minItems"},
    {"Array should contain no more than", "maxItems"},
};

std::string_view KeywordOf(std::string_view description) {
  for (const Wording& wording : kWordings) {
    if (description.substr(0, wording.prefix.size()) == wording.prefix) return wording.keyword;
  }
  return {};
}

// A place in the document together with the part of the schema that rules it. The schema has no $ref and no
// combinators, so each value has exactly one such part.
struct Place {
  std::string pointer;
  size_t depth = 0;
  const Json* value = nullptr;
  const Json* rules = nullptr;
};

const Json* Member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<Place> Step(const Place& from, std::string_view key) {
  Place to{from.pointer + json_fields::PointerStep(key), from.depth + 1, nullptr, nullptr};
  if (from.value->is_array()) {
    size_t index = 0;
    std::from_chars(key.data(), key.data() + key.size(), index);
    if (index >= from.value->size()) return std::nullopt;
    to.value = &(*from.value)[index];
    to.rules = Member(*from.rules, "items");
  } else {
    to.value = Member(*from.value, key);
    const Json* properties = Member(*from.rules, "properties");
    if (properties != nullptr) to.rules = Member(*properties, key);
    if (to.rules == nullptr) to.rules = Member(*from.rules, "additionalProperties");
  }
  if (to.value == nullptr || to.rules == nullptr) return std::nullopt;
  return to;
}

// `context` is valijson's: "<root>", then "[key]" or "[index]" for each step.
std::optional<Place> Locate(const std::vector<std::string>& context, const Json& schema,
                            const Json& document) {
  Place place{"", 0, &document, &schema};
  for (size_t i = 1; i < context.size(); ++i) {
    const std::string_view step(context[i]);
    if (step.size() < 2) return std::nullopt;
    auto next = Step(place, step.substr(1, step.size() - 2));
    if (!next) return std::nullopt;
    place = *std::move(next);
  }
  return place;
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

struct Ranked {
  SchemaViolation violation;
  std::string_view keyword;
  size_t depth = 0;
};

Ranked Describe(const Place& place, std::string_view keyword) {
  const Json* limit = Member(*place.rules, keyword);
  const std::string limit_text = limit == nullptr     ? ""
                                 : keyword == "type"  ? TypeText(*limit, "|")
                                 : limit->is_string() ? limit->get<std::string>()
                                                      : DumpJson(*limit);
  std::string message;
  if (keyword == "type") {
    message = fmt::format("expected {}, found {}", TypeText(*limit, " or "), place.value->type_name());
  } else if (keyword == "enum") {
    message = fmt::format("expected one of {}", limit_text);
  } else if (keyword == "const") {
    message = fmt::format("expected {}", limit_text);
  } else if (keyword == "pattern") {
    const Json* what = Member(*place.rules, "description");
    message =
        fmt::format("wrong form; expected: {}", what != nullptr ? what->get<std::string>() : limit_text);
  } else if (keyword == "minimum") {
    message = fmt::format("must not be below {}", limit_text);
  } else if (keyword == "maximum") {
    message = fmt::format("must not be above {}", limit_text);
  } else {
    message = fmt::format("has {} items; {} is {}", place.value->size(), keyword, limit_text);
  }
  return {{place.pointer, fmt::format("{}: {}", keyword, limit_text), ValueText(*place.value),
           std::move(message)},
          keyword,
          place.depth};
}

Ranked Missing(const Place& place, std::string_view description) {
  const size_t open = description.find('\'');
  const size_t close = description.rfind('\'');
  const std::string name(description.substr(open + 1, close - open - 1));
  return {{place.pointer, "required: " + name, ValueText(*place.value),
           fmt::format("member '{}' is missing", name)},
          "required",
          place.depth};
}

// valijson names one unknown member per object; we name them all.
void AddUnknown(const Place& place, std::vector<Ranked>& out) {
  const Json* properties = Member(*place.rules, "properties");
  for (auto it = place.value->begin(); it != place.value->end() && out.size() < kMaxCollected; ++it) {
    if (properties != nullptr && Member(*properties, it.key()) != nullptr) continue;
    out.push_back(
        {{place.pointer + json_fields::PointerStep(it.key()), "additionalProperties", ValueText(*it),
          fmt::format("'{}' is not a member the schema knows here", it.key().substr(0, 80))},
         "additionalProperties",
         place.depth + 1});
  }
}

std::vector<SchemaViolation> Distil(const CompiledSchema& schema, const Json& document,
                                    const valijson::ValidationResults& results) {
  std::vector<Ranked> found;
  for (const auto& error : results) {
    const std::string_view keyword = KeywordOf(error.description);
    if (keyword.empty()) continue;
    const auto place = Locate(error.context, schema.text, document);
    if (!place) continue;
    if (keyword == "required") {
      found.push_back(Missing(*place, error.description));
    } else if (keyword == "additionalProperties") {
      AddUnknown(*place, found);
    } else {
      found.push_back(Describe(*place, keyword));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Ranked& a, const Ranked& b) {
    const bool a_version = a.keyword == "const";
    const bool b_version = b.keyword == "const";
    return a_version != b_version ? a_version : a.depth > b.depth;
  });
  std::set<std::string> wrong_type;
  for (const Ranked& r : found) {
    if (r.keyword == "type") wrong_type.insert(r.violation.pointer);
  }
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<SchemaViolation> out;
  for (Ranked& r : found) {
    if (out.size() == kMaxViolations) break;
    if (r.keyword != "type" && wrong_type.contains(r.violation.pointer)) continue;
    if (!seen.emplace(r.violation.pointer, r.violation.rule).second) continue;
    out.push_back(std::move(r.violation));
  }
  return out;
}

}  // namespace

std::string SchemaViolation::ToString() const {
  return fmt::format("{}: {} ({}; found {})", pointer.empty() ? "document" : pointer, message, rule, value);
}

Result<std::vector<SchemaViolation>> ValidateRunDocument(const Json& document) {
  NL_TRY(CheckDepth(document));
  static const auto schema = Compile();
  if (!schema.ok()) return schema.error();
  valijson::ValidationResults results;
  NL_TRY(Collect(**schema, document, results));
  auto violations = Distil(**schema, document, results);
  if (violations.empty() && results.numErrors() != 0) {
    violations.push_back({"", "schema", ValueText(document), results.begin()->description});
  }
  return violations;
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
