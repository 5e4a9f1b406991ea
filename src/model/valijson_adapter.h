// SPDX-License-Identifier: Apache-2.0
#pragma once
// JsonAdapter: lets valijson read nl::Json in place. valijson 1.0 ships an adapter
// for nlohmann::json only, which would mean a copy of every document and the loss of
// member order. Numbers follow the draft: 3.0 is an integer; what JSON cannot write
// (NaN, infinities) is null, as it will be in the file. Included by schema.cc alone.
// Thread rule: the budget is per thread; adapters borrow the document.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <valijson/internal/adapter.hpp>
#include <valijson/internal/basic_adapter.hpp>
#include <valijson/internal/frozen_value.hpp>
#include <valijson/validation_results.hpp>

#include "base/json.h"

namespace nl::schema_internal {

// valijson collects every error; a hostile document of a few MB would grow that list to GBs. While a budget
// is set, walks over arrays and objects end early once the list is long enough.
struct ErrorBudget {
  const valijson::ValidationResults* results = nullptr;
  size_t limit = 0;
  bool Spent() const { return results != nullptr && results->numErrors() >= limit; }
};
inline thread_local ErrorBudget error_budget;

inline const Json& EmptyObject() {
  static const Json object = Json::object();
  return object;
}
inline const Json& EmptyArray() {
  static const Json array = Json::array();
  return array;
}

class JsonAdapter;
using JsonMember = std::pair<std::string, JsonAdapter>;

// Iterator over the items of an array (Item = JsonAdapter) or the members of an object (Item = JsonMember).
template <class Item>
class JsonWalk {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = Item;
  using difference_type = std::ptrdiff_t;
  using pointer = Item*;
  using reference = Item;

  explicit JsonWalk(Json::const_iterator at) : at_(at) {}
  Item operator*() const;
  valijson::adapters::DerefProxy<Item> operator->() const {
    return valijson::adapters::DerefProxy<Item>(**this);
  }
  bool operator==(const JsonWalk& other) const { return at_ == other.at_; }
  bool operator!=(const JsonWalk& other) const { return at_ != other.at_ && !error_budget.Spent(); }
  JsonWalk& operator++() {
    ++at_;
    return *this;
  }
  JsonWalk operator++(int) { return JsonWalk(at_++); }
  JsonWalk& operator--() {
    --at_;
    return *this;
  }
  void advance(std::ptrdiff_t n) { at_ += n; }

 private:
  Json::const_iterator at_;
};

template <class Item>
class JsonRange {
 public:
  using const_iterator = JsonWalk<Item>;
  using iterator = const_iterator;

  JsonRange() : json_(&EmptyObject()) {}
  explicit JsonRange(const Json* json) : json_(json) {}
  const_iterator begin() const { return const_iterator(json_->begin()); }
  const_iterator end() const { return const_iterator(json_->end()); }
  const_iterator find(const std::string& key) const { return const_iterator(json_->find(key)); }
  size_t size() const { return json_->size(); }

 private:
  const Json* json_;
};

class JsonArray : public JsonRange<JsonAdapter> {
 public:
  JsonArray() : JsonRange(&EmptyArray()) {}
  using JsonRange::JsonRange;
};
class JsonObject : public JsonRange<JsonMember> {
 public:
  using JsonRange::JsonRange;
};

class JsonValue {
 public:
  JsonValue() : json_(&EmptyObject()) {}
  explicit JsonValue(const Json* json) : json_(json) {}

  static bool hasStrictTypes() { return true; }
  bool isArray() const { return json_->is_array(); }
  bool isBool() const { return json_->is_boolean(); }
  bool isObject() const { return json_->is_object(); }
  bool isString() const { return json_->is_string(); }
  bool isNull() const { return json_->is_null() || (json_->is_number_float() && !std::isfinite(Number())); }
  bool isInteger() const {
    if (json_->is_number_float()) return std::trunc(Number()) == Number() && std::fabs(Number()) <= 0x1p62;
    return json_->is_number_integer() && !BeyondInt64();
  }
  bool isDouble() const { return json_->is_number() && !isInteger() && !isNull(); }
  bool isNumber() const { return json_->is_number() && !isNull(); }

  bool getBool(bool& out) const {
    if (isBool()) out = json_->get<bool>();
    return isBool();
  }
  bool getDouble(double& out) const {
    if (isDouble()) out = Number();
    return isDouble();
  }
  bool getInteger(int64_t& out) const {
    if (!isInteger()) return false;
    out = json_->is_number_float() ? static_cast<int64_t>(Number()) : json_->get<int64_t>();
    return true;
  }
  bool getString(std::string& out) const {
    if (isString()) out = json_->get_ref<const std::string&>();
    return isString();
  }
  bool getArraySize(size_t& out) const {
    if (isArray()) out = json_->size();
    return isArray();
  }
  bool getObjectSize(size_t& out) const {
    if (isObject()) out = json_->size();
    return isObject();
  }
  opt::optional<JsonArray> getArrayOptional() const {
    return isArray() ? opt::optional<JsonArray>(JsonArray(json_)) : opt::optional<JsonArray>();
  }
  opt::optional<JsonObject> getObjectOptional() const {
    return isObject() ? opt::optional<JsonObject>(JsonObject(json_)) : opt::optional<JsonObject>();
  }
  valijson::adapters::FrozenValue* freeze() const;

 private:
  double Number() const { return json_->get<double>(); }
  bool BeyondInt64() const {
    return json_->is_number_unsigned() &&
           json_->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  }

  const Json* json_;
};

class JsonAdapter
    : public valijson::adapters::BasicAdapter<JsonAdapter, JsonArray, JsonMember, JsonObject, JsonValue> {
 public:
  JsonAdapter() = default;
  // A template, because Json itself converts from nearly anything and would make copies ambiguous.
  template <class J, class = std::enable_if_t<std::is_same_v<J, Json>>>
  explicit JsonAdapter(const J& json) : BasicAdapter(JsonValue(&json)) {}
};

template <>
inline JsonAdapter JsonWalk<JsonAdapter>::operator*() const {
  return JsonAdapter(*at_);
}
template <>
inline JsonMember JsonWalk<JsonMember>::operator*() const {
  return JsonMember(at_.key(), JsonAdapter(at_.value()));
}

// The copy of an enum or const value that a compiled schema keeps.
class FrozenJson : public valijson::adapters::FrozenValue {
 public:
  explicit FrozenJson(Json json) : json_(std::move(json)) {}
  FrozenValue* clone() const override { return new FrozenJson(json_); }
  bool equalTo(const valijson::adapters::Adapter& other, bool strict) const override {
    return JsonAdapter(json_).equalTo(other, strict);
  }

 private:
  Json json_;
};

inline valijson::adapters::FrozenValue* JsonValue::freeze() const { return new FrozenJson(*json_); }

}  // namespace nl::schema_internal

namespace valijson::adapters {
template <>
struct AdapterTraits<nl::schema_internal::JsonAdapter> {
  using DocumentType = nl::Json;
  static std::string adapterName() { return "nl::JsonAdapter"; }
};
}  // namespace valijson::adapters
