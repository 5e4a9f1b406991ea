// SPDX-License-Identifier: Apache-2.0
#pragma once
// CategoryNames: names of NVTX categories by domain, for a bounded number of them.
// Thread rule: the writer thread's.

#include <cstddef>
#include <cstdint>

namespace nl::capture {

class CategoryNames {
 public:
  void Set(uint32_t domain, uint32_t category, uint32_t name) {
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].domain == domain && entries_[i].category == category) {
        entries_[i].name = name;
        return;
      }
    }
    if (count_ < kMost) entries_[count_++] = {domain, category, name};
  }
  uint32_t Find(uint32_t domain, uint32_t category) const {
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].domain == domain && entries_[i].category == category) return entries_[i].name;
    }
    return 0;
  }

 private:
  static constexpr size_t kMost = 256;
  struct Entry {
    uint32_t domain, category, name;
  };
  Entry entries_[kMost] = {};
  size_t count_ = 0;
};

}  // namespace nl::capture
