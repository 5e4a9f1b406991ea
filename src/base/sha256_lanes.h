// SPDX-License-Identifier: Apache-2.0
#pragma once
// SHA-256 of several texts of the same length at once, on one core. A single SHA-256 waits most of its time
// for the result of its last instruction; independent ones, interleaved, use that time.
// Thread rule: pure functions.

#include <cstddef>
#include <cstdint>
#include <span>

namespace nl {

struct Sha256Kernel {
  const char* name;  // "armv8 x4"
  size_t lanes;
  // Takes `blocks` blocks of 64 bytes of each lane into its state, the eight words of FIPS 180-4.
  void (*compress)(uint32_t (*states)[8], const uint8_t* const* texts, size_t blocks);
};

// Those this processor and compiler have, the fastest first; empty where there is none.
std::span<const Sha256Kernel> Sha256Kernels();

inline constexpr size_t kSha256Bytes = 32;

// Digests of `count` texts of `bytes` each, a multiple of 64, that follow one another; `count` is a multiple
// of the kernel's lanes.
void Sha256Each(const Sha256Kernel& kernel, const uint8_t* texts, size_t bytes, size_t count,
                uint8_t* digests);

}  // namespace nl
