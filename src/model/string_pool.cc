// SPDX-License-Identifier: Apache-2.0
#include "model/string_pool.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nl {

namespace {
constexpr size_t kMaxBlocks = size_t{1} << 18;  // times 2^14 entries: all 32-bit ids
}

std::string_view TextArena::Copy(std::string_view text) {
  if (text.empty()) return {};
  bytes_ += text.size();
  if (text.size() > kBlockBytes / 4) {  // large texts get a block of their own, after the current one
    blocks_.push_back(std::make_unique<char[]>(text.size() + kSlackBytes));
    char* at = blocks_.back().get();
    std::memcpy(at, text.data(), text.size());
    if (blocks_.size() > 1) std::swap(blocks_[blocks_.size() - 1], blocks_[blocks_.size() - 2]);
    if (blocks_.size() == 1) used_ = kBlockBytes;
    return {at, text.size()};
  }
  if (used_ + text.size() > kBlockBytes) {
    blocks_.push_back(std::make_unique<char[]>(kBlockBytes + kSlackBytes));
    used_ = 0;
  }
  char* at = blocks_.back().get() + used_;
  std::memcpy(at, text.data(), text.size());
  used_ += text.size();
  return {at, text.size()};
}

uint64_t HashText(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

StringPool::StringPool() : blocks_(new std::unique_ptr<std::string_view[]>[kMaxBlocks]), slots_(1 << 12) {}

size_t StringPool::Probe(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id == StringId::kNull) return i;
    if (slot.hash_high == static_cast<uint32_t>(hash >> 32) && Text(slot.id) == text) return i;
  }
}

StringId StringPool::Find(std::string_view text) const { return slots_[Probe(text, HashText(text))].id; }

StringId StringPool::Add(std::string_view text, uint64_t hash) {
  size_t at = Probe(text, hash);
  if (slots_[at].id != StringId::kNull) return slots_[at].id;
  if ((size_ + 1) * 2 > slots_.size()) {
    Grow();
    at = Probe(text, hash);
  }
  if (size_ % kBlock == 0) blocks_[size_ / kBlock] = std::make_unique<std::string_view[]>(kBlock);
  blocks_[size_ / kBlock][size_ % kBlock] = arena_.Copy(text);
  slots_[at] = {static_cast<uint32_t>(hash >> 32), static_cast<StringId>(size_)};
  return static_cast<StringId>(size_++);
}

void StringPool::Grow() {
  std::vector<Slot> grown(slots_.size() * 2);
  const size_t mask = grown.size() - 1;
  for (uint32_t id = 0; id < size_; ++id) {
    const uint64_t hash = HashText(Text(static_cast<StringId>(id)));
    size_t i = hash & mask;
    while (grown[i].id != StringId::kNull) i = (i + 1) & mask;
    grown[i] = {static_cast<uint32_t>(hash >> 32), static_cast<StringId>(id)};
  }
  slots_.swap(grown);
}

}  // namespace nl
