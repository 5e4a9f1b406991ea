// SPDX-License-Identifier: Apache-2.0
#pragma once
// WireReader: the fields of one protobuf message, one after the other, in place. Bytes that
// are no message end it with `ok()` false; nothing is read outside of what was given.
// Thread rule: one thread. Ownership: views into the caller's bytes.

#include <cstdint>
#include <cstring>
#include <string_view>

namespace nl {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Reads a varint; false when the bytes end first or it is longer than 64 bits.
inline bool ReadVarint(const char*& p, const char* end, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70 && p < end; shift += 7) {
    const auto byte = static_cast<uint8_t>(*p++);
    if (shift == 63 && byte > 1) return false;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

class WireReader {
 public:
  explicit WireReader(std::string_view message) : p_(message.data()), end_(message.data() + message.size()) {}

  // The next field; false at the end, or where the bytes are no field.
  bool Next() {
    if (p_ >= end_ || !ok_) return false;
    uint64_t key = 0;
    ok_ = ReadVarint(p_, end_, key) && key >> 3 != 0 && key >> 3 < (uint64_t{1} << 29);
    if (!ok_) return false;
    field_ = static_cast<uint32_t>(key >> 3);
    type_ = static_cast<WireType>(key & 7);
    ok_ = ReadValue();
    return ok_;
  }

  bool ok() const { return ok_; }
  uint32_t field() const { return field_; }
  WireType type() const { return type_; }
  // The value as a number (varint or fixed), or 0 where it is bytes.
  uint64_t Number() const { return number_; }
  int64_t Int() const { return static_cast<int64_t>(number_); }
  double Double() const {
    double value = 0;
    std::memcpy(&value, &number_, sizeof value);
    return value;
  }
  // The value as bytes; empty where it is a number.
  std::string_view Bytes() const { return bytes_; }

 private:
  bool ReadValue() {
    bytes_ = {};
    number_ = 0;
    switch (type_) {
      case WireType::kVarint: return ReadVarint(p_, end_, number_);
      case WireType::kFixed64: return ReadFixed(8);
      case WireType::kFixed32: return ReadFixed(4);
      case WireType::kBytes: {
        uint64_t size = 0;
        if (!ReadVarint(p_, end_, size) || size > static_cast<uint64_t>(end_ - p_)) return false;
        bytes_ = {p_, static_cast<size_t>(size)};
        p_ += size;
        return true;
      }
    }
    return false;  // groups are not used any more
  }
  bool ReadFixed(size_t size) {
    if (static_cast<size_t>(end_ - p_) < size) return false;
    for (size_t i = size; i-- > 0;) number_ = number_ << 8 | static_cast<uint8_t>(p_[i]);
    p_ += size;
    return true;
  }

  const char* p_;
  const char* end_;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t number_ = 0;
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace nl
