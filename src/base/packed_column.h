// SPDX-License-Identifier: Apache-2.0
#pragma once
// PackedColumn: a long list of integers in little memory, for what must be kept per
// event until the end of an import. Blocks of 256 values are stored as a first value
// and bit-packed differences; ids that rise by one cost nothing.
// Thread rule: one thread at a time (reading caches a block).

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace nl {

class PackedColumn {
 public:
  static constexpr int64_t kNull = std::numeric_limits<int64_t>::min();

  void Add(int64_t value) {
    tail_[size_++ % kBlock] = value;
    if (size_ % kBlock == 0) Pack();
  }
  // Quick when rows are asked for in rising order.
  int64_t At(size_t row) const {
    const size_t block = row / kBlock;
    if (block == blocks_.size()) return tail_[row % kBlock];
    if (block != unpacked_block_) Unpack(block);
    return unpacked_[row % kBlock];
  }
  size_t size() const { return size_; }
  // Does no value fall below the one before it? Nulls make it false.
  bool rising() const { return rising_; }
  size_t bytes() const { return bytes_; }
  void Clear() { *this = PackedColumn(); }

 private:
  static constexpr size_t kBlock = 256;
  void Pack();
  void Unpack(size_t block) const;

  size_t size_ = 0, bytes_ = 0;
  bool rising_ = true;
  int64_t last_ = kNull;
  std::array<int64_t, kBlock> tail_{};
  std::vector<std::string> blocks_;
  mutable std::array<int64_t, kBlock> unpacked_{};
  mutable size_t unpacked_block_ = static_cast<size_t>(-1);
};

}  // namespace nl
