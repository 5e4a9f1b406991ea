// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a recorder that observes operators in some steps only says of the others: an asynchronous range of
// this name and category on the main thread of the process, from where operators were not observed any more
// to where they were again. A run without such ranges has all of its operators.

#include <string_view>

namespace nl {

inline constexpr std::string_view kRecorderCategory = "neurolens";
inline constexpr std::string_view kNotObservedLabel = "operators not observed";

}  // namespace nl
