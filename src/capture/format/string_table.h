// SPDX-License-Identifier: Apache-2.0
#pragma once
// StringTable: numbers for texts, the same text the same number, within a memory limit.
// Hands out numbers only; the texts themselves go to the file and are kept here as far as
// needed to distinguish them.
// Thread rule: one thread at a time. No exceptions: memory that is not given is refused.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nl::capture {

class StringTable {
 public:
  static constexpr size_t kDefaultLimitBytes = 64u << 20;

  StringTable() = default;
  ~StringTable();
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;

  void SetLimit(size_t bytes) { limit_bytes_ = bytes; }
  // The number of `text` (1, 2, 3...); `added` says whether it is new. 0: no memory for it.
  uint32_t Add(std::string_view text, bool& added);
  uint32_t size() const { return count_; }
  size_t memory_bytes() const { return memory_bytes_; }

 private:
  struct Entry {
    uint64_t hash;
    const char* text;
    uint32_t bytes;
    uint32_t id;  // 0: free
  };
  struct Block;
  bool Grow();
  const char* Keep(std::string_view text);

  Entry* entries_ = nullptr;
  size_t capacity_ = 0;
  uint32_t count_ = 0;
  Block* blocks_ = nullptr;
  size_t block_left_ = 0;
  char* block_at_ = nullptr;
  size_t memory_bytes_ = 0, limit_bytes_ = kDefaultLimitBytes;
};

}  // namespace nl::capture
