// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a struct of machine/describe.h as JSON with the standard library alone, from the same description
// that replies use (base/record.h needs a JSON library, which the launcher must not have). Thread rule: pure
// functions.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/unit.h"

namespace nl::machine {

template <class T>
class PlainJson;

inline void WritePlainJson(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      out += escape;
    } else {
      out += c;
    }
  }
  out += '"';
}

template <class T>
void WritePlainJson(std::string& out, const T& value);
template <class T>
void WritePlainJson(std::string& out, const std::vector<T>& list);
template <class T>
void WritePlainJson(std::string& out, const std::map<std::string, T>& map);
template <class T>
void WritePlainJson(std::string& out, const std::optional<T>& value) {
  value ? WritePlainJson(out, *value) : static_cast<void>(out += "null");
}
template <class T>
void WritePlainJson(std::string& out, const std::vector<T>& list) {
  out += '[';
  for (const T& item : list) {
    if (&item != list.data()) out += ',';
    WritePlainJson(out, item);
  }
  out += ']';
}
template <class T>
void WritePlainJson(std::string& out, const std::map<std::string, T>& map) {
  char before = '{';
  for (const auto& [key, value] : map) {
    out += before;
    before = ',';
    WritePlainJson(out, std::string_view(key));
    out += ':';
    WritePlainJson(out, value);
  }
  out += before == '{' ? "{}" : "}";
}

// Takes the part of Record that descriptions call.
template <class T>
class PlainJson {
 public:
  PlainJson(std::string& out, const T& value) : out_(out), value_(value) {}
  void Name(const char*, const char*) {}
  template <class M>
  void Field(const char* name, M T::*member, const char*) {
    out_ += before_;
    before_ = ',';
    WritePlainJson(out_, std::string_view(name));
    out_ += ':';
    WritePlainJson(out_, value_.*member);
  }
  template <class M>
  void Field(const char* name, M T::*member, Unit, const char* doc) {
    Field(name, member, doc);
  }

 private:
  std::string& out_;
  const T& value_;
  char before_ = '{';
};

template <class T>
void WritePlainJson(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    out += std::to_string(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    char text[40];
    std::snprintf(text, sizeof text, "%.10g", value);
    out += std::isfinite(value) ? text : "null";
  } else if constexpr (std::is_same_v<T, std::string>) {
    WritePlainJson(out, std::string_view(value));
  } else if constexpr (std::is_enum_v<T>) {
    WritePlainJson(out, NamesOf(value)[static_cast<size_t>(value)]);
  } else {
    PlainJson<T> writer(out, value);
    Describe(writer);
    out += '}';
  }
}

}  // namespace nl::machine
