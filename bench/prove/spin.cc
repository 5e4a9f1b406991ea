// SPDX-License-Identifier: Apache-2.0
// spin N: work in proportion to N that no compiler removes; the pairs of bench/prove/marks.py differ in N
// alone.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  uint64_t x = 88172645463325252ull;
  for (uint64_t i = 0; i < count; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x == 0 ? 1 : 0;
}
