// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUPTI as far as we use it, declared by ourselves: the library is loaded at run time and
// need not be there when we are built. Record layouts grow at their end from one CUPTI to
// the next (Kernel4 of CUDA 10 to Kernel10 of CUDA 13 begin alike), so there is one struct
// per kind, and the size of a record says which fields it has. cupti_layout_check.cc holds
// all of it against NVIDIA's headers where those are installed.
// Thread rule: plain data.

#include <cstddef>
#include <cstdint>

namespace nl::capture::cupti {

enum Result : int {
  kSuccess = 0,
  kErrorInvalidParameter = 1,
  kErrorOutOfMemory = 8,
  kErrorMaxLimitReached = 12,
  kErrorInvalidMetricName = 17,
  kErrorNotSupported = 27,
  kErrorInsufficientPrivileges = 35,
  kErrorMultipleSubscribers = 39,
  kErrorVirtualNoPrivileges = 40,
};

enum Kind : uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kContext = 9,
  kConcurrentKernel = 10,
  kKernel = 3,
  kOverhead = 17,
  kMemcpyPeer = 22,
  kSynchronization = 38,
  kExternalCorrelation = 39,
  kMemory2 = 49,
  kGraphTrace = 51,
};

enum Domain : int { kDriverApi = 1, kRuntimeApi = 2, kResource = 3 };
enum ResourceCallback : uint32_t {
  kContextCreated = 1,
  kContextDestroyStarting = 2,
  kInitFinished = 5,
  kGraphExecCreated = 18,
};
enum Attribute : int { kZeroedOutBuffer = 5, kPerThreadBuffer = 9 };
inline constexpr uint32_t kFlushForced = 1;
inline constexpr int kThreadIdSystem = 1;

struct Kernel {
  uint32_t kind;
  uint8_t cache_config, shared_config;
  uint16_t registers_per_thread;
  uint32_t partitioned_requested, partitioned_executed;
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_per_thread, local_total, correlation;
  int64_t grid_id;
  const char* name;
  void* reserved0;
  uint64_t queued, submitted;
  uint8_t launch_type, carveout_requested, carveout, padding;
  uint32_t shared_executed;
  uint64_t graph_node_id;  // Kernel5
  uint32_t shared_limit_config, graph_id;
  void* access_policy_window;           // Kernel6
  uint32_t channel, channel_type;       // Kernel7
  uint32_t cluster[3], cluster_policy;  // Kernel8
  uint64_t local_total_v2;
};
static_assert(offsetof(Kernel, graph_node_id) == 144 && sizeof(Kernel) == 200);

struct Memcpy {
  uint32_t kind;
  uint8_t copy_kind, src_kind, dst_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime_correlation, pad;
  void* reserved0;
  uint64_t graph_node_id;      // Memcpy3
  uint32_t graph_id, channel;  // Memcpy4
  uint32_t channel_type;       // Memcpy5
  uint8_t is_device_launched, pad2[3];
  uint64_t copy_count;  // Memcpy6
};
static_assert(sizeof(Memcpy) == 96);

struct MemcpyPeer {
  uint32_t kind;
  uint8_t copy_kind, src_kind, dst_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, src_device, src_context, dst_device, dst_context, correlation;
  void* reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id, channel;
};
static_assert(sizeof(MemcpyPeer) == 88);

struct Memset {
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memory_kind;
  uint32_t pad;
  void* reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id, channel;
};
static_assert(sizeof(Memset) == 80);

struct Memory {
  uint32_t kind, operation, memory_kind, correlation;
  uint64_t address, bytes, timestamp, program_counter;
  uint32_t process, device, context, stream;
  const char* name;
  uint32_t is_async, pad1;
  uint32_t pool_type, pad2;
  uint64_t pool_address, pool_threshold, pool_size;
  uint64_t pool_utilized;  // Memory3
  const char* source;      // Memory4
};
static_assert(sizeof(Memory) == 128);

struct Overhead {
  uint32_t kind, overhead_kind, object_kind;
  uint32_t object[3];  // process and thread, or device, context, stream
  uint64_t start, end;
  uint32_t correlation, reserved0;  // Overhead2
};
static_assert(sizeof(Overhead) == 48);

struct Device {
  uint32_t kind, flags;
  uint64_t memory_bandwidth, memory_bytes;
  uint32_t constant_bytes, l2_bytes, warp_threads, core_clock_khz, memcpy_engines, sm_count, max_ipc,
      max_warps_per_sm, max_blocks_per_sm, max_shared_per_sm, max_registers_per_sm, max_registers_per_block,
      max_shared_per_block, max_threads_per_block, max_block[3], max_grid[3], compute_major, compute_minor,
      id, ecc_enabled;
  uint8_t uuid[16];
  const char* name;
  uint8_t is_visible, is_mig, reserved[6];
};
static_assert(sizeof(Device) == 152);

struct Context {
  uint32_t kind, context, device;
  uint16_t api_kind, null_stream;
  uint32_t parent;  // Context2
  uint8_t is_green, padding;
  uint16_t sm_count;
};
static_assert(sizeof(Context) == 24);

struct GraphTrace {
  uint32_t kind, correlation;
  uint64_t start, end;
  uint32_t device, graph_id, context, stream;
  void* reserved;
};
static_assert(sizeof(GraphTrace) == 48);

// What a callback of the resource domain is given.
struct ResourceData {
  void* context;
  void* handle;
  void* descriptor;
};

// What a callback of the runtime or driver domain is given.
struct ApiData {
  int32_t site;
  const char* name;
  const void* arguments;     // a struct of them, in order
  const void* return_value;  // at the exit
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* kept;
  uint32_t correlation;
};
// What a call waits for; CUpti_ActivitySynchronizationType.
enum class Wait : uint8_t { kNothing = 0, kEvent = 1, kStreamForEvent = 2, kStream = 3, kContext = 4 };
constexpr int32_t kApiExit = 1;
// It is released from this version on (CUDA 12.6): before, it was seen to break programs.
constexpr uint32_t kVersionThatLeaves = 24;

using BufferRequested = void (*)(uint8_t** buffer, size_t* bytes, size_t* max_records);
using BufferCompleted = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                                 size_t valid_bytes);
using Callback = void (*)(void* user, int domain, uint32_t callback_id, const void* data);

// The functions by the names they have in the library. Those marked may be missing.
struct Functions {
  Result (*GetVersion)(uint32_t*);
  Result (*GetResultString)(Result, const char**);
  Result (*GetTimestamp)(uint64_t*);
  Result (*Subscribe)(void** subscriber, Callback, void* user);
  Result (*Unsubscribe)(void* subscriber);
  Result (*EnableCallback)(uint32_t enable, void* subscriber, int domain, uint32_t callback_id);
  Result (*GetCallbackName)(int domain, uint32_t callback_id, const char**);
  Result (*ActivityRegisterCallbacks)(BufferRequested, BufferCompleted);
  Result (*ActivityEnable)(uint32_t kind);
  Result (*ActivityDisable)(uint32_t kind);
  Result (*ActivityFlushAll)(uint32_t flags);
  Result (*ActivityGetNextRecord)(uint8_t* buffer, size_t valid_bytes, void** record);
  Result (*ActivityGetNumDroppedRecords)(void* context, uint32_t stream, size_t* dropped);
  Result (*ActivitySetAttribute)(int attribute, size_t* value_bytes, void* value);        // may be missing
  Result (*GetStreamIdEx)(void* context, void* stream, uint8_t of_thread, uint32_t* id);  // may be missing
  Result (*SetThreadIdType)(int type);                                                    // may be missing
  Result (*GetDeviceId)(void* context, uint32_t* device);                                 // may be missing
  Result (*EnableDomain)(uint32_t enable, void* subscriber, int domain);                  // may be missing
  Result (*Finalize)();                                                                   // may be missing
};

}  // namespace nl::capture::cupti
