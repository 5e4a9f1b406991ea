// SPDX-License-Identifier: Apache-2.0
#pragma once
// StringPool: every distinct string of a run, numbered in order of first appearance.
// Ids are deterministic: the pool is only added to in file order.
// Thread rule: Add by one thread at a time; Text(id) from any thread for ids that
// were handed to it after they were added (entries never move).
// Ownership: keeps the bytes for its whole life.

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace nl {

// Append-only bytes that never move; readable a few bytes past each text, so that texts
// can be compared in whole words.
class TextArena {
 public:
  std::string_view Copy(std::string_view text);
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kBlockBytes = 1 << 20, kSlackBytes = 16;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t used_ = kBlockBytes;
  size_t bytes_ = 0;
};

uint64_t HashText(std::string_view text);

class StringPool {
 public:
  StringPool();

  StringId Add(std::string_view text) { return Add(text, HashText(text)); }
  StringId Add(std::string_view text, uint64_t hash);
  // kNull when the text was never added.
  StringId Find(std::string_view text) const;

  std::string_view Text(StringId id) const {
    const auto i = static_cast<uint32_t>(id);
    return id == StringId::kNull ? std::string_view() : blocks_[i / kBlock][i % kBlock];
  }
  uint32_t size() const { return size_; }
  size_t bytes() const { return arena_.bytes(); }

 private:
  static constexpr uint32_t kBlock = 1 << 14;
  struct Slot {
    uint32_t hash_high = 0;
    StringId id = StringId::kNull;
  };
  size_t Probe(std::string_view text, uint64_t hash) const;
  void Grow();

  TextArena arena_;
  std::unique_ptr<std::unique_ptr<std::string_view[]>[]> blocks_;
  std::vector<Slot> slots_;
  uint32_t size_ = 0;
};

}  // namespace nl
