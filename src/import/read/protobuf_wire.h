// SPDX-License-Identifier: Apache-2.0
#pragma once
// WireReader: the fields of one protobuf message, one after the other, in place. Knows the wire
// format only (varint, 64 bit, bytes, 32 bit), no schema. Bytes that are not a message end it with
// `ok()` false; nothing is read outside of what was given.
// Thread rule: one thread. Ownership: views into the caller's bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace nl {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Reads a varint; false when the bytes end first or it is longer than 64 bits.
inline bool ReadVarint(const char*& p, const char* end, uint64_t& value) {
  if (p < end && static_cast<uint8_t>(*p) < 0x80) {
    value = static_cast<uint8_t>(*p++);
    return true;
  }
  value = 0;
  for (int shift = 0; shift < 70 && p < end; shift += 7) {
    const auto byte = static_cast<uint8_t>(*p++);
    if (shift == 63 && byte > 1) return false;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      // of a varint or a fixed number; else 0
  std::string_view bytes;  // of kBytes; else empty

  bool Is(uint32_t n, WireType t) const { return number == n && type == t; }
  int64_t Int() const { return static_cast<int64_t>(value); }
  double Double() const {
    double d = 0;
    std::memcpy(&d, &value, sizeof d);
    return d;
  }
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : p_(message.data()), end_(message.data() + message.size()) {}

  // The next field; false at the end, or where the bytes are not a field.
  bool Next(WireField& field) {
    if (p_ >= end_ || !ok_) return false;
    start_ = p_;
    uint64_t tag = 0;
    ok_ = ReadVarint(p_, end_, tag) && tag >> 3 != 0 && tag <= 0xffffffffu;
    if (!ok_) return false;
    field = {static_cast<uint32_t>(tag >> 3), static_cast<WireType>(tag & 7), 0, {}};
    ok_ = ReadValue(field);
    return ok_;
  }
  bool Next() { return Next(field_); }

  bool ok() const { return ok_; }
  // Of the field that Next() without an argument read last.
  uint32_t field() const { return field_.number; }
  WireType type() const { return field_.type; }
  uint64_t Number() const { return field_.value; }
  int64_t Int() const { return field_.Int(); }
  double Double() const { return field_.Double(); }
  std::string_view Bytes() const { return field_.bytes; }

  // Not ok because a field reaches over the end of the message: its `bytes` hold what there is.
  bool cut() const { return cut_; }
  // Where the last field begins, how long it says its bytes are, and where reading goes on.
  const char* start() const { return start_; }
  uint64_t wanted() const { return wanted_; }
  const char* position() const { return p_; }

 private:
  bool ReadValue(WireField& field) {
    switch (field.type) {
      case WireType::kVarint: return ReadVarint(p_, end_, field.value);
      case WireType::kFixed64: return ReadFixed(field.value, 8);
      case WireType::kFixed32: return ReadFixed(field.value, 4);
      case WireType::kBytes: return ReadBytes(field.bytes);
    }
    return false;  // groups are not used any more
  }
  bool ReadBytes(std::string_view& bytes) {
    if (!ReadVarint(p_, end_, wanted_)) return false;
    cut_ = wanted_ > static_cast<uint64_t>(end_ - p_);
    const size_t size = cut_ ? static_cast<size_t>(end_ - p_) : static_cast<size_t>(wanted_);
    bytes = {p_, size};
    if (!cut_) p_ += size;
    return !cut_;
  }
  bool ReadFixed(uint64_t& value, size_t size) {
    if (static_cast<size_t>(end_ - p_) < size) return false;
    for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(p_[i]);
    p_ += size;
    return true;
  }

  const char* p_;
  const char* end_;
  const char* start_ = nullptr;
  uint64_t wanted_ = 0;
  bool ok_ = true, cut_ = false;
  WireField field_;
};

}  // namespace nl
