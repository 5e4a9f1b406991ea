// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/gpu_session.h"

#include <unistd.h>
#include <cstring>

#include "capture/control.h"

namespace nl::capture {

namespace {

// CUPTI's buffer callbacks carry no pointer of ours; there is one session in a process.
std::atomic<GpuSession*> g_session{nullptr};

constexpr useconds_t kLaunchUs = 200;

thread_local bool t_seen = false;  // in threads_

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

bool GpuSession::Start(uint64_t wanted, size_t buffer_limit_bytes, OnCudaReady on_cuda_ready,
                       std::atomic<uint32_t>& wake) {
  wanted_ = wanted;
  on_cuda_ready_ = on_cuda_ready;
  buffers_.SetLimit(buffer_limit_bytes);
  if (!LoadCupti(library_)) {
    notes_.Say(MessageLevel::kWarning, library_.problem);
    return false;
  }
  const cupti::Functions& call = library_.call;
  may_leave_.store(call.Finalize != nullptr && call.EnableDomain != nullptr &&
                   library_.version >= cupti::kVersionThatLeaves);
  g_session.store(this, std::memory_order_release);
  if (!Attach()) return false;
  apis_.Learn(call, (wanted & kWantAllApi) != 0);
  if (!calls_.Start(library_, apis_, buffer_limit_bytes / 4, wake)) return false;
  started_.store(true, std::memory_order_release);
  return true;
}

bool GpuSession::Attach() {
  const cupti::Functions& call = library_.call;
  const cupti::Result subscribed = call.Subscribe(&subscriber_, OnCallback, this);
  if (subscribed == cupti::kErrorMultipleSubscribers) {
    if (!told_taken_)  // once, not for every window
      notes_.Say(MessageLevel::kError,
                 "another profiler owns CUPTI in this process (torch.profiler, nsys, ncu?): "
                 "GPU work is not recorded, everything else is");
    told_taken_ = true;
    return false;
  }
  if (!Ok(subscribed, "a subscriber")) return false;
  if (call.SetThreadIdType != nullptr)
    Ok(call.SetThreadIdType(cupti::kThreadIdSystem), "thread numbers of the system");
  if (call.ActivitySetAttribute != nullptr) {
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    Ok(call.ActivitySetAttribute(cupti::kPerThreadBuffer, &bytes, &yes), "buffers by thread");
    // It would clear each buffer on the program's thread. Where it does not know the wish it does so.
    bytes = sizeof yes;
    call.ActivitySetAttribute(cupti::kZeroedOutBuffer, &bytes, &yes);
  }
  for (const uint32_t id : {cupti::kContextCreated, cupti::kContextDestroyStarting, cupti::kInitFinished,
                            cupti::kGraphExecCreated})
    Ok(call.EnableCallback(1, subscriber_, cupti::kResource, id), "callbacks for contexts");
  if (!Ok(call.ActivityRegisterCallbacks(OnBufferRequested, OnBufferCompleted), "activity buffers")) {
    call.Unsubscribe(subscriber_);
    return false;
  }
  // Told once, when a context is made: whatever the window, and for good.
  Set(cupti::kDevice, "device facts", true);
  Set(cupti::kContext, "context facts", true);
  attachments_.fetch_add(1, std::memory_order_acq_rel);
  hold_.store(Hold::kHeld);
  return true;
}

// Every call's end is a chance to leave; on only until the next one.
bool GpuSession::WatchCalls(bool on) {
  for (const int domain : {cupti::kRuntimeApi, cupti::kDriverApi}) {
    if (library_.call.EnableDomain(on ? 1 : 0, subscriber_, domain) != cupti::kSuccess) return false;
  }
  return true;
}

bool GpuSession::MayLetGo() const {
  return started() && cuda_ready_.load() && may_leave_.load() && hold_.load() == Hold::kHeld;
}

void GpuSession::LetGo() {
  if (!MayLetGo()) return;
  const Inside inside(*this);
  hold_.store(Hold::kLeaving);
  if (!WatchCalls(true)) may_leave_.store(false);
}

bool GpuSession::Keep() {
  // A thread of the program may be at it, which takes milliseconds, or about to see that it may not.
  for (int i = 0; i < 20'000; ++i) {
    Hold hold = Hold::kLeaving;
    if (hold_.compare_exchange_strong(hold, Hold::kHeld)) return WatchCalls(false), true;
    if (hold != Hold::kFinalizing) return hold == Hold::kHeld;
    usleep(100);
  }
  return false;
}

void GpuSession::OnCall(int domain, uint32_t callback_id, const cupti::ApiData* data) {
  if (data == nullptr) return;
  if (!t_seen) {
    t_seen = true;
    if (threads_.fetch_add(1, std::memory_order_relaxed) > 0) may_leave_.store(false);
  }
  calls_.OnCallback(domain, callback_id, *data);
  if (hold_.load() != Hold::kLeaving) return;
  // A graph that was made while CUPTI was away.
  const char* name = apis_.Name(domain, callback_id);
  if (name != nullptr && std::strstr(name, "GraphLaunch") != nullptr) GraphsUsed();
  if (data->site == cupti::kApiExit) TakeOut();
}

// At the end of a CUDA call, on the program's thread.
void GpuSession::TakeOut() {
  Hold leaving = Hold::kLeaving;
  if (!hold_.compare_exchange_strong(leaving, Hold::kFinalizing)) return;
  // One of our threads is in CUPTI: the next call will do.
  if (inside_.load() != 0 || !may_leave_.load()) return hold_.store(Hold::kLeaving);
  const int64_t from_ns = MonotonicNs();
  const cupti::Result result = library_.call.Finalize();
  callback_ns.fetch_add(MonotonicNs() - from_ns, std::memory_order_relaxed);
  callbacks.fetch_add(1, std::memory_order_relaxed);
  if (result == cupti::kSuccess) return hold_.store(Hold::kAway);
  may_leave_.store(false);
  Ok(result, "to leave; it stays and costs the program's CUDA calls a little");
  WatchCalls(false);
  hold_.store(Hold::kHeld);
}

void GpuSession::Set(uint32_t kind, const char* name, bool on) {
  const cupti::Functions& call = library_.call;
  Ok(on ? call.ActivityEnable(kind) : call.ActivityDisable(kind), name);
}

bool GpuSession::Enable() {
  if (!started() || (!Keep() && !Attach())) return false;
  // First, and last off: a kernel that is recorded has its call.
  if ((wanted_ & (kWantApi | kWantSync)) != 0 && !calls_.SetOn(subscriber_, true))
    notes_.Say(MessageLevel::kWarning, "CUPTI refused callbacks for some CUDA calls: these are missing");
  if ((wanted_ & kWantKernels) != 0) {
    Set(cupti::kConcurrentKernel, "kernels", true);
    Set(cupti::kMemcpy, "copies", true);
    Set(cupti::kMemcpyPeer, "peer copies", true);
    Set(cupti::kMemset, "memsets", true);
    Set(cupti::kOverhead, "its own overhead", true);
  }
  if ((wanted_ & kWantMemory) != 0) Set(cupti::kMemory2, "memory", true);
  return true;
}

void GpuSession::Disable() {
  if (!started() || hold_.load() != Hold::kHeld) return;
  for (const uint32_t kind : {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kMemcpyPeer, cupti::kMemset,
                              cupti::kMemory2, cupti::kOverhead})
    library_.call.ActivityDisable(kind);  // not all were on
  if ((wanted_ & (kWantApi | kWantSync)) == 0) return;
  usleep(kLaunchUs);  // a launch that has given its kernel already comes to its end
  calls_.SetOn(subscriber_, false);
}

void GpuSession::Flush(bool forced) {
  if (!started()) return;
  if (const Inside inside(*this); inside.ok) library_.call.ActivityFlushAll(forced ? cupti::kFlushForced : 0);
}

bool GpuSession::ReadClock(ClockRecord& to) {
  if (!started()) return false;
  const Inside inside(*this);
  if (!inside.ok) return false;
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
  if (session == nullptr) return;
  if (domain == cupti::kRuntimeApi || domain == cupti::kDriverApi) {
    return session->OnCall(domain, callback_id, static_cast<const cupti::ApiData*>(data));
  }
  if (domain != cupti::kResource) return;
  if (callback_id == cupti::kContextDestroyStarting) session->Flush(true);
  if (callback_id == cupti::kGraphExecCreated) session->GraphsUsed();
  if (callback_id == cupti::kInitFinished || callback_id == cupti::kContextCreated) session->CudaReady();
  if (callback_id == cupti::kInitFinished) session->on_cuda_ready_(-1);
  if (callback_id == cupti::kContextCreated) session->on_cuda_ready_(session->DeviceOf(data));
}

}  // namespace nl::capture
