// SPDX-License-Identifier: Apache-2.0
// Changes captures and makes their checksums right again: with wrong ones every change would
// end in the same place. One in eight is left wrong.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "capture/format/chunk_format.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  using nl::capture::ChunkHeader;
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0) return size;
  for (size_t at = 0; at + sizeof(ChunkHeader) <= size;) {
    ChunkHeader header;
    std::memcpy(&header, data + at, sizeof header);
    const size_t payload = at + sizeof header;
    if (header.magic != nl::capture::kChunkMagic) {
      ++at;
      continue;
    }
    if (header.payload_bytes > size - payload)
      header.payload_bytes = static_cast<uint32_t>(size - payload) & ~7u;
    header.payload_crc = nl::capture::Crc32c(data + payload, header.payload_bytes);
    header.header_crc = nl::capture::Crc32c(&header, offsetof(ChunkHeader, header_crc));
    std::memcpy(data + at, &header, sizeof header);
    at = payload + nl::capture::PaddedBytes(header.payload_bytes);
  }
  return size;
}
