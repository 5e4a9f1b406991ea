// SPDX-License-Identifier: Apache-2.0
#pragma once
// FlatMap: numbers for 64-bit hashes, in one array probed in steps of one. For the loops that
// ask once per call of a run, where a node of std::unordered_map would be a cache miss each.
// Keys are hashes: they are trusted to be distinct and well mixed in their low bits. HashPair of small
// numbers is neither; MixedPair is.
// Thread rule: one thread. Ownership: plain values.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nl {

// Each bit of the key depends on every bit of both numbers (the finaliser of SplitMix64).
inline uint64_t MixedBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
inline uint64_t MixedPair(uint64_t a, uint64_t b) {
  return MixedBits(MixedBits(a + 0x9e3779b97f4a7c15ull) ^ b);
}

class FlatMap {
 public:
  static constexpr uint32_t kNew = 0xffffffffu;

  // The number of the key; kNew when it was not there: then Put it.
  uint32_t Find(uint64_t key) const {
    if (slots_.empty()) return kNew;
    for (size_t at = key & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].value == kNew) return kNew;
      if (slots_[at].key == key) return slots_[at].value;
    }
  }
  // The number of the key; it becomes `next` when it was not there.
  uint32_t FindOrPut(uint64_t key, uint32_t next) {
    if (2 * (used_ + 1) > slots_.size()) Grow();
    for (size_t at = key & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.value == kNew) {
        slot = {key, next};
        ++used_;
        return next;
      }
      if (slot.key == key) return slot.value;
    }
  }
  size_t size() const { return used_; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t value = kNew;
  };
  void Grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 4 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.value == kNew) continue;
      size_t at = slot.key & mask_;
      while (slots_[at].value != kNew) at = (at + 1) & mask_;
      slots_[at] = slot;
    }
  }
  std::vector<Slot> slots_;
  size_t mask_ = 0, used_ = 0;
};

}  // namespace nl
