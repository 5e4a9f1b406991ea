// SPDX-License-Identifier: Apache-2.0
// The floor that bench/gpu/overhead.py measures against: a CUPTI client that records the kinds the capture
// library records, counts the records and throws them away. Loaded by ctypes, switched on and off by call.
// Built by overhead.py with -I src and src/capture/lib/api_list.cc (the same list of calls).
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "capture/lib/api_list.h"
#include "capture/lib/cupti_types.h"

namespace {

using namespace nl::capture;

constexpr size_t kBufferBytes = 8u << 20, kBuffers = 64;
cupti::Functions f;
ApiList apis;
std::atomic<uint64_t> g_kernels{0}, g_records{0};
cupti::Result (*g_runtime_filter)(uint32_t callback_id, uint8_t enable) = nullptr;
cupti::Result (*g_driver_filter)(uint32_t callback_id, uint8_t enable) = nullptr;
void* g_subscriber = nullptr;
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
uint8_t* g_free[kBuffers];
size_t g_free_count = 0;

// Bits of nl_empty_start, as overhead.py names them.
enum Part : unsigned {
  kKernels = 1,
  kRuntime = 2,
  kDriver = 4,
  kSync = 8,
  kMemory = 16,
  kExternal = 32,
  kOverhead = 64,
  kRuntimeCallbacks = 128,  // calls by callbacks for the listed ones instead of records of all
  kDriverCallbacks = 256
};

void Requested(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *max_records = 0;
  *bytes = kBufferBytes;
  pthread_mutex_lock(&g_lock);
  *buffer = g_free_count > 0 ? g_free[--g_free_count] : nullptr;
  pthread_mutex_unlock(&g_lock);
  if (*buffer == nullptr) *buffer = static_cast<uint8_t*>(std::aligned_alloc(64, kBufferBytes));
}

void Completed(void*, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  void* record = nullptr;
  uint64_t kernels = 0, records = 0;
  while (f.ActivityGetNextRecord(buffer, valid_bytes, &record) == cupti::kSuccess) {
    uint32_t kind;
    std::memcpy(&kind, record, sizeof kind);
    ++records;
    if (kind == cupti::kConcurrentKernel || kind == cupti::kKernel) ++kernels;
  }
  g_kernels += kernels;
  g_records += records;
  pthread_mutex_lock(&g_lock);
  const bool keep = g_free_count < kBuffers;
  if (keep) g_free[g_free_count++] = buffer;
  pthread_mutex_unlock(&g_lock);
  if (!keep) std::free(buffer);
}

// What a callback gives of a call.
struct CallData {
  int32_t site;
  const char* name;
  const void* parameters;
  void* return_value;
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* kept;
  uint32_t correlation;
};
struct Call {
  uint64_t start_ns, end_ns;
  uint32_t id, correlation;
  int32_t domain, result;
};
constexpr size_t kCalls = 1 << 16;
thread_local Call* t_calls = nullptr;
thread_local size_t t_call = 0;

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void OnCall(void*, int domain, uint32_t id, const void* data) {
  if (domain != cupti::kRuntimeApi && domain != cupti::kDriverApi) return;
  const auto* call = static_cast<const CallData*>(data);
  if (call->site == 0) {
    *call->kept = NowNs();
    return;
  }
  if (t_calls == nullptr) t_calls = static_cast<Call*>(std::calloc(kCalls, sizeof(Call)));
  t_calls[t_call++ % kCalls] = {*call->kept, NowNs(), id, call->correlation, domain, 0};
}

void Api(int domain, uint32_t kind) {
  f.ActivityEnable(kind);
  const auto filter = domain == cupti::kRuntimeApi ? g_runtime_filter : g_driver_filter;
  if (filter == nullptr) return;
  for (uint32_t id = 1; id <= apis.last(domain); ++id) {
    if (apis.Name(domain, id) != nullptr && !apis.Has(domain, id)) filter(id, 0);
  }
}

void Callbacks(unsigned parts, bool on) {
  for (const int domain : {int{cupti::kRuntimeApi}, int{cupti::kDriverApi}}) {
    if ((parts & (domain == cupti::kRuntimeApi ? kRuntimeCallbacks : kDriverCallbacks)) == 0) continue;
    for (uint32_t id = 1; id <= apis.last(domain); ++id) {
      if (apis.Name(domain, id) != nullptr && apis.Has(domain, id))
        f.EnableCallback(on ? 1 : 0, g_subscriber, domain, id);
    }
  }
}

}  // namespace

extern "C" {

// 0, or the number of what failed.
int nl_empty_open(const char* cupti_path, int system_thread_ids, int buffers_by_thread) {
  void* library = dlopen(cupti_path, RTLD_NOW);
  if (library == nullptr) return -1;
  const auto take = [&](const char* name, auto& to) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, name));
    return to != nullptr;
  };
  if (!take("cuptiSubscribe", f.Subscribe) || !take("cuptiGetCallbackName", f.GetCallbackName) ||
      !take("cuptiActivityRegisterCallbacks", f.ActivityRegisterCallbacks) ||
      !take("cuptiActivityEnable", f.ActivityEnable) || !take("cuptiActivityDisable", f.ActivityDisable) ||
      !take("cuptiActivityFlushAll", f.ActivityFlushAll) ||
      !take("cuptiActivityGetNextRecord", f.ActivityGetNextRecord))
    return -2;
  take("cuptiActivitySetAttribute", f.ActivitySetAttribute);
  take("cuptiActivityEnableRuntimeApi", g_runtime_filter);
  take("cuptiActivityEnableDriverApi", g_driver_filter);
  take("cuptiSetThreadIdType", f.SetThreadIdType);
  take("cuptiFinalize", f.Finalize);
  take("cuptiEnableCallback", f.EnableCallback);
  if (const int code = f.Subscribe(&g_subscriber, OnCall, nullptr); code != 0) return code;
  if (system_thread_ids != 0 && f.SetThreadIdType != nullptr) f.SetThreadIdType(cupti::kThreadIdSystem);
  if (buffers_by_thread != 0 && f.ActivitySetAttribute != nullptr) {
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    f.ActivitySetAttribute(cupti::kPerThreadBuffer, &bytes, &yes);
  }
  apis.Learn(f, false);
  return f.ActivityRegisterCallbacks(Requested, Completed);
}

void nl_empty_start(unsigned parts) {
  Callbacks(parts, true);
  if (parts & kRuntime) Api(cupti::kRuntimeApi, cupti::kRuntime);
  if (parts & kDriver) Api(cupti::kDriverApi, cupti::kDriver);
  if (parts & kExternal) f.ActivityEnable(cupti::kExternalCorrelation);
  if (parts & kKernels) {
    for (const uint32_t kind : {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kMemcpyPeer, cupti::kMemset})
      f.ActivityEnable(kind);
  }
  if (parts & kOverhead) f.ActivityEnable(cupti::kOverhead);
  if (parts & kSync) f.ActivityEnable(cupti::kSynchronization);
  if (parts & kMemory) f.ActivityEnable(cupti::kMemory2);
}

void nl_empty_stop() {
  Callbacks(kRuntimeCallbacks | kDriverCallbacks, false);
  f.ActivityFlushAll(0);
  for (const uint32_t kind : {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kMemcpyPeer, cupti::kMemset,
                              cupti::kRuntime, cupti::kDriver, cupti::kExternalCorrelation,
                              cupti::kSynchronization, cupti::kMemory2, cupti::kOverhead})
    f.ActivityDisable(kind);
  f.ActivityFlushAll(cupti::kFlushForced);
}

// CUPTI leaves the process; the device must have nothing to do. Until nl_empty_open is called again.
int nl_empty_leave() { return f.Finalize != nullptr ? f.Finalize() : -1; }

uint64_t nl_empty_kernels() { return g_kernels.load(); }
uint64_t nl_empty_records() { return g_records.load(); }
}
