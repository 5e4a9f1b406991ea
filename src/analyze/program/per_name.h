// SPDX-License-Identifier: Apache-2.0
#pragma once
// PerName: a yes or no of each name, asked once. Runs have millions of events and thousands of names.
// Thread rule: one thread. Ownership: refers to the strings.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/run_data.h"

namespace nl::program {

template <class Ask>  // bool(std::string_view)
class PerName {
 public:
  PerName(const StringPool& strings, Ask ask) : strings_(strings), ask_(std::move(ask)) {}
  PerName(const RunData& data, Ask ask) : PerName(*data.strings, std::move(ask)) {}

  bool Of(StringId name) {
    if (IsNull(name)) return false;
    const auto i = static_cast<size_t>(name);
    if (i >= known_.size()) known_.resize(i + 1, kNotAsked);
    if (known_[i] == kNotAsked) known_[i] = ask_(strings_.Text(name)) ? 1 : 0;
    return known_[i] == 1;
  }

 private:
  static constexpr int8_t kNotAsked = -1;
  const StringPool& strings_;
  Ask ask_;
  std::vector<int8_t> known_;
};

}  // namespace nl::program
