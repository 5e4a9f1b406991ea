// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON objects described once for both directions. For a struct S, provide in S's
// namespace `template <class Io> void Describe(Io& io, FieldsOf<Io, S> x)` that calls
// io.Required("key", x.member) or io.Optional("key", x.member) in the order of the
// document; WriteFields and ReadFields walk it. Required members are always written,
// null when empty; Optional ones (std::optional) are left out when empty. Reading
// refuses wrong types, missing and unknown members, and names their JSON pointer.
// Thread rule: values, no shared state.

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "base/result.h"

namespace nl {

// const S& while writing, S& while reading.
template <class Io, class S>
using FieldsOf = typename Io::template Ref<S>;

namespace json_fields {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};
// An object whose members keep their own order.
template <class T>
using OrderedMembers = std::vector<std::pair<std::string, T>>;
template <class T>
struct IsOrderedMembers : std::false_type {};
template <class T>
struct IsOrderedMembers<OrderedMembers<T>> : std::true_type {};

class Writer {
 public:
  template <class T>
  using Ref = const T&;

  template <class T>
  void Required(std::string_view key, const T& value) {
    object_.emplace(std::string(key), ValueOf(value));
  }

  template <class T>
  void Optional(std::string_view key, const std::optional<T>& value) {
    if (value) Required(key, *value);
  }

  Json Take() && { return std::move(object_); }

  template <class T>
  static Json ValueOf(const T& value) {
    if constexpr (IsOptional<T>::value) {
      return value ? ValueOf(*value) : Json(nullptr);
    } else if constexpr (IsOrderedMembers<T>::value) {
      Json object = Json::object();
      for (const auto& [key, item] : value) object[key] = ValueOf(item);
      return object;
    } else if constexpr (IsVector<T>::value) {
      Json array = Json::array();
      for (const auto& item : value) array.push_back(ValueOf(item));
      return array;
    } else if constexpr (IsMap<T>::value) {
      Json object = Json::object();
      for (const auto& [key, item] : value) object.emplace(key, ValueOf(item));
      return object;
    } else if constexpr (std::is_constructible_v<Json, const T&>) {
      return Json(value);
    } else {
      Writer writer;
      Describe(writer, value);
      return std::move(writer).Take();
    }
  }

 private:
  Json object_ = Json::object();
};

// "/key" with ~ and / escaped as JSON pointers want it.
std::string PointerStep(std::string_view key);

// Path of the value being read, as links on the stack: nothing is built unless an error needs the text.
struct Path {
  const Path* parent = nullptr;
  std::string_view key;
  size_t index = 0;

  std::string Pointer() const;  // JSON pointer, RFC 6901
};

Error Wrong(const Path& path, std::string_view what);

Status Read(const Json& json, const Path& path, Json& out);
Status Read(const Json& json, const Path& path, std::string& out);
Status Read(const Json& json, const Path& path, bool& out);
Status Read(const Json& json, const Path& path, double& out);
Status Read(const Json& json, const Path& path, int64_t& out);
template <class T>
Status Read(const Json& json, const Path& path, std::optional<T>& out);
template <class T>
Status Read(const Json& json, const Path& path, std::vector<T>& out);
template <class T>
Status Read(const Json& json, const Path& path, std::map<std::string, T>& out);
template <class T>
Status Read(const Json& json, const Path& path, OrderedMembers<T>& out);
template <class T, size_t N>
Status Read(const Json& json, const Path& path, std::array<T, N>& out);

class Reader {
 public:
  template <class T>
  using Ref = T&;

  Reader(const Json& object, const Path& path) : object_(object), path_(path), next_(object.begin()) {}

  template <class T>
  void Required(std::string_view key, T& out) {
    if (const Json* value = Find(key)) {
      Take(key, *value, out);
    } else if (status_.ok()) {
      status_ = Wrong(path_, fmt::format("member '{}' is missing", key));
    }
  }

  template <class T>
  void Optional(std::string_view key, std::optional<T>& out) {
    if (const Json* value = Find(key)) Take(key, *value, out);
  }

  bool AllTaken() const { return taken_ == object_.size(); }
  Status TakeStatus() && { return std::move(status_); }

 private:
  // Documents we wrote hold their members in the order they are asked for.
  const Json* Find(std::string_view key) {
    auto found = next_;
    if (found == object_.end() || found.key() != key) found = object_.find(key);
    if (found == object_.end()) return nullptr;
    next_ = std::next(found);
    ++taken_;
    return &*found;
  }

  template <class T>
  void Take(std::string_view key, const Json& value, T& out) {
    if (status_.ok()) status_ = Read(value, Path{&path_, key, 0}, out);
  }

  const Json& object_;
  const Path& path_;
  Json::const_iterator next_;
  size_t taken_ = 0;
  Status status_;
};

// Names the first member of `object` that its description does not know.
class UnknownMember {
 public:
  template <class T>
  using Ref = const T&;

  template <class T>
  void Required(std::string_view key, const T&) {
    known_.push_back(key);
  }
  template <class T>
  void Optional(std::string_view key, const T&) {
    known_.push_back(key);
  }
  Error In(const Json& object, const Path& path) const;

 private:
  std::vector<std::string_view> known_;
};

template <class T>
Status Read(const Json& json, const Path& path, T& out) {
  if (!json.is_object()) return Wrong(path, "expected object");
  Reader reader(json, path);
  Describe(reader, out);
  const bool all_taken = reader.AllTaken();
  NL_TRY(std::move(reader).TakeStatus());
  if (all_taken) return {};
  UnknownMember unknown;
  Describe(unknown, out);
  return unknown.In(json, path);
}

template <class T>
Status Read(const Json& json, const Path& path, std::optional<T>& out) {
  out.reset();
  if (json.is_null()) return {};
  return Read(json, path, out.emplace());
}

template <class T>
Status Read(const Json& json, const Path& path, std::vector<T>& out) {
  if (!json.is_array()) return Wrong(path, "expected array");
  out.clear();
  out.reserve(json.size());
  for (const Json& item : json) {
    const Path here{&path, {}, out.size()};
    NL_TRY(Read(item, here, out.emplace_back()));
  }
  return {};
}

template <class T>
Status Read(const Json& json, const Path& path, std::map<std::string, T>& out) {
  if (!json.is_object()) return Wrong(path, "expected object");
  out.clear();
  for (const auto& [key, value] : json.items()) NL_TRY(Read(value, Path{&path, key, 0}, out[key]));
  return {};
}

template <class T>
Status Read(const Json& json, const Path& path, OrderedMembers<T>& out) {
  if (!json.is_object()) return Wrong(path, "expected object");
  out.clear();
  for (const auto& [key, value] : json.items()) {
    out.emplace_back(key, T());
    NL_TRY(Read(value, Path{&path, key, 0}, out.back().second));
  }
  return {};
}

template <class T, size_t N>
Status Read(const Json& json, const Path& path, std::array<T, N>& out) {
  if (!json.is_array() || json.size() != N) return Wrong(path, fmt::format("expected {} items", N));
  for (size_t i = 0; i < N; ++i) NL_TRY(Read(json[i], Path{&path, {}, i}, out[i]));
  return {};
}

}  // namespace json_fields

// Limit error when arrays and objects nest more than `max_levels` deep. Copying and writing a Json recurse,
// so a document from outside passes here first.
inline constexpr int kMaxJsonLevels = 200;
Status CheckDepth(const Json& json, int max_levels = kMaxJsonLevels);

template <class S>
Json WriteFields(const S& value) {
  return json_fields::Writer::ValueOf(value);
}

template <class S>
Status ReadFields(const Json& json, S& out) {
  NL_TRY(CheckDepth(json));
  return json_fields::Read(json, json_fields::Path{}, out);
}

}  // namespace nl
