// SPDX-License-Identifier: Apache-2.0
#pragma once
// Protobuf wire format, writing only: fields appended to a buffer in the order of the
// calls. A message inside a message is built in a buffer of its own and then embedded.
// Thread rule: plain value, one thread at a time.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace nl::renderers::perfetto {

class ProtoWriter {
 public:
  void Varint(uint32_t field, uint64_t value) {
    Raw(uint64_t{field} << 3 | kVarint);
    Raw(value);
  }
  // Protobuf int32 and int64: negative numbers take ten bytes.
  void Int(uint32_t field, int64_t value) { Varint(field, static_cast<uint64_t>(value)); }
  void Fixed64(uint32_t field, uint64_t value) {
    Raw(uint64_t{field} << 3 | kFixed64);
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(value >> shift & 0xff));
  }
  void Double(uint32_t field, double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    Fixed64(field, bits);
  }
  void Bytes(uint32_t field, std::string_view value) {
    Raw(uint64_t{field} << 3 | kLengthDelimited);
    Raw(value.size());
    bytes_.append(value);
  }
  void Message(uint32_t field, const ProtoWriter& message) { Bytes(field, message.bytes_); }

  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  void Clear() { bytes_.clear(); }

 private:
  static constexpr uint64_t kVarint = 0, kFixed64 = 1, kLengthDelimited = 2;

  void Raw(uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace nl::renderers::perfetto
