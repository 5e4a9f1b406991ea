// SPDX-License-Identifier: Apache-2.0
#pragma once
// How records stand in a capture file: as chunks, one after the other, each with a header
// that says all that is needed to read or to skip it. A file is readable up to its last
// whole chunk, whatever ended the writer; files may be put after one another, in any
// order, and are still one capture (every chunk says which process it is of).
//
//   header 40 bytes | payload | zeros up to a multiple of 8
//
// Thread rule: plain data.

#include <cstddef>
#include <cstdint>

#include "capture/format/records.h"

namespace nl::capture {

inline constexpr uint32_t kChunkMagic = 0xc14e4c43;  // bytes 43 4c 4e c1: "CLN" and one that is not text

struct ChunkHeader {
  uint32_t magic;
  uint16_t version;  // kFormatVersion of the writer
  ChunkKind kind;
  uint32_t payload_bytes;  // without the zeros after it; at most kMaxPayloadBytes
  uint32_t records;
  uint16_t record_bytes;  // 0: records of variable size
  uint16_t flags;         // 0
  uint32_t sequence;      // 0, 1, 2... in one file: a hole is a lost chunk
  uint64_t stream;        // file the chunk is of: names its strings, stacks and process
  uint32_t payload_crc;   // CRC-32C of the payload
  uint32_t header_crc;    // CRC-32C of the 36 bytes before
};
static_assert(sizeof(ChunkHeader) == 40);
static_assert(offsetof(ChunkHeader, payload_bytes) == 8 && offsetof(ChunkHeader, record_bytes) == 16 &&
              offsetof(ChunkHeader, stream) == 24 && offsetof(ChunkHeader, header_crc) == 36);

inline constexpr uint32_t kMaxPayloadBytes = 16u << 20;
inline constexpr size_t PaddedBytes(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

// Size of one record of a kind as this version writes it; 0: variable or not known.
constexpr uint16_t RecordBytes(ChunkKind kind) {
  switch (kind) {
    case ChunkKind::kFile: return sizeof(FileRecord);
    case ChunkKind::kProcess: return sizeof(ProcessRecord);
    case ChunkKind::kThread: return sizeof(ThreadRecord);
    case ChunkKind::kClock: return sizeof(ClockRecord);
    case ChunkKind::kKernel: return sizeof(KernelRecord);
    case ChunkKind::kMemcpy: return sizeof(MemcpyRecord);
    case ChunkKind::kMemset: return sizeof(MemsetRecord);
    case ChunkKind::kSync: return sizeof(SyncRecord);
    case ChunkKind::kApi: return sizeof(ApiRecord);
    case ChunkKind::kMemory: return sizeof(MemoryRecord);
    case ChunkKind::kExternal: return sizeof(ExternalRecord);
    case ChunkKind::kOverhead: return sizeof(OverheadRecord);
    case ChunkKind::kDevice: return sizeof(DeviceRecord);
    case ChunkKind::kContext: return sizeof(ContextRecord);
    case ChunkKind::kRange: return sizeof(RangeRecord);
    case ChunkKind::kFrame: return sizeof(FrameRecord);
    case ChunkKind::kCpuSample: return sizeof(CpuSampleRecord);
    case ChunkKind::kCounterSample: return sizeof(CounterSampleRecord);
    case ChunkKind::kLoss: return sizeof(LossRecord);
    case ChunkKind::kCost: return sizeof(CostRecord);
    case ChunkKind::kMessage: return sizeof(MessageRecord);
    case ChunkKind::kWindow: return sizeof(WindowRecord);
    case ChunkKind::kObserved: return sizeof(ObservedRecord);
    case ChunkKind::kGraph: return sizeof(GraphRecord);
    case ChunkKind::kEnd: return sizeof(EndRecord);
    case ChunkKind::kString:
    case ChunkKind::kFact:
    case ChunkKind::kStack:
    case ChunkKind::kCounterSet:
    case ChunkKind::kCounterValues: return 0;
  }
  return 0;
}

// Which record type belongs to which kind, for the writer and the reader.
template <class Record>
struct KindOf;
#define NL_CAPTURE_KIND(Record, kind)                   \
  template <>                                           \
  struct KindOf<Record> {                               \
    static constexpr ChunkKind value = ChunkKind::kind; \
  };
NL_CAPTURE_KIND(FileRecord, kFile)
NL_CAPTURE_KIND(ProcessRecord, kProcess)
NL_CAPTURE_KIND(ThreadRecord, kThread)
NL_CAPTURE_KIND(ClockRecord, kClock)
NL_CAPTURE_KIND(KernelRecord, kKernel)
NL_CAPTURE_KIND(MemcpyRecord, kMemcpy)
NL_CAPTURE_KIND(MemsetRecord, kMemset)
NL_CAPTURE_KIND(SyncRecord, kSync)
NL_CAPTURE_KIND(ApiRecord, kApi)
NL_CAPTURE_KIND(MemoryRecord, kMemory)
NL_CAPTURE_KIND(ExternalRecord, kExternal)
NL_CAPTURE_KIND(OverheadRecord, kOverhead)
NL_CAPTURE_KIND(DeviceRecord, kDevice)
NL_CAPTURE_KIND(ContextRecord, kContext)
NL_CAPTURE_KIND(GraphRecord, kGraph)
NL_CAPTURE_KIND(RangeRecord, kRange)
NL_CAPTURE_KIND(FrameRecord, kFrame)
NL_CAPTURE_KIND(CpuSampleRecord, kCpuSample)
NL_CAPTURE_KIND(CounterSampleRecord, kCounterSample)
NL_CAPTURE_KIND(LossRecord, kLoss)
NL_CAPTURE_KIND(CostRecord, kCost)
NL_CAPTURE_KIND(MessageRecord, kMessage)
NL_CAPTURE_KIND(WindowRecord, kWindow)
NL_CAPTURE_KIND(ObservedRecord, kObserved)
NL_CAPTURE_KIND(EndRecord, kEnd)
#undef NL_CAPTURE_KIND

// CRC-32C (Castagnoli); `crc` continues an earlier one.
uint32_t Crc32c(const void* data, size_t bytes, uint32_t crc = 0);

}  // namespace nl::capture
