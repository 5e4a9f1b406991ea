// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the launcher, `neurolens ctl` and the recorded processes talk: two environment
// variables and one page of shared memory, the file `control` in the capture directory.
// The launcher makes it (fully allocated: a hole in it would be a SIGBUS in someone else's
// program), every process with the library takes a slot in it and keeps its numbers there,
// ctl finds the directory in /proc/PID/environ.
// Thread rule: all shared fields are atomics; Request and the waits are safe from any
// thread and process. Ownership: ControlPage unmaps on destruction, the file stays.
//
//   DIR/control           this page
//   DIR/launcher.nlc      the launcher's file: processes, CPU samples
//   DIR/PID-STREAM.nlc    one per process with the library (a fork has its own)

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nl::capture {

// Directory of the capture. Without it the library does nothing at all.
inline constexpr char kDirectoryVariable[] = "NEUROLENS_CAPTURE_DIR";
// What to record when there is no control page: names of Wanted, with commas.
inline constexpr char kWantedVariable[] = "NEUROLENS_CAPTURE";
// Path of libcupti to load first, and of the library itself for the Python package.
inline constexpr char kCuptiVariable[] = "NEUROLENS_CUPTI";
inline constexpr char kLibraryVariable[] = "NEUROLENS_CAPTURE_LIBRARY";
inline constexpr char kControlFile[] = "control";
inline constexpr char kLauncherFile[] = "launcher.nlc";
inline constexpr char kFileEnding[] = ".nlc";

// Bits of what to record; frozen.
enum Wanted : uint64_t {
  kWantKernels = 1 << 0,  // with copies, memsets, graphs
  kWantApi = 1 << 1,      // launches, copies, synchronisation, memory, graphs; not every call
  kWantSync = 1 << 2,
  kWantMemory = 1 << 3,      // device allocations
  kWantRanges = 1 << 4,      // NVTX and the Python package
  kWantCounters = 1 << 5,    // PM sampling
  kWantClocks = 1 << 6,      // SM clock, power, by NVML
  kWantCpu = 1 << 7,         // the launcher's: native stacks
  kWantPython = 1 << 8,      // the launcher's: Python stacks
  kWantOps = 1 << 9,         // the Python package's: framework ops
  kWantModules = 1 << 10,    // the Python package's: module calls
  kWantAllApi = 1 << 11,     // every runtime and driver call
  kWantAllShapes = 1 << 12,  // the Python package's: shapes of operators in every forward
};
inline constexpr uint64_t kWantDefault = kWantKernels | kWantApi | kWantSync | kWantMemory | kWantRanges |
                                         kWantCounters | kWantClocks | kWantCpu | kWantPython | kWantOps |
                                         kWantModules;

// "kernels,api,-counters": a list alone is all there is, a first name with + or - changes
// the default. False: a name is not known.
bool ParseWanted(std::string_view text, uint64_t& to);
// As ParseWanted reads it.
std::string WantedText(uint64_t wanted);

enum class SlotState : uint32_t {
  kFree = 0,
  kStarting = 1,
  kRecording = 2,
  kPaused = 3,
  kEnded = 4,   // closed in order
  kFailed = 5,  // records nothing; message says why
};

// One recorded process; written by its library, read by everybody. Numbers only grow.
struct ProcessSlot {
  std::atomic<uint32_t> pid;
  std::atomic<SlotState> state;
  std::atomic<int64_t> start_ns;    // monotonic
  std::atomic<int64_t> updated_ns;  // monotonic; when the numbers were last true
  std::atomic<uint64_t> kernels, copies, api_calls, ranges, other_records;
  std::atomic<uint64_t> lost_records;
  std::atomic<uint64_t> bytes_written, buffer_bytes;
  std::atomic<uint64_t> kernel_time_ns;  // sum over kernels: with one stream, the time the device was busy
  std::atomic<int64_t> cost_program_ns, cost_writer_ns;
  std::atomic<uint32_t> epoch_seen;  // of the last command carried out
  std::atomic<uint32_t> has_gpu;
  char message[128];  // for people; written once, before state is kFailed or kRecording
};
static_assert(sizeof(ProcessSlot) == 248);

// Between two samples of hardware counters, unless the launcher says otherwise.
inline constexpr uint32_t kCounterIntervalUs = 100;

inline constexpr uint32_t kControlVersion = 1;
inline constexpr uint32_t kProcessSlots = 240;

struct ControlBlock {
  char magic[8];  // "NLCTL\0\0\1"
  uint32_t version;
  uint32_t bytes;  // of the whole block
  uint32_t launcher_pid;
  uint32_t slots;
  // Set by the launcher before the program starts.
  uint64_t wanted;             // Wanted
  uint64_t buffer_bytes;       // at most this much memory for buffers in a process
  uint32_t clock_interval_ms;  // between clock pairs
  uint32_t counter_interval_us;
  uint32_t budget_ppm;      // recording pauses to cost the program no more of its time; 0: no limit
  uint32_t start_off;       // 1: each process is off until it says start (--capture-range api)
  char capture_range[128];  // label of the range to record in; empty: always
  // Commands. `epoch` is raised after `recording` was set, and is what waiters sleep on.
  std::atomic<uint32_t> epoch;
  std::atomic<uint32_t> recording;      // 1 on, 0 off
  std::atomic<uint32_t> closing;        // 1: the launcher is gone or wants everybody to close
  std::atomic<uint32_t> slots_refused;  // processes that found no slot; they still record
  ProcessSlot process[kProcessSlots];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);
static_assert(offsetof(ControlBlock, epoch) == 184);

class ControlPage {
 public:
  ControlPage() = default;
  ~ControlPage();
  ControlPage(const ControlPage&) = delete;
  ControlPage& operator=(const ControlPage&) = delete;

  // The launcher's: makes DIR/control with the defaults above; false: errno says why.
  bool Create(const char* directory);
  // Everybody else's. False: no page, or not one of this version (errno EPROTO).
  bool Open(const char* directory);
  ControlBlock* get() const { return block_; }
  ControlBlock* operator->() const { return block_; }
  explicit operator bool() const { return block_ != nullptr; }

  // A slot of one's own; null when all are taken (counted). The slot of an ended process
  // is kept: the launcher reads its last numbers.
  ProcessSlot* TakeSlot(uint32_t pid);

  // On or off, for all processes; gives the epoch in which it holds.
  uint32_t Request(bool on);
  void RequestClose();
  // Sleeps until the epoch is no longer `seen`, at most `timeout_ms`; gives the epoch.
  uint32_t Wait(uint32_t seen, int timeout_ms) const;

 private:
  ControlBlock* block_ = nullptr;
};

}  // namespace nl::capture
