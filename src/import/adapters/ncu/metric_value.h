// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers and units as Nsight Compute prints them: "20,945.02" cycle, "134.14" Kbyte/block,
// "1.97" Ghz, "10.21" us, "n/a". Values become multiples of a unit without prefix, exactly
// rounded; prefixes are decimal (Kbyte is 1000 bytes).
// Thread rule: pure functions.

#include <optional>
#include <string>
#include <string_view>

namespace nl::adapters::ncu {

struct Unit {
  std::string name;  // ns, byte, Hz, byte/s, byte/block, %, inst/cycle, ...
  int exponent = 0;  // of ten: a value as written times this is in `name`
};

Unit ParseUnit(std::string_view written);

// The number times 10^exponent; nothing when the text is not a number. Commas must stand where
// thousands do.
std::optional<double> ParseNumber(std::string_view text, int exponent = 0);

// A whole number such as an ID or a stream.
std::optional<int64_t> ParseWhole(std::string_view text);

// "(256, 1, 1)"; also "256, 1, 1" and "256x1x1".
bool ParseSize(std::string_view text, int32_t (&to)[3]);

}  // namespace nl::adapters::ncu
