// SPDX-License-Identifier: Apache-2.0
#pragma once
// SeededRandom: the same numbers for the same seed on every machine and compiler, which
// std::*_distribution does not guarantee. SplitMix64: a counter and a mixing function.
// Thread rule: one object, one thread.

#include <cmath>
#include <cstdint>

namespace nl {

class SeededRandom {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // 0 .. n - 1. The bias of the multiplication is n / 2^32: negligible for the sizes here.
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(((Next() >> 32) * n) >> 32); }
  // Above 0, at most 1.
  double Unit() { return static_cast<double>((Next() >> 11) + 1) * 0x1.0p-53; }
  double Normal() { return std::sqrt(-2 * std::log(Unit())) * std::cos(6.283185307179586 * Unit()); }
  double Exponential() { return -std::log(Unit()); }

 private:
  uint64_t state_;
};

}  // namespace nl
