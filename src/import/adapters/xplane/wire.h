// SPDX-License-Identifier: Apache-2.0
#pragma once
// WireReader: the fields of one protobuf message, in place and without copies. Knows the
// wire format only (varint, 64 bit, bytes, 32 bit), no schema.
// Thread rule: a value over the caller's bytes; those must outlive it.

#include <cstdint>
#include <cstring>
#include <string_view>

namespace nl::adapters::xplane {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      // of a varint or a fixed number
  std::string_view bytes;  // of kBytes

  bool Is(uint32_t n, WireType t) const { return number == n && type == t; }
  int64_t Int() const { return static_cast<int64_t>(value); }
  double Double() const {
    double d;
    std::memcpy(&d, &value, sizeof d);
    return d;
  }
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : p_(message.data()), end_(p_ + message.size()) {}

  // The next field; false at the end of the message, or where it is broken.
  bool Next(WireField& field) {
    if (p_ >= end_ || bad_) return false;
    start_ = p_;
    uint64_t tag = 0;
    if (!Varint(tag) || tag >> 3 == 0 || tag > 0xffffffffu) return Break();
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    switch (field.type) {
      case WireType::kVarint: return Varint(field.value) || Break();
      case WireType::kFixed64: return Fixed(field.value, 8);
      case WireType::kFixed32: return Fixed(field.value, 4);
      case WireType::kBytes: break;
      default: return Break();
    }
    uint64_t size = 0;
    if (!Varint(size)) return Break();
    wanted_ = size;
    if (size > static_cast<uint64_t>(end_ - p_)) {
      field.bytes = {p_, static_cast<size_t>(end_ - p_)};  // what there is of it
      cut_ = true;
      return Break();
    }
    field.bytes = {p_, static_cast<size_t>(size)};
    p_ += size;
    return true;
  }

  bool bad() const { return bad_; }
  // Broken because a field reaches over the end of the message: the last one given holds the rest.
  bool cut() const { return cut_; }
  // Where the last field begins, and how long it says its bytes are.
  const char* start() const { return start_; }
  const char* position() const { return p_; }
  uint64_t wanted() const { return wanted_; }

 private:
  bool Break() {
    bad_ = true;
    return false;
  }
  bool Varint(uint64_t& out) {
    if (p_ < end_ && static_cast<uint8_t>(*p_) < 0x80) {
      out = static_cast<uint8_t>(*p_++);
      return true;
    }
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && p_ < end_; shift += 7) {
      const auto byte = static_cast<uint8_t>(*p_++);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) {
        out = value;
        return true;
      }
    }
    return false;
  }
  bool Fixed(uint64_t& out, size_t size) {
    if (static_cast<size_t>(end_ - p_) < size) return Break();
    out = 0;
    for (size_t i = 0; i < size; ++i) out |= uint64_t{static_cast<uint8_t>(p_[i])} << (8 * i);
    p_ += size;
    return true;
  }

  const char* p_;
  const char* end_;
  const char* start_ = nullptr;
  uint64_t wanted_ = 0;
  bool bad_ = false, cut_ = false;
};

}  // namespace nl::adapters::xplane
