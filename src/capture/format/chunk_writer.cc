// SPDX-License-Identifier: Apache-2.0
#include "capture/format/chunk_writer.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nl::capture {

namespace {

constexpr int kFirstDescriptor = 100;

int64_t ClockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The whole of a small file of /proc; gives the bytes read.
size_t ReadInto(const char* path, char* to, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t n = read(fd, to, size);
  close(fd);
  return n > 0 ? static_cast<size_t>(n) : 0;
}

uint64_t BootIdHash() {
  char text[64];
  const size_t n = ReadInto("/proc/sys/kernel/random/boot_id", text, sizeof text);
  if (n == 0) return 0;
  return uint64_t{Crc32c(text, n)} << 32 | Crc32c(text, n, 0x6e6c);
}

// Field 22 of /proc/self/stat, in clock ticks since boot; 0 when not known. Boot time and
// CLOCK_MONOTONIC differ by the time the machine was suspended.
int64_t ProcessStartNs() {
  char text[1024];
  const size_t n = ReadInto("/proc/self/stat", text, sizeof text - 1);
  text[n] = '\0';
  const char* at = std::strrchr(text, ')');
  if (at == nullptr) return 0;
  for (int field = 2; field < 22 && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
  if (at == nullptr) return 0;
  const long ticks_per_s = sysconf(_SC_CLK_TCK);
  if (ticks_per_s <= 0) return 0;
  const int64_t since_boot_ns =
      static_cast<int64_t>(std::strtoull(at + 1, nullptr, 10)) * (1'000'000'000 / ticks_per_s);
  return since_boot_ns - (ClockNs(CLOCK_BOOTTIME) - ClockNs(CLOCK_MONOTONIC));
}

}  // namespace

int64_t MonotonicNs() { return ClockNs(CLOCK_MONOTONIC); }
int64_t RealtimeNs() { return ClockNs(CLOCK_REALTIME); }

ChunkWriter::~ChunkWriter() {
  Abandon();
  for (Buffer& buffer : buffers_) std::free(buffer.data);
}

bool ChunkWriter::Open(const char* path, WriterKind writer) {
  fd_ = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ < 0) return false;
  // Out of the way of programs that close their standard streams and open others, or print.
  if (const int higher = fcntl(fd_, F_DUPFD_CLOEXEC, kFirstDescriptor); higher >= 0) {
    close(fd_);
    fd_ = higher;
  }
  FileRecord record{};
  record.format_version = kFormatVersion;
  record.record_alignment = 8;
  record.writer = writer;
  record.pid = static_cast<uint32_t>(getpid());
  record.ppid = static_cast<uint32_t>(getppid());
  record.monotonic_ns = MonotonicNs();
  record.realtime_ns = RealtimeNs();
  record.process_start_ns = ProcessStartNs();
  record.boot_id_hash = BootIdHash();
  // Unlike any other file's, also of a process with the same number on another machine.
  const uint64_t parts[] = {record.pid, static_cast<uint64_t>(record.monotonic_ns),
                            static_cast<uint64_t>(record.realtime_ns), record.boot_id_hash};
  stream_ = uint64_t{record.pid} << 32 | Crc32c(parts, sizeof parts);
  Add(record);
  Flush();
  return true;
}

void ChunkWriter::AddBytes(ChunkKind kind, const void* head, size_t head_bytes, const void* tail,
                           size_t tail_bytes) {
  if (fd_ < 0) return;
  Buffer& buffer = buffers_[static_cast<size_t>(kind)];
  if (buffer.data == nullptr) {
    buffer.data = static_cast<unsigned char*>(std::malloc(kBufferBytes));
    if (buffer.data == nullptr) return CountLoss(LossWhat::kBufferLimit, kind, 1);
  }
  const size_t bytes = PaddedBytes(head_bytes + tail_bytes);
  if (bytes > kBufferBytes) return CountLoss(LossWhat::kBufferLimit, kind, 1);
  if (buffer.used + bytes > kBufferBytes) WriteChunk(kind, buffer);
  unsigned char* to = buffer.data + buffer.used;
  std::memcpy(to, head, head_bytes);
  if (tail_bytes > 0) std::memcpy(to + head_bytes, tail, tail_bytes);
  std::memset(to + head_bytes + tail_bytes, 0, bytes - head_bytes - tail_bytes);
  buffer.used += static_cast<uint32_t>(bytes);
  ++buffer.records;
}

void ChunkWriter::AddFact(std::string_view key, std::string_view value) {
  if (key.size() > 256) key = key.substr(0, 256);
  if (value.size() > kBufferBytes / 2) {
    value = value.substr(0, kBufferBytes / 2);
    CountLoss(LossWhat::kStringCut, ChunkKind::kFact, 1);
  }
  char head[sizeof(FactEntry) + 256];
  const FactEntry entry{static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())};
  std::memcpy(head, &entry, sizeof entry);
  std::memcpy(head + sizeof entry, key.data(), key.size());
  AddBytes(ChunkKind::kFact, head, sizeof entry + key.size(), value.data(), value.size());
}

void ChunkWriter::AddStack(uint32_t id, const uint32_t* frames, uint32_t count) {
  if (count > kMaxStackFrames) {  // the innermost are what a sample is about
    frames += count - kMaxStackFrames;
    count = kMaxStackFrames;
  }
  const StackEntry entry{id, count};
  AddBytes(ChunkKind::kStack, &entry, sizeof entry, frames, count * sizeof(uint32_t));
}

void ChunkWriter::AddCounterSet(const CounterSetEntry& set, const uint32_t* names) {
  AddBytes(ChunkKind::kCounterSet, &set, sizeof set, names, set.count * sizeof(uint32_t));
}

void ChunkWriter::AddCounterValues(const CounterValuesEntry& reading, const float* values) {
  AddBytes(ChunkKind::kCounterValues, &reading, sizeof reading, values, reading.count * sizeof(float));
}

uint32_t ChunkWriter::String(std::string_view text) {
  if (text.size() > kMaxStringBytes) {
    text = text.substr(0, kMaxStringBytes);
    ++strings_cut_;
  }
  bool added = false;
  const uint32_t id = strings_.Add(text, added);
  if (id == 0) ++strings_refused_;
  if (added) {
    const StringEntry entry{id, static_cast<uint32_t>(text.size())};
    AddBytes(ChunkKind::kString, &entry, sizeof entry, text.data(), text.size());
  }
  return id;
}

void ChunkWriter::CountLoss(LossWhat what, ChunkKind kind, uint64_t count) {
  if (count == 0) return;
  if (IsLoss(what)) records_lost_.fetch_add(count, std::memory_order_relaxed);
  for (size_t i = 0; i < loss_count_; ++i) {
    if (losses_[i].what == what && losses_[i].kind == kind) {
      losses_[i].count += count;
      return;
    }
  }
  if (loss_count_ < sizeof losses_ / sizeof losses_[0]) losses_[loss_count_++] = {what, kind, count};
}

void ChunkWriter::Message(MessageLevel level, std::string_view text) {
  Add(MessageRecord{MonotonicNs(), level, String(text)});
}

void ChunkWriter::WriteLosses() {
  constexpr ChunkKind kString = ChunkKind::kString;
  CountLoss(LossWhat::kStringCut, kString, strings_cut_);
  CountLoss(LossWhat::kStringLimit, kString, strings_refused_);
  strings_cut_ = strings_refused_ = 0;
  const size_t count = loss_count_;
  loss_count_ = 0;
  const int64_t now_ns = MonotonicNs();
  for (size_t i = 0; i < count; ++i)
    Add(LossRecord{losses_[i].what, losses_[i].kind, 0, losses_[i].count, now_ns});
}

// True when header, payload and padding are in the file as a whole.
bool ChunkWriter::WriteAll(const void* header, const void* payload, size_t payload_bytes) {
  static constexpr char kZeros[8] = {};
  iovec parts[3] = {{const_cast<void*>(header), sizeof(ChunkHeader)},
                    {const_cast<void*>(payload), payload_bytes},
                    {const_cast<char*>(kZeros), PaddedBytes(payload_bytes) - payload_bytes}};
  size_t part = 0;
  while (part < 3) {
    if (parts[part].iov_len == 0) {
      ++part;
      continue;
    }
    const ssize_t n = writev(fd_, parts + part, static_cast<int>(3 - part));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    for (auto left = static_cast<size_t>(n); left > 0;) {
      const size_t taken = left < parts[part].iov_len ? left : parts[part].iov_len;
      parts[part].iov_base = static_cast<char*>(parts[part].iov_base) + taken;
      parts[part].iov_len -= taken;
      left -= taken;
      if (parts[part].iov_len == 0) ++part;
    }
  }
  return true;
}

void ChunkWriter::WriteChunk(ChunkKind kind, Buffer& buffer) {
  if (buffer.used == 0) return;
  // Whatever refers to a text comes after it, also when the file ends in between.
  if (kind != ChunkKind::kString)
    WriteChunk(ChunkKind::kString, buffers_[static_cast<size_t>(ChunkKind::kString)]);
  ChunkHeader header{};
  header.magic = kChunkMagic;
  header.version = kFormatVersion;
  header.kind = kind;
  header.payload_bytes = buffer.used;
  header.records = buffer.records;
  header.record_bytes = RecordBytes(kind);
  header.sequence = sequence_;
  header.stream = stream_;
  header.payload_crc = Crc32c(buffer.data, buffer.used);
  header.header_crc = Crc32c(&header, offsetof(ChunkHeader, header_crc));
  const uint32_t records = buffer.records, bytes = buffer.used;
  buffer.used = buffer.records = 0;
  ++sequence_;
  if (WriteAll(&header, buffer.data, bytes)) {
    file_end_ += static_cast<int64_t>(sizeof header + PaddedBytes(bytes));
    bytes_written_.store(static_cast<uint64_t>(file_end_), std::memory_order_relaxed);
    records_written_.fetch_add(records, std::memory_order_relaxed);
    disk_failed_ = false;
    return;
  }
  // Takes back the part that fitted: the file ends with a whole chunk. The next chunk is
  // tried again, as room may be made meanwhile.
  if (ftruncate(fd_, file_end_) == 0) lseek(fd_, file_end_, SEEK_SET);
  disk_failed_ = true;
  if (kind == ChunkKind::kLoss) {  // counts that could not be told are told with the next
    for (uint32_t i = 0; i < records; ++i) {
      LossRecord lost;
      std::memcpy(&lost, buffer.data + i * sizeof lost, sizeof lost);
      if (IsLoss(lost.what)) records_lost_.fetch_sub(lost.count, std::memory_order_relaxed);
      CountLoss(lost.what, lost.kind, lost.count);
    }
    return;
  }
  CountLoss(LossWhat::kDiskFull, kind, records);
}

void ChunkWriter::Flush() {
  if (fd_ < 0) return;
  WriteLosses();
  for (uint16_t kind = 1; kind <= kLastChunkKind; ++kind) {
    if (static_cast<ChunkKind>(kind) == ChunkKind::kEnd) continue;
    WriteChunk(static_cast<ChunkKind>(kind), buffers_[kind]);
  }
  // What was lost while flushing.
  if (loss_count_ > 0 && !disk_failed_) {
    WriteLosses();
    WriteChunk(ChunkKind::kLoss, buffers_[static_cast<size_t>(ChunkKind::kLoss)]);
  }
}

void ChunkWriter::Close() {
  if (fd_ < 0) return;
  Flush();
  Add(EndRecord{MonotonicNs(), records_written()});
  WriteChunk(ChunkKind::kEnd, buffers_[static_cast<size_t>(ChunkKind::kEnd)]);
  close(fd_);
  fd_ = -1;
}

void ChunkWriter::Abandon() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace nl::capture
