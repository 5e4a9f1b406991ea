// SPDX-License-Identifier: Apache-2.0
#pragma once
// Record: the one description of a struct that leaves the program. A struct is described once,
// beside its definition,
//
//   struct IdleCause {
//     std::string reason;
//     std::optional<double> share;
//   };
//   inline void Describe(Record<IdleCause>& r) {
//     r.Name("IdleCause", "One reason why a device was idle");
//     r.Field("reason", &IdleCause::reason, "Why the device waited");
//     r.Field("share", &IdleCause::share, Unit::kShare, "Part of all idle time");
//   }
//
// and JSON, JSON Schema, TypeScript and documentation follow (base/record_json.h). The description
// is a table filled at run time, once per type; everything that reads it is an ordinary function
// compiled once, so a new struct costs the build almost nothing.
// Members may be: bool, integers, double, std::string, enums that have NamesOf(), std::optional,
// std::vector, std::map<std::string, T>, described structs, Scalar (a cell of a query) and
// Json (a document with a schema of its own).
// An empty std::optional is null, "not known"; described as OptionalField, it is left out instead. A
// double that is not finite is null too, so a member that can be so must be an optional.
// Thread rule: tables are built once and never change; any thread may read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/unit.h"

namespace nl {

std::string_view UnitName(Unit unit);  // "ms"; "" for kNone

// One value of a query: null, or what SQL gave.
using Scalar = std::variant<std::monostate, bool, int64_t, double, std::string>;

// An empty text is not known.
inline std::optional<std::string> KnownText(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

struct RecordInfo;

// A member's type, with what is needed to walk a value of it.
struct TypeInfo {
  enum class Kind : uint8_t {
    kBool,
    kInt,
    kDouble,
    kString,
    kEnum,
    kOptional,
    kList,
    kMap,
    kRecord,
    kScalar,
    kJson
  };
  Kind kind;
  const TypeInfo* (*element)() = nullptr;                  // of an optional, list or map
  const RecordInfo& (*record)() = nullptr;                 // of a described struct
  std::span<const std::string_view> (*names)() = nullptr;  // of an enum, by value
  int64_t (*integer)(const void*) = nullptr;               // value of an integer or enum
  bool is_unsigned = false;                                // integer() is a uint64_t
  const void* (*held)(const void*) = nullptr;              // what an optional holds, or null
  size_t (*count)(const void*) = nullptr;                  // elements of a list or map
  const void* (*at)(const void*, size_t) = nullptr;        // element of a list
  using Visit = void (*)(void* context, const std::string& key, const void* value);
  void (*each)(const void*, void* context, Visit) = nullptr;  // elements of a map, by key
};

struct FieldInfo {
  const char* name;
  const TypeInfo* type;
  size_t offset;
  Unit unit;
  const char* doc;
  // Of a field that may be absent: its value in the member at `offset`, or null. Else null.
  const void* (*find)(const void* member, const char* name) = nullptr;
};

struct RecordInfo {
  const char* name = "";  // of the struct, as TypeScript and the schema call it
  const char* doc = "";
  std::vector<FieldInfo> fields;
};

template <class T>
const RecordInfo& RecordOf();

class Described;
// Described structs by the name of their field.
using DescribedMap = std::map<std::string, Described, std::less<>>;

namespace record_detail {

// Value of one name; null when there is none.
const void* FindDescribed(const void* map, const char* name);

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T, class C>
struct IsMap<std::map<std::string, T, C>> : std::true_type {};

template <class T>
const TypeInfo* TypeOf();

template <class T>
constexpr TypeInfo MakeType() {
  using Kind = TypeInfo::Kind;
  TypeInfo t{};
  if constexpr (std::is_same_v<T, bool>) {
    t.kind = Kind::kBool;
  } else if constexpr (std::is_integral_v<T>) {
    t.kind = Kind::kInt;
    t.is_unsigned = std::is_unsigned_v<T>;
    t.integer = [](const void* p) { return static_cast<int64_t>(*static_cast<const T*>(p)); };
  } else if constexpr (std::is_same_v<T, double>) {
    t.kind = Kind::kDouble;
  } else if constexpr (std::is_same_v<T, std::string>) {
    t.kind = Kind::kString;
  } else if constexpr (std::is_same_v<T, Scalar>) {
    t.kind = Kind::kScalar;
  } else if constexpr (std::is_same_v<T, Json>) {
    t.kind = Kind::kJson;
  } else if constexpr (std::is_enum_v<T>) {
    t.kind = Kind::kEnum;
    t.names = [] { return NamesOf(T{}); };
    t.integer = [](const void* p) { return static_cast<int64_t>(*static_cast<const T*>(p)); };
  } else if constexpr (IsOptional<T>::value) {
    t.kind = Kind::kOptional;
    t.element = &TypeOf<typename T::value_type>;
    t.held = [](const void* p) -> const void* {
      const T& value = *static_cast<const T*>(p);
      return value ? &*value : nullptr;
    };
  } else if constexpr (IsVector<T>::value) {
    static_assert(!std::is_same_v<T, std::vector<bool>>, "a list of bool has no addresses");
    t.kind = Kind::kList;
    t.element = &TypeOf<typename T::value_type>;
    t.count = [](const void* p) { return static_cast<const T*>(p)->size(); };
    t.at = [](const void* p, size_t i) -> const void* { return &(*static_cast<const T*>(p))[i]; };
  } else if constexpr (IsMap<T>::value) {
    t.kind = Kind::kMap;
    t.element = &TypeOf<typename T::mapped_type>;
    t.count = [](const void* p) { return static_cast<const T*>(p)->size(); };
    t.each = [](const void* p, void* context, TypeInfo::Visit visit) {
      for (const auto& [key, value] : *static_cast<const T*>(p)) visit(context, key, &value);
    };
  } else {
    t.kind = Kind::kRecord;
    t.record = &RecordOf<T>;
  }
  return t;
}

template <class T>
const TypeInfo* TypeOf() {
  static constexpr TypeInfo kType = MakeType<T>();
  return &kType;
}

}  // namespace record_detail

// What Describe(Record<T>&) fills.
template <class T>
class Record {
 public:
  explicit Record(RecordInfo& info) : info_(info) {}

  void Name(const char* name, const char* doc) {
    info_.name = name;
    info_.doc = doc;
  }
  template <class M, class C>
  void Field(const char* name, M C::*member, const char* doc) {
    Field(name, member, Unit::kNone, doc);
  }
  template <class M, class C>
  void Field(const char* name, M C::*member, Unit unit, const char* doc) {
    info_.fields.push_back({name, record_detail::TypeOf<M>(), OffsetOf(probe_.*member), unit, doc});
  }
  // A member that is left out, not null, while it is empty.
  template <class M, class C>
  void OptionalField(const char* name, std::optional<M> C::*member, const char* doc) {
    info_.fields.push_back(
        {name, record_detail::TypeOf<M>(), OffsetOf(probe_.*member), Unit::kNone, doc,
         [](const void* at, const char*) { return record_detail::TypeOf<std::optional<M>>()->held(at); }});
  }
  // The struct of this name in a map, of a type that is known at run time only; left out when there is
  // none. `name`, `type` and `doc` must live as long as the program.
  template <class C>
  void OptionalField(const char* name, DescribedMap C::*member, const TypeInfo& type, const char* doc) {
    info_.fields.push_back(
        {name, &type, OffsetOf(probe_.*member), Unit::kNone, doc, &record_detail::FindDescribed});
  }
  bool HasField(std::string_view name) const {
    return std::any_of(info_.fields.begin(), info_.fields.end(),
                       [name](const FieldInfo& field) { return name == field.name; });
  }
  // The fields of a base class, in place.
  template <class B>
  void Base() {
    const size_t offset = OffsetOf(static_cast<const B&>(probe_));
    for (FieldInfo field : RecordOf<B>().fields) {
      field.offset += offset;
      info_.fields.push_back(field);
    }
  }

 private:
  template <class M>
  size_t OffsetOf(const M& member) const {
    return static_cast<size_t>(reinterpret_cast<const char*>(&member) -
                               reinterpret_cast<const char*>(&probe_));
  }
  RecordInfo& info_;
  T probe_{};
};

// The table of a described struct, built when first asked for.
template <class T>
const RecordInfo& RecordOf() {
  static const RecordInfo info = [] {
    RecordInfo made;
    Record<T> record(made);
    Describe(record);
    return made;
  }();
  return info;
}

// A described struct of any type, with its table: how replies and sections travel through code
// that knows none of them in particular. Empty by default.
class Described {
 public:
  Described() = default;
  template <class T>
  static Described Of(T value) {
    Described out;
    out.value_ = std::make_shared<const T>(std::move(value));
    out.info_ = &RecordOf<T>();
    return out;
  }
  bool empty() const { return value_ == nullptr; }
  const RecordInfo& info() const { return *info_; }
  const void* data() const { return value_.get(); }
  // Null when it is of another type, or empty.
  template <class T>
  const T* As() const {
    return info_ == &RecordOf<T>() ? static_cast<const T*>(value_.get()) : nullptr;
  }

 private:
  std::shared_ptr<const void> value_;
  const RecordInfo* info_ = nullptr;
};

}  // namespace nl
