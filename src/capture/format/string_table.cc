// SPDX-License-Identifier: Apache-2.0
#include "capture/format/string_table.h"

#include <cstdlib>
#include <cstring>

namespace nl::capture {

namespace {

constexpr size_t kBlockBytes = 256u << 10;
constexpr size_t kFirstCapacity = 1024;

uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0x9e3779b97f4a7c15ull ^ text.size();
  size_t i = 0;
  const auto mix = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    hash ^= hash >> 32;
  };
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    mix(word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, text.data() + i, text.size() - i);
  mix(rest);
  return hash;
}

}  // namespace

struct StringTable::Block {
  Block* next;
};

StringTable::~StringTable() {
  std::free(entries_);
  while (blocks_ != nullptr) {
    Block* next = blocks_->next;
    std::free(blocks_);
    blocks_ = next;
  }
}

bool StringTable::Grow() {
  const size_t wanted = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
  const size_t more = (wanted - capacity_) * sizeof(Entry);
  if (memory_bytes_ + more > limit_bytes_) return false;
  auto* fresh = static_cast<Entry*>(std::calloc(wanted, sizeof(Entry)));
  if (fresh == nullptr) return false;
  for (size_t i = 0; i < capacity_; ++i) {
    if (entries_[i].id == 0) continue;
    size_t at = entries_[i].hash & (wanted - 1);
    while (fresh[at].id != 0) at = (at + 1) & (wanted - 1);
    fresh[at] = entries_[i];
  }
  std::free(entries_);
  entries_ = fresh;
  capacity_ = wanted;
  memory_bytes_ += more;
  return true;
}

const char* StringTable::Keep(std::string_view text) {
  if (text.empty()) return "";
  if (text.size() > block_left_) {
    const size_t bytes = sizeof(Block) + (text.size() > kBlockBytes ? text.size() : kBlockBytes);
    if (memory_bytes_ + bytes > limit_bytes_) return nullptr;
    auto* block = static_cast<Block*>(std::malloc(bytes));
    if (block == nullptr) return nullptr;
    block->next = blocks_;
    blocks_ = block;
    block_at_ = reinterpret_cast<char*>(block + 1);
    block_left_ = bytes - sizeof(Block);
    memory_bytes_ += bytes;
  }
  char* to = block_at_;
  std::memcpy(to, text.data(), text.size());
  block_at_ += text.size();
  block_left_ -= text.size();
  return to;
}

uint32_t StringTable::Add(std::string_view text, bool& added) {
  added = false;
  const uint64_t hash = HashOf(text);
  if (capacity_ > 0) {
    for (size_t at = hash & (capacity_ - 1); entries_[at].id != 0; at = (at + 1) & (capacity_ - 1)) {
      const Entry& entry = entries_[at];
      if (entry.hash == hash && entry.bytes == text.size() &&
          (text.empty() || std::memcmp(entry.text, text.data(), text.size()) == 0))
        return entry.id;
    }
  }
  if ((count_ + 1) * size_t{2} > capacity_ && !Grow()) return 0;
  const char* kept = Keep(text);
  if (kept == nullptr) return 0;
  size_t at = hash & (capacity_ - 1);
  while (entries_[at].id != 0) at = (at + 1) & (capacity_ - 1);
  entries_[at] = {hash, kept, static_cast<uint32_t>(text.size()), ++count_};
  added = true;
  return count_;
}

}  // namespace nl::capture
