// SPDX-License-Identifier: Apache-2.0
#include "base/packed_column.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nl {

namespace {

// Layout of a block: has_nulls, width, first value, smallest difference, [32 bytes of
// presence bits], 255 differences less the smallest, `width` bits each. Differences are
// modulo 2^64, so any values will do. Nulls repeat the value before them.
constexpr size_t kPresenceBytes = 32;

void Put64(std::string& out, uint64_t v) { out.append(reinterpret_cast<const char*>(&v), 8); }

uint64_t Get64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

}  // namespace

void PackedColumn::Pack() {
  std::array<uint64_t, kBlock> value;
  uint8_t present[kPresenceBytes] = {};
  bool has_nulls = false;
  uint64_t before = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool null = tail_[i] == kNull;
    has_nulls |= null;
    rising_ = rising_ && !null && tail_[i] >= last_;
    if (!null) last_ = tail_[i];
    before = value[i] = null ? before : static_cast<uint64_t>(tail_[i]);
  }
  for (size_t i = 0; i < kBlock && has_nulls; ++i)
    present[i / 8] = static_cast<uint8_t>(present[i / 8] | (unsigned{tail_[i] != kNull} << (i % 8)));
  int64_t smallest = std::numeric_limits<int64_t>::max();
  for (size_t i = 1; i < kBlock; ++i)
    smallest = std::min(smallest, static_cast<int64_t>(value[i] - value[i - 1]));
  uint64_t all = 0;
  for (size_t i = 1; i < kBlock; ++i) all |= value[i] - value[i - 1] - static_cast<uint64_t>(smallest);
  const auto width = static_cast<unsigned>(64 - std::countl_zero(all));

  std::string out;
  out.reserve(18 + kPresenceBytes + width * kBlock / 8 + 8);
  out.push_back(has_nulls ? 1 : 0);
  out.push_back(static_cast<char>(width));
  Put64(out, value[0]);
  Put64(out, static_cast<uint64_t>(smallest));
  if (has_nulls) out.append(reinterpret_cast<const char*>(present), kPresenceBytes);
  unsigned __int128 bits = 0;
  unsigned filled = 0;
  for (size_t i = 1; i < kBlock && width > 0; ++i) {
    bits |= static_cast<unsigned __int128>(value[i] - value[i - 1] - static_cast<uint64_t>(smallest))
            << filled;
    filled += width;
    if (filled >= 64) {
      Put64(out, static_cast<uint64_t>(bits));
      bits >>= 64;
      filled -= 64;
    }
  }
  if (filled > 0) Put64(out, static_cast<uint64_t>(bits));
  out.shrink_to_fit();
  bytes_ += out.capacity() + sizeof(std::string);
  blocks_.push_back(std::move(out));
}

void PackedColumn::Unpack(size_t block) const {
  const std::string& in = blocks_[block];
  const bool has_nulls = in[0] != 0;
  const auto width = static_cast<unsigned>(static_cast<unsigned char>(in[1]));
  uint64_t value = Get64(in.data() + 2);
  const uint64_t smallest = Get64(in.data() + 10);
  const auto* present = reinterpret_cast<const uint8_t*>(in.data() + 18);
  const char* p = in.data() + 18 + (has_nulls ? kPresenceBytes : 0);
  unsigned __int128 bits = 0;
  unsigned filled = 0;
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for (size_t i = 0; i < kBlock; ++i) {
    if (i > 0) {
      if (width > 0 && filled < width) {
        bits |= static_cast<unsigned __int128>(Get64(p)) << filled;
        p += 8;
        filled += 64;
      }
      value += (static_cast<uint64_t>(bits) & mask) + smallest;
      if (width > 0) {
        bits >>= width;
        filled -= width;
      }
    }
    const bool null = has_nulls && (present[i / 8] >> (i % 8) & 1) == 0;
    unpacked_[i] = null ? kNull : static_cast<int64_t>(value);
  }
  unpacked_block_ = block;
}

}  // namespace nl
