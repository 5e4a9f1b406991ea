// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of the Parquet file format the ledger writes: constants, the Thrift
// compact encoding of its footers and page headers, and the value encodings.
// docs/formats/parquet.md says which subset is used and why.
// Thread rule: values, no shared state.

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace nl {

// Of every table of a run: <table>.parquet.
inline constexpr std::string_view kParquetSuffix = ".parquet";

}  // namespace nl

namespace nl::parquet {

enum class Type : int32_t { kInt32 = 1, kInt64 = 2, kDouble = 5, kByteArray = 6 };
enum class Codec : int32_t { kUncompressed = 0, kZstd = 6 };
enum class PageType : int32_t { kData = 0, kDictionary = 2 };
enum class ValueEncoding : int32_t { kPlain = 0, kRle = 3, kDeltaBinaryPacked = 5, kRleDictionary = 8 };

inline void PutVarint(std::string& out, uint64_t v) {
  while (v >= 0x80) {
    out.push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out.push_back(static_cast<char>(v));
}

inline uint64_t ZigZag(int64_t v) { return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63); }

// Writes one Thrift struct in the compact protocol; fields in rising id order.
class ThriftStruct {
 public:
  explicit ThriftStruct(std::string& out) : out_(out) {}

  void I16(int id, int64_t v) {
    Header(id, 4);
    PutVarint(out_, ZigZag(v));
  }
  void I32(int id, int64_t v) {
    Header(id, 5);
    PutVarint(out_, ZigZag(v));
  }
  void I64(int id, int64_t v) {
    Header(id, 6);
    PutVarint(out_, ZigZag(v));
  }
  void Text(int id, std::string_view v) {
    Header(id, 8);
    PutText(v);
  }
  void Struct(int id) { Header(id, 12); }  // then write the inner struct and End() it
  void List(int id, size_t count, int element_type) {
    Header(id, 9);
    if (count < 15) {
      out_.push_back(static_cast<char>((count << 4) | static_cast<unsigned>(element_type)));
    } else {
      out_.push_back(static_cast<char>(0xf0 | element_type));
      PutVarint(out_, count);
    }
  }
  void ListI32(int64_t v) { PutVarint(out_, ZigZag(v)); }
  void PutText(std::string_view v) {
    PutVarint(out_, v.size());
    out_.append(v);
  }
  void End() { out_.push_back(0); }

  static constexpr int kI32 = 5, kBinary = 8, kStruct = 12;

 private:
  void Header(int id, int type) {
    const int delta = id - last_;
    if (delta > 0 && delta <= 15) {
      out_.push_back(static_cast<char>((delta << 4) | type));
    } else {
      out_.push_back(static_cast<char>(type));
      PutVarint(out_, ZigZag(id));
    }
    last_ = id;
  }
  std::string& out_;
  int last_ = 0;
};

// DELTA_BINARY_PACKED of the given values.
void PutDelta(std::string& out, std::span<const int64_t> values);

// RLE/bit-packed hybrid of one-byte or two-byte or four-byte codes. Codes are kept
// byte-aligned (8, 16, 32 bits) instead of minimal: zstd then sees the repetition
// of a model's layers, which odd widths would hide.
void PutCodes(std::string& out, std::span<const uint32_t> codes, uint32_t distinct);

// Definition levels (0 null, 1 present), with their length in front.
void PutLevels(std::string& out, std::span<const uint8_t> present, size_t null_count);

}  // namespace nl::parquet
