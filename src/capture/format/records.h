// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records of a capture file, as they lie on disk: fixed layout, little endian, no
// padding that is not named. docs/formats/nlcap.md is the same in words.
// Rules: enum values are frozen; a field is never moved; a new field goes to the end of a
// record (readers take the record size from the chunk, and what an older file lacks is
// zero). Times called monotonic are CLOCK_MONOTONIC; gpu times are CUPTI's own clock,
// stored raw, and mapped by the clock records. 0 in a string field is "not known".
// Thread rule: plain data.

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "capture/format/gpu_records.h"
#include "capture/format/host_records.h"

namespace nl::capture {

inline constexpr uint16_t kFormatVersion = 1;

// What a chunk holds. A reader skips kinds it does not know, and counts them.
enum class ChunkKind : uint16_t {
  kFile = 1,            // FileRecord; first chunk of every file
  kString = 2,          // StringEntry + text, variable
  kFact = 3,            // FactEntry + key + value, variable
  kProcess = 4,         // ProcessRecord
  kThread = 5,          // ThreadRecord
  kClock = 6,           // ClockRecord
  kKernel = 7,          // KernelRecord
  kMemcpy = 8,          // MemcpyRecord
  kMemset = 9,          // MemsetRecord
  kSync = 10,           // SyncRecord
  kApi = 11,            // ApiRecord
  kMemory = 12,         // MemoryRecord
  kExternal = 13,       // ExternalRecord
  kOverhead = 14,       // OverheadRecord
  kDevice = 15,         // DeviceRecord
  kContext = 16,        // ContextRecord
  kRange = 17,          // RangeRecord
  kFrame = 18,          // FrameRecord
  kStack = 19,          // StackEntry + frame ids, variable
  kCpuSample = 20,      // CpuSampleRecord
  kCounterSample = 21,  // CounterSampleRecord
  kLoss = 22,           // LossRecord
  kCost = 23,           // CostRecord
  kMessage = 24,        // MessageRecord
  kWindow = 25,         // WindowRecord
  kGraph = 26,          // GraphRecord
  kEnd = 27,            // EndRecord; last chunk of a file that was closed in order
  kCounterSet = 28,     // CounterSetEntry + names, variable
  kCounterValues = 29,  // CounterValuesEntry + values, variable
  kObserved = 30,       // ObservedRecord
};
inline constexpr uint16_t kLastChunkKind = 30;

enum class WriterKind : uint32_t { kLibrary = 1, kLauncher = 2 };

struct FileRecord {
  uint16_t format_version;
  uint16_t record_alignment;  // 8
  WriterKind writer;
  uint32_t pid;  // of the writer: the recorded process, or the launcher
  uint32_t ppid;
  int64_t monotonic_ns;  // when the file was opened, on both clocks
  int64_t realtime_ns;
  int64_t process_start_ns;  // monotonic; from /proc/self/stat, 0 when not known
  uint64_t boot_id_hash;     // same value: same machine and boot, so monotonic times agree
};
static_assert(sizeof(FileRecord) == 48);

// Followed by `bytes` of text, padded with zeros to 8. Ids start at 1, per file.
struct StringEntry {
  uint32_t id;
  uint32_t bytes;
};
static_assert(sizeof(StringEntry) == 8);
inline constexpr uint32_t kMaxStringBytes = 8192;  // longer texts are cut, and counted

// One thing known of process, machine or recording, as text: followed by the key and the
// value, together padded to 8. docs/formats/nlcap.md lists the keys. The last one counts.
struct FactEntry {
  uint32_t key_bytes;
  uint32_t value_bytes;
};
static_assert(sizeof(FactEntry) == 8);

enum ProcessFlags : uint32_t {
  kProcessIsRoot = 1,    // the program that was asked for
  kProcessForked = 2,    // runs its parent's image
  kProcessExecuted = 4,  // ran an image of its own
  kProcessEnded = 8,     // exit_status and exit_signal are known
  kProcessDumpedCore = 16,
};
// The last record of a (pid, start_ns) counts; exec and exit write it again.
struct ProcessRecord {
  uint32_t pid;
  uint32_t ppid;
  int64_t start_ns;  // monotonic
  int64_t end_ns;    // monotonic; 0 while it runs
  int32_t exit_status;
  int32_t exit_signal;  // 0 when it ended by itself
  uint32_t executable;  // string: path
  uint32_t arguments;   // string: JSON array
  uint32_t flags;       // ProcessFlags
  uint32_t name;        // string: comm
};
static_assert(sizeof(ProcessRecord) == 48);

struct ThreadRecord {
  uint32_t pid;
  uint32_t tid;
  uint32_t name;  // string
  uint32_t flags;
  int64_t start_ns;  // monotonic; 0 when not known
  int64_t end_ns;    // monotonic; 0 while it runs or when not known
};
static_assert(sizeof(ThreadRecord) == 32);

// Names the capture library gives its own threads. They are not sampled, and samples of them in
// recordings of older versions are left out. A main thread of that name is a program's.
inline constexpr char kWriterThreadName[] = "neurolens";
inline constexpr char kCounterThreadName[] = "neurolens count";
inline bool IsRecorderThread(uint32_t pid, uint32_t tid, std::string_view name) {
  return pid != tid && (name == kWriterThreadName || name == kCounterThreadName);
}

// The GPU clock read between two readings of the monotonic clock, and the wall clock.
struct ClockRecord {
  int64_t gpu_ns;  // 0: no GPU clock in this process; the pair of host clocks alone
  int64_t monotonic_before_ns;
  int64_t monotonic_after_ns;
  int64_t realtime_ns;
};
static_assert(sizeof(ClockRecord) == 32);

// What was lost, and why. Counts add up over the records.
enum class LossWhat : uint32_t {
  kCuptiDropped = 1,      // records CUPTI says it dropped
  kCuptiUnknown = 2,      // records of a kind or size this library does not know
  kBufferLimit = 3,       // activity buffers that were not given: the memory limit
  kRingFull = 4,          // ranges or CUDA calls that found their thread's ring full
  kThreadLimit = 5,       // host events of a thread beyond the most that are kept apart
  kStringLimit = 6,       // texts beyond the memory for texts: the record has no name
  kStringCut = 7,         // texts cut at kMaxStringBytes
  kDiskFull = 8,          // records that could not be written
  kSamplesMissed = 9,     // CPU samples that came too late to be taken
  kStackUnreadable = 10,  // CPU samples without a stack
  kThinned = 11,          // left out on purpose, to hold the budget
  kCountersMissed = 12,   // PM samples the hardware overwrote
  kLate = 13,             // events that arrived after the recording was closed
};
// The others are kept in part, or left out on purpose.
constexpr bool IsLoss(LossWhat what) {
  return what != LossWhat::kStringCut && what != LossWhat::kStackUnreadable && what != LossWhat::kThinned;
}
struct LossRecord {
  LossWhat what;
  ChunkKind kind;  // of the records lost; 0 when not one kind
  uint16_t reserved;
  uint64_t count;
  int64_t time_ns;  // monotonic, when it was noticed
};
static_assert(sizeof(LossRecord) == 24);

// What the recording itself cost until now: time on the program's own threads (measured where it is the
// library's, by the count where it is CUPTI's or PyTorch's), and on threads of the library or the launcher.
struct CostRecord {
  int64_t time_ns;  // monotonic
  int64_t in_program_ns;
  int64_t in_writer_ns;    // CPU time of the writer thread and of the one that reads counters
  uint64_t program_calls;  // that in_program_ns was measured or estimated from
  uint64_t bytes_written;
  uint64_t peak_buffer_bytes;
};
static_assert(sizeof(CostRecord) == 48);

enum class MessageLevel : uint32_t { kInfo = 1, kWarning = 2, kError = 3 };
struct MessageRecord {
  int64_t time_ns;  // monotonic
  MessageLevel level;
  uint32_t text;  // string, for people
};
static_assert(sizeof(MessageRecord) == 16);

enum class WindowReason : uint32_t {
  kBegin = 1,
  kControl = 2,
  kApi = 3,
  kRange = 4,
  kDuration = 5,
  kEnd = 6,
  kBudget = 7
};
// Recording went on or off.
struct WindowRecord {
  int64_t time_ns;  // monotonic
  uint32_t on;
  WindowReason reason;
};
static_assert(sizeof(WindowRecord) == 16);

// From now on operators of PyTorch are observed in this process, or not. Before the first of a file they
// are, if the program has operators at all.
struct ObservedRecord {
  int64_t time_ns;     // monotonic
  uint32_t operators;  // 0: not observed
  uint32_t shapes;     // 0: without shapes
};
static_assert(sizeof(ObservedRecord) == 16);

struct EndRecord {
  int64_t time_ns;   // monotonic
  uint64_t records;  // in the file
};
static_assert(sizeof(EndRecord) == 16);

// Every fixed record may be copied byte by byte, and every byte of it has a name. (A double has
// two zeros, so CounterSampleRecord can only be counted.)
template <class... Records>
inline constexpr bool kPlain =
    ((std::has_unique_object_representations_v<Records> && sizeof(Records) % 8 == 0) && ...);
static_assert(kPlain<FileRecord, ProcessRecord, ThreadRecord, ClockRecord, KernelRecord, MemcpyRecord,
                     MemsetRecord, SyncRecord, ApiRecord, MemoryRecord, ExternalRecord, OverheadRecord,
                     DeviceRecord, ContextRecord, GraphRecord, RangeRecord, FrameRecord, CpuSampleRecord,
                     LossRecord, CostRecord, MessageRecord, WindowRecord, ObservedRecord, EndRecord>);
static_assert(std::is_trivially_copyable_v<CounterSampleRecord>);

}  // namespace nl::capture
