// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records of what happened on host threads: labelled ranges, and samples of what ran.
// The rules for layouts are those of records.h, which includes this.
// Thread rule: plain data.

#include <cstdint>

namespace nl::capture {

enum class RangeWhat : uint8_t {
  kPush = 1,  // of the thread's stack in that domain
  kPop = 2,
  kStart = 3,  // id pairs it with its end, on any thread
  kEnd = 4,
  kMark = 5,
};
enum class PayloadType : uint8_t { kNone = 0, kUint = 1, kInt = 2, kDouble = 3, kText = 4 };
enum RangeFlags : uint16_t {
  // An operator or a label of PyTorch: payload (kInt) is its sequence number if it has one. The id is
  // the op_id of PyTorch's NVTX profiler, or kNoOpId for what our observer saw.
  kRangeIsTorchs = 1,
};
inline constexpr uint64_t kNoOpId = UINT64_MAX;
// One NVTX call (or one of the Python package, which is the same thing).
struct RangeRecord {
  int64_t time_ns;   // monotonic
  uint64_t id;       // of start and end; kRangeIsTorchs
  uint64_t payload;  // bits as payload_type says; kText: string
  uint32_t tid;
  uint32_t domain;    // string: name; 0: the default domain
  uint32_t category;  // string: name, or 0
  uint32_t category_id;
  uint32_t name;   // string
  uint32_t color;  // ARGB; 0: none
  RangeWhat what;
  PayloadType payload_type;
  uint16_t flags;  // RangeFlags
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
  kRunning = 1,   // on a core; without perf events also ready to be
  kSleeping = 2,  // waits; interruptible
  kDiskWait = 3,  // waits; not interruptible
  kStopped = 4,
  kQueued = 5,  // ready to run; waits for a free core
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

}  // namespace nl::capture
