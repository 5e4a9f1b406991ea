// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/gpu_calls.h"

#include <pthread.h>

#include "capture/format/chunk_writer.h"

namespace nl::capture {

namespace {

// The call that this thread is in, the outermost of those that are recorded.
struct OpenCall {
  uint32_t window = 0;
  bool is = false;
  int domain = 0;
  uint32_t id = 0, correlation = 0;
  uint64_t start_ns = 0;
  int64_t cost_ns = -1;  // of the beginning, where this call is timed
};
thread_local OpenCall t_open_call;
thread_local void* t_call_ring = nullptr;
thread_local uint32_t t_call_owner = 0;  // whose ring that is: a forked child has another
std::atomic<uint32_t> g_call_owners{0};
thread_local uint32_t t_call_count = 0;

constexpr uint32_t kCallsTimedEvery = 64;

}  // namespace

bool GpuCalls::Start(const CuptiLibrary& library, const ApiList& apis, size_t memory_limit_bytes,
                     std::atomic<uint32_t>& wake) {
  cupti_ = &library.call;
  apis_ = &apis;
  memory_limit_bytes_ = memory_limit_bytes;
  wake_ = &wake;
  constexpr size_t kRingsAtLeast = 32;
  while (ring_calls_ > kLeastRingCalls && kRingsAtLeast * ring_calls_ * sizeof(GpuCall) > memory_limit_bytes)
    ring_calls_ /= 2;
  rings_.SetRingBytes(ring_calls_ * sizeof(GpuCall));
  number_ = g_call_owners.fetch_add(1, std::memory_order_relaxed) + 1;
  return pthread_key_create(&key_, OnThreadEnd) == 0;
}

bool GpuCalls::SetOn(void* subscriber, bool on) {
  bool fine = true;
  if (on) window_.fetch_add(1, std::memory_order_acq_rel);
  on_.store(on, std::memory_order_release);
  for (const int domain : {cupti::kRuntimeApi, cupti::kDriverApi}) {
    for (uint32_t id = 1; id <= apis_->last(domain); ++id) {
      if (apis_->Has(domain, id) &&
          cupti_->EnableCallback(on ? 1 : 0, subscriber, domain, id) != cupti::kSuccess)
        fine = false;
    }
  }
  return fine;
}

void GpuCalls::OnThreadEnd(void* ring) {
  t_call_ring = nullptr;  // destructors of other keys may still call CUDA; they have no ring any more
  static_cast<Ring*>(ring)->thread_ended.store(true, std::memory_order_release);
}

GpuCalls::Ring* GpuCalls::RingOfThread() {
  if (t_call_owner == number_) return static_cast<Ring*>(t_call_ring);
  t_call_owner = number_;
  Ring* ring = rings_.Acquire(CurrentTid(), memory_limit_bytes_);
  t_call_ring = ring;
  if (ring != nullptr) pthread_setspecific(key_, ring);
  return ring;
}

void GpuCalls::Put(GpuCall call) {
  Ring* ring = RingOfThread();
  if (ring == nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint64_t head = ring->head.load(std::memory_order_relaxed);
  if (head - ring->seen_tail >= ring_calls_ / 2) ring->seen_tail = ring->tail.load(std::memory_order_acquire);
  const uint64_t waiting = head - ring->seen_tail;
  if (waiting >= ring_calls_) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  call.api.tid = call.api.cupti_tid = ring->tid.load(std::memory_order_relaxed);
  ring->calls()[head & (ring_calls_ - 1)] = call;
  ring->head.store(head + 1, std::memory_order_release);
  if (waiting != ring_calls_ / 2) return;
  wake_->fetch_add(1, std::memory_order_release);
  WakeAll(*wake_);
}

// The first argument of those calls that wait for a stream, or have one wait.
uint32_t GpuCalls::StreamWaitedFor(int domain, uint32_t callback_id, const cupti::ApiData& data) const {
  const cupti::Wait wait = apis_->WaitOf(domain, callback_id);
  uint32_t stream = kNoStream;
  if ((wait != cupti::Wait::kStream && wait != cupti::Wait::kStreamForEvent) ||
      cupti_->GetStreamIdEx == nullptr || data.arguments == nullptr)
    return kNoStream;
  void* handle = *static_cast<void* const*>(data.arguments);
  const bool of_thread = apis_->IsOfThreadsStream(domain, callback_id);
  return cupti_->GetStreamIdEx(data.context, handle, of_thread ? 1 : 0, &stream) == cupti::kSuccess
             ? stream
             : kNoStream;
}

void GpuCalls::OnCallback(int domain, uint32_t callback_id, const cupti::ApiData& data) {
  if (!on_.load(std::memory_order_acquire)) return;
  const uint32_t window = window_.load(std::memory_order_relaxed);
  OpenCall& open = t_open_call;
  if (data.site != cupti::kApiExit) {
    if (open.is && open.window == window) return;
    const int64_t from_ns = ++t_call_count % kCallsTimedEvery == 0 ? MonotonicNs() : 0;
    open = {window, true, domain, callback_id, data.correlation, 0, -1};
    if (from_ns != 0) open.cost_ns = MonotonicNs() - from_ns;
    if (cupti_->GetTimestamp(&open.start_ns) != cupti::kSuccess) open.start_ns = 0;
    return;
  }
  if (!open.is || open.window != window || open.domain != domain || open.id != callback_id ||
      open.correlation != data.correlation)
    return;
  uint64_t end_ns = 0;
  if (cupti_->GetTimestamp(&end_ns) != cupti::kSuccess) end_ns = 0;
  const int64_t from_ns = open.cost_ns >= 0 ? MonotonicNs() : 0;
  open.is = false;
  if (!apis_->Has(domain, callback_id)) return;  // of all calls, while CUPTI is about to leave
  GpuCall call{};
  call.api.start_ns = static_cast<int64_t>(open.start_ns);
  call.api.end_ns = static_cast<int64_t>(end_ns);
  call.api.callback_id = callback_id;
  call.api.domain = static_cast<uint16_t>(domain);
  call.api.correlation = data.correlation;
  if (data.return_value != nullptr) call.api.return_value = *static_cast<const uint32_t*>(data.return_value);
  call.context = data.context_id;
  call.stream = StreamWaitedFor(domain, callback_id, data);
  Put(call);
  if (from_ns == 0) return;
  timed_ns_.fetch_add(open.cost_ns + MonotonicNs() - from_ns, std::memory_order_relaxed);
  timed_.fetch_add(1, std::memory_order_relaxed);
}

uint64_t GpuCalls::calls() const {
  uint64_t sum = 0;
  rings_.ForEach([&sum](const Ring& ring) { sum += ring.head.load(std::memory_order_relaxed); });
  return sum;
}

int64_t GpuCalls::cost_ns() const {
  const auto timed = static_cast<double>(timed_.load(std::memory_order_relaxed));
  if (timed == 0) return 0;
  return static_cast<int64_t>(static_cast<double>(timed_ns_.load(std::memory_order_relaxed)) / timed *
                              static_cast<double>(calls()));
}

}  // namespace nl::capture
