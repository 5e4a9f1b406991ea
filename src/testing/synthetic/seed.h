// SPDX-License-Identifier: Apache-2.0
#pragma once
// Seeds of synthetic programs by name. The value never changes, so that the programs, and with them
// the measured quality of comparisons, stay the same.
// Thread rule: pure function.

#include <cstdint>
#include <string_view>

namespace nl::synthetic {

inline uint64_t SeedOf(std::string_view name) {
  uint64_t h = 0xcbf29ce484222325ull ^ name.size();
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h ^ (h >> 29);
}

}  // namespace nl::synthetic
