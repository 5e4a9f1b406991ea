// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records of what CUPTI and NVML say: work on devices, the calls that caused it, devices.
// The rules for layouts are those of records.h, which includes this.
// Thread rule: plain data.

#include <cstdint>

namespace nl::capture {

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
  uint32_t reserved;
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
inline constexpr uint32_t kNoStream = 0xffffffff, kNoEvent = 0xffffffff;

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
  uint32_t null_stream;  // kNoStream: not known
  uint32_t flags;        // bit 0: green context
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

enum class CounterSource : uint32_t { kPmSampling = 1, kNvml = 2, kLauncher = 3 };
inline constexpr uint32_t kMaxCounters = 32;  // in one set

// Counters that are read together: followed by `count` string numbers, padded to 8. A set of
// the same id comes again when its interval changes.
struct CounterSetEntry {
  uint32_t id;      // 1, 2, ... per file
  uint32_t device;  // kNoDevice: of the machine
  CounterClock clock;
  CounterSource source;
  uint32_t interval_ns;  // between two readings, as asked for; 0: not regular
  uint32_t count;        // at most kMaxCounters
};
static_assert(sizeof(CounterSetEntry) == 24);

// One reading of all counters of a set: followed by `count` 32-bit floats in the order of the
// set, NaN where there was none, padded to 8.
struct CounterValuesEntry {
  int64_t start_ns, end_ns;  // on the clock of the set; equal: an instant
  uint32_t set;
  uint16_t samples;  // of the hardware in it: more than 1 where the device did nothing
  uint16_t count;
};
static_assert(sizeof(CounterValuesEntry) == 24);

}  // namespace nl::capture
