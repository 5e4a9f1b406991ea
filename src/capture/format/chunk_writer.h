// SPDX-License-Identifier: Apache-2.0
#pragma once
// ChunkWriter: puts records into one capture file. Records of a kind gather in a buffer of
// that kind and are written as one chunk when it is full or Flush is called; strings go out
// before anything that may refer to them. What cannot be written is counted, never retried
// for ever: a full disk costs records, not the program.
// Also usable inside someone else's process: no exceptions, no output, no locks, memory
// bounded by kBufferBytes per kind used and the string limit.
// Thread rule: one thread at a time. Ownership: owns the file.

#include <atomic>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "capture/format/chunk_format.h"
#include "capture/format/string_table.h"

namespace nl::capture {

class ChunkWriter {
 public:
  static constexpr uint32_t kBufferBytes = 256u << 10;

  ChunkWriter() = default;
  ~ChunkWriter();  // closes without an end record unless Close was called
  ChunkWriter(const ChunkWriter&) = delete;
  ChunkWriter& operator=(const ChunkWriter&) = delete;

  // Makes the file (it must not be there yet) and writes the first chunk, so that a reader
  // sees it at once. False: errno says why.
  bool Open(const char* path, WriterKind writer);
  bool is_open() const { return fd_ >= 0; }
  uint64_t stream() const { return stream_; }

  template <class Record>
  void Add(const Record& record) {
    static_assert(sizeof(Record) == RecordBytes(KindOf<Record>::value));
    AddBytes(KindOf<Record>::value, &record, sizeof(Record), nullptr, 0);
  }
  void AddFact(std::string_view key, std::string_view value);
  void AddStack(uint32_t id, const uint32_t* frames, uint32_t count);
  // `count` of the entry says how many names or values follow.
  void AddCounterSet(const CounterSetEntry& set, const uint32_t* names);
  void AddCounterValues(const CounterValuesEntry& reading, const float* values);

  // The number of a text, written before it is first used. Cut at kMaxStringBytes; 0 when
  // the memory for texts is used up. Both are counted.
  uint32_t String(std::string_view text);
  StringTable& strings() { return strings_; }

  // Adds to the losses that Flush writes.
  void CountLoss(LossWhat what, ChunkKind kind, uint64_t count);
  void Message(MessageLevel level, std::string_view text);

  // Writes what is gathered.
  void Flush();
  // Flushes, writes the end record, closes.
  void Close();
  // Lets the file go without writing anything: after fork, in the child.
  void Abandon();

  // May be read by any thread.
  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  uint64_t records_written() const { return records_written_.load(std::memory_order_relaxed); }
  uint64_t records_lost() const { return records_lost_.load(std::memory_order_relaxed); }

 private:
  struct Buffer {
    unsigned char* data = nullptr;
    uint32_t used = 0, records = 0;
  };
  static constexpr size_t kLossKinds = 16;
  void AddBytes(ChunkKind kind, const void* head, size_t head_bytes, const void* tail, size_t tail_bytes);
  void WriteChunk(ChunkKind kind, Buffer& buffer);
  bool WriteAll(const void* header, const void* payload, size_t payload_bytes);
  void WriteLosses();

  int fd_ = -1;
  uint64_t stream_ = 0;
  uint32_t sequence_ = 0;
  int64_t file_end_ = 0;  // after the last whole chunk
  bool disk_failed_ = false;
  Buffer buffers_[kLastChunkKind + 1];
  struct Loss {
    LossWhat what;
    ChunkKind kind;
    uint64_t count;
  };
  Loss losses_[64] = {};
  size_t loss_count_ = 0;
  StringTable strings_;
  uint64_t strings_cut_ = 0, strings_refused_ = 0;
  std::atomic<uint64_t> bytes_written_{0}, records_written_{0}, records_lost_{0};
};

// The clocks of the records.
int64_t MonotonicNs();
int64_t RealtimeNs();
inline constexpr int64_t kNsPerMs = 1'000'000;

}  // namespace nl::capture
