// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts with their noun: "1 call", "1,200 calls", "2 copies".
// Thread rule: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

namespace nl {

// The noun for a count; `noun` is the singular, its last word is the one that changes.
std::string Plural(int64_t count, std::string_view noun);
// "1 call", "1,200 calls".
std::string Counted(int64_t count, std::string_view noun);

}  // namespace nl
