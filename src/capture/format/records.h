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
#include <type_traits>

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
};
inline constexpr uint16_t kLastChunkKind = 27;

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

// The GPU clock read between two readings of the monotonic clock, and the wall clock.
struct ClockRecord {
  int64_t gpu_ns;  // 0: no GPU clock in this process; the pair of host clocks alone
  int64_t monotonic_before_ns;
  int64_t monotonic_after_ns;
  int64_t realtime_ns;
};
static_assert(sizeof(ClockRecord) == 32);

struct KernelRecord {
  int64_t start_ns, end_ns;  // gpu; 0 and 0: not timed
  int64_t queued_ns;         // gpu; 0: not measured
  int64_t submitted_ns;      // gpu; 0: not measured
  uint64_t graph_node_id;
  uint32_t device, context, stream;
  uint32_t correlation;
  uint32_t name;  // string, mangled as the driver has it
  uint32_t graph_id;
  int32_t grid[3], block[3];
  uint32_t cluster[3];  // 0 when not launched as clusters
  uint32_t static_shared_bytes, dynamic_shared_bytes;
  uint32_t local_bytes_per_thread;
  uint16_t registers_per_thread;
  uint8_t shared_config;           // CUPTI's sharedMemoryConfig
  uint8_t launch_type;             // 0 regular, 1 cooperative, 2 cooperative on several devices
  uint32_t shared_executed_bytes;  // what the driver gave a multiprocessor; 0 when not said
  uint32_t channel;
};
static_assert(sizeof(KernelRecord) == 128);

struct MemcpyRecord {
  int64_t start_ns, end_ns;  // gpu
  uint64_t bytes;
  uint64_t graph_node_id;
  uint32_t device, context, stream;
  uint32_t correlation;
  uint32_t graph_id;
  uint8_t kind;        // CUpti_ActivityMemcpyKind
  uint8_t src_memory;  // CUpti_ActivityMemoryKind
  uint8_t dst_memory;
  uint8_t flags;                              // bit 0: asynchronous
  uint32_t peer_src_device, peer_dst_device;  // of a peer copy; else kNoDevice
  uint64_t copies;                            // in one record; 0 when not said
};
static_assert(sizeof(MemcpyRecord) == 72);
inline constexpr uint32_t kNoDevice = 0xffffffff;

struct MemsetRecord {
  int64_t start_ns, end_ns;  // gpu
  uint64_t bytes;
  uint64_t graph_node_id;
  uint32_t device, context, stream;
  uint32_t correlation;
  uint32_t graph_id;
  uint32_t value;
  uint16_t memory;  // CUpti_ActivityMemoryKind
  uint16_t flags;
  uint32_t reserved;
};
static_assert(sizeof(MemsetRecord) == 64);

struct SyncRecord {
  int64_t start_ns, end_ns;  // gpu clock, measured on the host
  uint32_t type;             // CUpti_ActivitySynchronizationType
  uint32_t correlation;
  uint32_t context, stream;  // stream kNoStream: not of one
  uint32_t event;            // kNoEvent: not of one
  uint32_t return_value;
  uint64_t event_sync_id;  // of the event record waited for; 0 when not said
};
static_assert(sizeof(SyncRecord) == 48);
inline constexpr uint32_t kNoStream = 0xffffffff;

struct ApiRecord {
  int64_t start_ns, end_ns;  // gpu clock, measured on the host
  uint32_t callback_id;
  uint16_t domain;  // 1 driver, 2 runtime
  uint16_t reserved;
  uint32_t tid;        // as the kernel numbers it; 0 when CUPTI's number could not be matched
  uint32_t cupti_tid;  // as CUPTI numbers it
  uint32_t correlation;
  uint32_t return_value;
  uint32_t name;  // string
  uint32_t flags;
};
static_assert(sizeof(ApiRecord) == 48);

struct MemoryRecord {
  int64_t time_ns;  // gpu clock
  uint64_t address;
  uint64_t bytes;
  uint64_t program_counter;
  uint64_t pool;       // address of the memory pool; 0: none
  uint32_t operation;  // 1 allocation, 2 release (CUpti_ActivityMemoryOperationType)
  uint32_t memory;     // CUpti_ActivityMemoryKind
  uint32_t correlation;
  uint32_t device, context, stream;
  uint32_t flags;   // bit 0: asynchronous
  uint32_t source;  // string: library that called; 0 when not said
};
static_assert(sizeof(MemoryRecord) == 72);

// A framework's own id of what made the calls with this correlation.
struct ExternalRecord {
  uint64_t external_id;
  uint32_t external_kind;  // CUpti_ExternalCorrelationKind
  uint32_t correlation;
};
static_assert(sizeof(ExternalRecord) == 16);

// Time CUPTI says it took itself.
struct OverheadRecord {
  int64_t start_ns, end_ns;  // gpu clock
  uint32_t kind;             // CUpti_ActivityOverheadKind
  uint32_t object_kind;
  uint32_t pid, tid;
  uint32_t correlation;
  uint32_t reserved;
};
static_assert(sizeof(OverheadRecord) == 40);

struct DeviceRecord {
  uint32_t device;
  uint32_t name;  // string
  uint64_t memory_bytes;
  uint64_t memory_bandwidth_kbps;  // kilobytes per second, as CUPTI says it
  uint32_t sm_count;
  uint32_t compute_major, compute_minor;
  uint32_t warp_threads;
  uint32_t max_warps_per_sm, max_blocks_per_sm;
  uint32_t shared_bytes_per_sm, registers_per_sm;
  uint32_t l2_bytes;
  uint32_t core_clock_khz;
  uint32_t max_threads_per_block;
  uint32_t memcpy_engines;
  uint8_t uuid[16];
  uint32_t flags;  // bit 0: a part of a device (MIG), bit 1: ECC on
  uint32_t reserved;
};
static_assert(sizeof(DeviceRecord) == 96);

struct ContextRecord {
  uint32_t context, device;
  uint32_t null_stream;
  uint32_t flags;  // bit 0: green context
};
static_assert(sizeof(ContextRecord) == 16);

// A whole graph launch, where the nodes were not recorded.
struct GraphRecord {
  int64_t start_ns, end_ns;  // gpu
  uint32_t device, context, stream;
  uint32_t correlation;
  uint32_t graph_id;
  uint32_t reserved;
};
static_assert(sizeof(GraphRecord) == 40);

enum class RangeWhat : uint8_t {
  kPush = 1,  // of the thread's stack in that domain
  kPop = 2,
  kStart = 3,  // id pairs it with its end, on any thread
  kEnd = 4,
  kMark = 5,
};
enum class PayloadType : uint8_t { kNone = 0, kUint = 1, kInt = 2, kDouble = 3, kText = 4 };
// One NVTX call (or one of the Python package, which is the same thing).
struct RangeRecord {
  int64_t time_ns;   // monotonic
  uint64_t id;       // of start and end
  uint64_t payload;  // bits as payload_type says; kText: string
  uint32_t tid;
  uint32_t domain;    // string: name; 0: the default domain
  uint32_t category;  // string: name, or 0
  uint32_t category_id;
  uint32_t name;   // string
  uint32_t color;  // ARGB; 0: none
  RangeWhat what;
  PayloadType payload_type;
  uint16_t flags;  // kRangeHasColor...
  uint32_t depth;  // of the thread's stack in that domain, before a push and after a pop
};
static_assert(sizeof(RangeRecord) == 56);

enum class FrameKind : uint32_t { kNative = 1, kPython = 2, kKernel = 3 };
// Frames of sampled stacks. Ids start at 1, per file.
struct FrameRecord {
  uint64_t address;  // in the module; 0 when it has none
  uint32_t id;
  FrameKind kind;
  uint32_t name;    // string: function; 0 when only the address is known
  uint32_t file;    // string: source file
  uint32_t module;  // string: library or program
  uint32_t line;
};
static_assert(sizeof(FrameRecord) == 32);

// Followed by `frames` ids of frames (uint32), outermost first, padded to 8.
struct StackEntry {
  uint32_t id;
  uint32_t frames;
};
static_assert(sizeof(StackEntry) == 8);
inline constexpr uint32_t kMaxStackFrames = 512;

enum class ThreadState : uint8_t {
  kUnknown = 0,
  kRunning = 1,   // on a core, or ready to be
  kSleeping = 2,  // waits; interruptible
  kDiskWait = 3,  // waits; not interruptible
  kStopped = 4,
};
enum class GilState : uint8_t { kUnknown = 0, kNotPython = 1, kHolds = 2, kWaits = 3, kReleased = 4 };
struct CpuSampleRecord {
  int64_t time_ns;    // monotonic
  int64_t weight_ns;  // time it stands for
  uint32_t pid, tid;
  uint32_t stack;  // id; 0: the stack could not be read
  ThreadState state;
  GilState gil;
  uint16_t cpu;  // core; 0xffff when not known
};
static_assert(sizeof(CpuSampleRecord) == 32);

enum class CounterClock : uint32_t { kGpu = 1, kMonotonic = 2 };
// One value of a hardware counter over an interval.
struct CounterSampleRecord {
  int64_t start_ns, end_ns;  // on `clock`; equal: an instant
  double value;
  uint32_t name;    // string: metric as its source names it
  uint32_t device;  // kNoDevice: of the machine
  CounterClock clock;
  uint32_t source;  // 1 PM sampling, 2 NVML, 3 the launcher
};
static_assert(sizeof(CounterSampleRecord) == 40);

// What was lost, and why. Counts add up over the records.
enum class LossWhat : uint32_t {
  kCuptiDropped = 1,      // records CUPTI says it dropped
  kCuptiUnknown = 2,      // records of a kind or size this library does not know
  kBufferLimit = 3,       // activity buffers that were not given: the memory limit
  kRingFull = 4,          // host events that found their thread's ring full
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
struct LossRecord {
  LossWhat what;
  ChunkKind kind;  // of the records lost; 0 when not one kind
  uint16_t reserved;
  uint64_t count;
  int64_t time_ns;  // monotonic, when it was noticed
};
static_assert(sizeof(LossRecord) == 24);

// What the recording itself cost until now: time on the program's own threads, and on
// threads of the library or the launcher.
struct CostRecord {
  int64_t time_ns;  // monotonic
  int64_t in_program_ns;
  int64_t in_writer_ns;    // CPU time of the writer thread
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
  kEnd = 6
};
// Recording went on or off.
struct WindowRecord {
  int64_t time_ns;  // monotonic
  uint32_t on;
  WindowReason reason;
};
static_assert(sizeof(WindowRecord) == 16);

struct EndRecord {
  int64_t time_ns;   // monotonic
  uint64_t records;  // in the file
};
static_assert(sizeof(EndRecord) == 16);

// Every fixed record may be copied byte by byte.
template <class... Records>
inline constexpr bool kPlain =
    ((std::is_trivially_copyable_v<Records> && sizeof(Records) % 8 == 0 && alignof(Records) == 8) && ...);
static_assert(kPlain<FileRecord, ProcessRecord, ThreadRecord, ClockRecord, KernelRecord, MemcpyRecord,
                     MemsetRecord, SyncRecord, ApiRecord, MemoryRecord, ExternalRecord, OverheadRecord,
                     DeviceRecord, GraphRecord, RangeRecord, FrameRecord, CpuSampleRecord,
                     CounterSampleRecord, LossRecord, CostRecord, MessageRecord, WindowRecord, EndRecord>);
static_assert(sizeof(ContextRecord) % 8 == 0);

}  // namespace nl::capture
