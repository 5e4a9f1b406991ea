// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kinds of bytes in texts that are ASCII where it matters; unlike <cctype>, no locale and any char will do.
// Thread rule: pure functions.

#include <string>
#include <string_view>

namespace nl {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

constexpr char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string ToLower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = ToLower(c);
  return out;
}

}  // namespace nl
