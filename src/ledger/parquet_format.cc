// SPDX-License-Identifier: Apache-2.0
#include "ledger/parquet_format.h"

#include <algorithm>

namespace nl::parquet {

namespace {

constexpr size_t kBlockValues = 256;
constexpr size_t kMiniBlocks = 8;
constexpr size_t kMiniValues = kBlockValues / kMiniBlocks;

void PutLittle32(std::string& out, uint32_t v) { out.append(reinterpret_cast<const char*>(&v), 4); }

// Packs kMiniValues values of `width` bits, least significant bit first.
void PackMini(char* to, const uint64_t* values, unsigned width) {
  unsigned __int128 bits = 0;
  unsigned filled = 0;
  for (size_t i = 0; i < kMiniValues; ++i) {
    bits |= static_cast<unsigned __int128>(values[i]) << filled;
    filled += width;
    if (filled >= 64) {
      const auto word = static_cast<uint64_t>(bits);
      std::memcpy(to, &word, 8);
      to += 8;
      bits >>= 64;
      filled -= 64;
    }
  }
  const auto word = static_cast<uint64_t>(bits);
  std::memcpy(to, &word, filled / 8);
}

template <class T>
void PackCodes(char* to, std::span<const uint32_t> codes) {
  for (size_t i = 0; i < codes.size(); ++i) {
    const T code = static_cast<T>(codes[i]);
    std::memcpy(to + i * sizeof(T), &code, sizeof(T));
  }
}

}  // namespace

void PutDelta(std::string& out, std::span<const int64_t> values) {
  PutVarint(out, kBlockValues);
  PutVarint(out, kMiniBlocks);
  PutVarint(out, values.size());
  PutVarint(out, ZigZag(values.empty() ? 0 : values[0]));
  uint64_t deltas[kBlockValues];
  for (size_t first = 1; first < values.size(); first += kBlockValues) {
    const size_t n = std::min(kBlockValues, values.size() - first);
    int64_t min_delta = INT64_MAX;
    for (size_t i = 0; i < n; ++i) {
      // Wrap-around on purpose: the format defines deltas modulo 2^64.
      const auto delta =
          static_cast<uint64_t>(values[first + i]) - static_cast<uint64_t>(values[first + i - 1]);
      deltas[i] = delta;
      min_delta = std::min(min_delta, static_cast<int64_t>(delta));
    }
    for (size_t i = 0; i < n; ++i) deltas[i] -= static_cast<uint64_t>(min_delta);
    std::fill(deltas + n, deltas + kBlockValues, 0);
    PutVarint(out, ZigZag(min_delta));
    const size_t minis = (n + kMiniValues - 1) / kMiniValues;
    uint8_t widths[kMiniBlocks] = {};
    size_t packed_bytes = 0;
    for (size_t m = 0; m < minis; ++m) {
      uint64_t all = 0;
      for (size_t i = 0; i < kMiniValues; ++i) all |= deltas[m * kMiniValues + i];
      widths[m] = static_cast<uint8_t>(64 - std::countl_zero(all));
      packed_bytes += widths[m] * kMiniValues / 8;
    }
    out.append(reinterpret_cast<const char*>(widths), kMiniBlocks);
    size_t at = out.size();
    out.resize(at + packed_bytes);
    for (size_t m = 0; m < minis; ++m) {
      if (widths[m] != 0) PackMini(out.data() + at, deltas + m * kMiniValues, widths[m]);
      at += widths[m] * kMiniValues / 8;
    }
  }
}

void PutCodes(std::string& out, std::span<const uint32_t> codes, uint32_t distinct) {
  const unsigned width = distinct <= 0x100 ? 8 : distinct <= 0x10000 ? 16 : 32;
  out.push_back(static_cast<char>(width));
  if (codes.empty()) return;
  if (distinct <= 1) {
    PutVarint(out, codes.size() << 1);
    out.append(width / 8, '\0');
    return;
  }
  const size_t groups = (codes.size() + 7) / 8;
  PutVarint(out, (groups << 1) | 1);
  const size_t at = out.size();
  out.resize(at + groups * width);  // groups of 8 values: width bytes each
  char* to = out.data() + at;
  switch (width) {
    case 8: PackCodes<uint8_t>(to, codes); break;
    case 16: PackCodes<uint16_t>(to, codes); break;
    default: PackCodes<uint32_t>(to, codes);
  }
}

void PutLevels(std::string& out, std::span<const uint8_t> present, size_t null_count) {
  const size_t length_at = out.size();
  PutLittle32(out, 0);
  if (null_count == 0 || null_count == present.size()) {
    PutVarint(out, present.size() << 1);
    out.push_back(null_count == 0 ? 1 : 0);
  } else {
    const size_t groups = (present.size() + 7) / 8;
    PutVarint(out, (groups << 1) | 1);
    const size_t at = out.size();
    out.resize(at + groups);
    for (size_t i = 0; i < present.size(); ++i) {
      out[at + i / 8] = static_cast<char>(out[at + i / 8] | (present[i] << (i % 8)));
    }
  }
  const auto length = static_cast<uint32_t>(out.size() - length_at - 4);
  std::memcpy(out.data() + length_at, &length, 4);
}

}  // namespace nl::parquet
