// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a name has one of several words in it. Thread rule: pure function.
#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace nl {

inline bool HasAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace nl
