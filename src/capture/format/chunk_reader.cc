// SPDX-License-Identifier: Apache-2.0
#include "capture/format/chunk_reader.h"

namespace nl::capture {

bool ChunkReader::HeaderAt(size_t offset, ChunkHeader& header) const {
  std::memcpy(&header, bytes_.data() + offset, sizeof header);
  return header.magic == kChunkMagic && header.payload_bytes <= kMaxPayloadBytes &&
         header.header_crc == Crc32c(&header, offsetof(ChunkHeader, header_crc));
}

ChunkReader::Step ChunkReader::Next(Chunk& to) {
  if (at_ >= bytes_.size()) return Step::kEnd;
  const size_t left = bytes_.size() - at_;
  ChunkHeader header;
  if (left >= sizeof header && HeaderAt(at_, header)) {
    const size_t whole = sizeof header + PaddedBytes(header.payload_bytes);
    const std::string_view payload =
        bytes_.substr(at_ + sizeof header, left < whole ? 0 : header.payload_bytes);
    if (left >= whole && Crc32c(payload.data(), payload.size()) == header.payload_crc) {
      to = {header, payload, at_};
      at_ += whole;
      return Step::kChunk;
    }
  }
  // Not a whole chunk: another one after it (the next file's, for instance), or the end?
  const size_t from = at_;
  const bool had_header = left >= sizeof header && HeaderAt(from, header);
  const char magic[4] = {0x43, 0x4c, 0x4e, static_cast<char>(0xc1)};
  static_assert(kChunkMagic == 0xc14e4c43);
  for (size_t at = from + 1;; ++at) {
    at = bytes_.find(std::string_view(magic, 4), at);
    if (at == std::string_view::npos || at + sizeof header > bytes_.size()) break;
    ChunkHeader next;
    if (!HeaderAt(at, next)) continue;
    skipped_bytes_ = at - from;
    at_ = at;
    return had_header ? Step::kDamaged : Step::kSkipped;
  }
  if (had_header && left >= sizeof header + PaddedBytes(header.payload_bytes)) {
    skipped_bytes_ = left;
    at_ = bytes_.size();
    return Step::kDamaged;
  }
  // A cut header or payload is where a writer was stopped; anything else never was a chunk.
  const std::string_view start(magic, left < 4 ? left : 4);
  const bool torn = had_header || (left < sizeof header && bytes_.substr(from, start.size()) == start);
  if (torn && !torn_) {
    torn_ = true;
    return Step::kTorn;
  }
  skipped_bytes_ = left;
  at_ = torn ? at_ : bytes_.size();
  return torn ? Step::kEnd : Step::kSkipped;
}

}  // namespace nl::capture
