// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sha256Tree: the identity of an input, as cryptographic as SHA-256 and computed in a fraction of its time.
// The bytes are cut into leaves of 32 KiB (the last may be shorter), and the hash is
//   SHA-256("sha256-tree-32k\n" + SHA-256(leaf 0) + SHA-256(leaf 1) + ... + length as 8 bytes,
//   little-endian).
// Leaves do not depend on each other, so several are hashed at once (base/sha256_lanes.h). Two inputs with
// the same hash would be a collision of SHA-256: the length fixes the number of leaves, and every input,
// however short, has leaves below the root. Thread rule: one object, one thread at a time.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "base/sha256_lanes.h"

namespace nl {

class Sha256Tree {
 public:
  static constexpr const char* kName = "sha256-tree-32k";
  static constexpr size_t kLeafBytes = 32 << 10;
  // Fastest in pieces of this size that begin at a multiple of it: what is not whole is copied.
  static constexpr size_t kGroupBytes = 8 * kLeafBytes;

  // With the fastest kernel of this processor; null: with OpenSSL, one leaf at a time.
  Sha256Tree();
  explicit Sha256Tree(const Sha256Kernel* kernel);

  void Update(const void* bytes, size_t size);
  void Update(std::string_view bytes) { Update(bytes.data(), bytes.size()); }
  // 64 lower-case hexadecimal digits; the object then starts over.
  std::string FinishHex();

 private:
  void Begin();
  void HashLeaves(const uint8_t* bytes, size_t size);

  const Sha256Kernel* kernel_;
  Sha256 root_, leaf_;
  std::string pending_;  // bytes of an unfinished group
  uint64_t bytes_ = 0;
};

std::string Sha256TreeHex(std::string_view bytes);

}  // namespace nl
