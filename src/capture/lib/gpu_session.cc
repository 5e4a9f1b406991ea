// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/gpu_session.h"

#include "capture/control.h"

namespace nl::capture {

namespace {

// CUPTI's buffer callbacks carry no pointer of ours; there is one session in a process.
std::atomic<GpuSession*> g_session{nullptr};

}  // namespace

bool GpuSession::Ok(cupti::Result result, const char* what) {
  if (result == cupti::kSuccess) return true;
  const char* why = nullptr;
  if (library_.call.GetResultString(result, &why) != cupti::kSuccess || why == nullptr) why = "unknown error";
  char text[256];
  std::snprintf(text, sizeof text, "CUPTI refused %s: %s (%d)", what, why, static_cast<int>(result));
  notes_.Say(MessageLevel::kWarning, text);
  return false;
}

bool GpuSession::Start(uint64_t wanted, size_t buffer_limit_bytes, OnCudaReady on_cuda_ready) {
  wanted_ = wanted;
  on_cuda_ready_ = on_cuda_ready;
  buffers_.SetLimit(buffer_limit_bytes);
  if (!LoadCupti(library_)) {
    notes_.Say(MessageLevel::kWarning, library_.problem);
    return false;
  }
  g_session.store(this, std::memory_order_release);
  const cupti::Functions& call = library_.call;
  const cupti::Result subscribed = call.Subscribe(&subscriber_, OnCallback, this);
  if (subscribed == cupti::kErrorMultipleSubscribers) {
    notes_.Say(MessageLevel::kError,
               "another profiler owns CUPTI in this process (torch.profiler, nsys, ncu?): "
               "GPU work is not recorded, everything else is");
    return false;
  }
  if (!Ok(subscribed, "a subscriber")) return false;
  if (call.SetThreadIdType != nullptr)
    system_thread_ids_ = Ok(call.SetThreadIdType(cupti::kThreadIdSystem), "thread numbers of the system");
  if (call.ActivitySetAttribute != nullptr) {
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    Ok(call.ActivitySetAttribute(cupti::kPerThreadBuffer, &bytes, &yes), "buffers by thread");
    // It would clear each buffer on the program's thread. Where it does not know the wish it does so.
    bytes = sizeof yes;
    call.ActivitySetAttribute(cupti::kZeroedOutBuffer, &bytes, &yes);
  }
  for (const uint32_t id : {cupti::kContextCreated, cupti::kContextDestroyStarting, cupti::kInitFinished})
    Ok(call.EnableCallback(1, subscriber_, cupti::kResource, id), "callbacks for contexts");
  if (!Ok(call.ActivityRegisterCallbacks(OnBufferRequested, OnBufferCompleted), "activity buffers"))
    return false;
  apis_.Learn(call, (wanted & kWantAllApi) != 0);
  // Told once, when a context is made: whatever the window, and for good.
  Set(cupti::kDevice, "device facts", true);
  Set(cupti::kContext, "context facts", true);
  started_.store(true, std::memory_order_release);
  return true;
}

void GpuSession::Set(uint32_t kind, const char* name, bool on) {
  const cupti::Functions& call = library_.call;
  Ok(on ? call.ActivityEnable(kind) : call.ActivityDisable(kind), name);
}

// All calls first, then without those that are not listed: switched on one by one after
// CUDA's start, CUPTI 13.0 says yes and records nothing.
void GpuSession::EnableApi(int domain, uint32_t kind) {
  const bool runtime = domain == cupti::kRuntimeApi;
  Set(kind, runtime ? "runtime calls" : "driver calls", true);
  const auto filter =
      runtime ? library_.call.ActivityEnableRuntimeApi : library_.call.ActivityEnableDriverApi;
  if (filter == nullptr || (wanted_ & kWantAllApi) != 0) return;
  for (uint32_t id = 1; id <= apis_.last(domain); ++id) {
    // A call it cannot leave out is left out when its records are read.
    if (apis_.Name(domain, id) != nullptr && !apis_.Has(domain, id)) filter(id, 0);
  }
}

void GpuSession::Enable() {
  if (!started()) return;
  if ((wanted_ & kWantApi) != 0) {
    EnableApi(cupti::kRuntimeApi, cupti::kRuntime);
    EnableApi(cupti::kDriverApi, cupti::kDriver);
    Set(cupti::kExternalCorrelation, "external ids", true);
  }
  if ((wanted_ & kWantKernels) != 0) {
    Set(cupti::kConcurrentKernel, "kernels", true);
    Set(cupti::kMemcpy, "copies", true);
    Set(cupti::kMemcpyPeer, "peer copies", true);
    Set(cupti::kMemset, "memsets", true);
    Set(cupti::kOverhead, "its own overhead", true);
  }
  if ((wanted_ & kWantSync) != 0) Set(cupti::kSynchronization, "synchronisation", true);
  if ((wanted_ & kWantMemory) != 0) Set(cupti::kMemory2, "memory", true);
}

void GpuSession::Disable() {
  if (!started()) return;
  for (const uint32_t kind : {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kMemcpyPeer, cupti::kMemset,
                              cupti::kRuntime, cupti::kDriver, cupti::kExternalCorrelation,
                              cupti::kSynchronization, cupti::kMemory2, cupti::kOverhead})
    library_.call.ActivityDisable(kind);  // not all were on
}

void GpuSession::Flush(bool forced) {
  if (started()) library_.call.ActivityFlushAll(forced ? cupti::kFlushForced : 0);
}

bool GpuSession::ReadClock(ClockRecord& to) {
  if (!started()) return false;
  int64_t best_ns = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    ClockRecord pair{};
    uint64_t gpu_ns = 0;
    pair.monotonic_before_ns = MonotonicNs();
    const cupti::Result result = library_.call.GetTimestamp(&gpu_ns);
    pair.monotonic_after_ns = MonotonicNs();
    if (result != cupti::kSuccess || gpu_ns == 0) return false;
    pair.gpu_ns = static_cast<int64_t>(gpu_ns);
    pair.realtime_ns = RealtimeNs();
    const int64_t width_ns = pair.monotonic_after_ns - pair.monotonic_before_ns;
    if (width_ns >= best_ns) continue;
    best_ns = width_ns;
    to = pair;
  }
  return true;
}

void GpuSession::OnBufferRequested(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *buffer = nullptr;
  *bytes = 0;
  *max_records = 0;
  GpuSession* session = g_session.load(std::memory_order_acquire);
  if (session == nullptr) return;
  const int64_t from_ns = MonotonicNs();
  *buffer = session->buffers_.Give();
  *bytes = *buffer != nullptr ? ActivityBuffers::kBufferBytes : 0;
  session->callback_ns.fetch_add(MonotonicNs() - from_ns, std::memory_order_relaxed);
  session->callbacks.fetch_add(1, std::memory_order_relaxed);
}

void GpuSession::OnBufferCompleted(void* context, uint32_t stream, uint8_t* buffer, size_t,
                                   size_t valid_bytes) {
  GpuSession* session = g_session.load(std::memory_order_acquire);
  if (session == nullptr) return;
  const int64_t from_ns = MonotonicNs();
  if (buffer != nullptr) session->buffers_.Return(buffer, valid_bytes);
  size_t dropped = 0;
  if (session->library_.call.ActivityGetNumDroppedRecords(context, stream, &dropped) == cupti::kSuccess)
    session->buffers_.dropped.fetch_add(dropped, std::memory_order_relaxed);
  session->callback_ns.fetch_add(MonotonicNs() - from_ns, std::memory_order_relaxed);
  session->callbacks.fetch_add(1, std::memory_order_relaxed);
}

int GpuSession::DeviceOf(const void* resource) const {
  uint32_t device = 0;
  if (resource == nullptr || library_.call.GetDeviceId == nullptr) return 0;
  void* context = static_cast<const cupti::ResourceData*>(resource)->context;
  return library_.call.GetDeviceId(context, &device) == cupti::kSuccess ? static_cast<int>(device) : 0;
}

void GpuSession::OnCallback(void* user, int domain, uint32_t callback_id, const void* data) {
  auto* session = static_cast<GpuSession*>(user);
  if (session == nullptr || domain != cupti::kResource) return;
  if (callback_id == cupti::kContextDestroyStarting) session->Flush(true);
  if (callback_id == cupti::kInitFinished) session->on_cuda_ready_(-1);
  if (callback_id == cupti::kContextCreated) session->on_cuda_ready_(session->DeviceOf(data));
}

}  // namespace nl::capture
