// SPDX-License-Identifier: Apache-2.0
#pragma once
// GpuCalls: the program's CUDA calls, taken by callbacks for the calls on the list. CUPTI's own
// records of calls (the kinds RUNTIME and DRIVER) would have every call of the program go through
// CUPTI, also those that only ask, and SYNCHRONIZATION likewise: twice the cost of a launch.
// A driver call that a runtime call makes is part of that one. Times are CUPTI's, as kernels have them.
// A full ring refuses and counts.
// Thread rule: Start once; SetOn by one thread at a time; OnCallback from any thread; Take by the
// writer thread. No lock is held over a call of CUPTI.

#include <atomic>
#include <cstdint>

#include "capture/format/gpu_records.h"
#include "capture/lib/api_list.h"
#include "capture/lib/cupti_library.h"
#include "capture/lib/ring_set.h"

namespace nl::capture {

struct GpuCall {
  ApiRecord api;  // without its name
  uint32_t context;
  uint32_t stream;  // that it waits for; kNoStream
};

class GpuCalls {
 public:
  static constexpr uint32_t kMostRingCalls = 1u << 15, kLeastRingCalls = 1u << 8;
  static constexpr uint32_t kMostRings = 256;

  // Rings are made smaller where the limit is low, so that a few dozen threads have one. `wake` is raised,
  // and its sleepers woken, when a ring is half full.
  bool Start(const CuptiLibrary& library, const ApiList& apis, size_t memory_limit_bytes,
             std::atomic<uint32_t>& wake);
  // False: CUPTI refused a callback.
  bool SetOn(void* subscriber, bool on);
  void OnCallback(int domain, uint32_t callback_id, const cupti::ApiData& data);

  // Calls each(call) for what is there.
  template <class Each>
  void Take(Each&& each);
  size_t memory_bytes() const { return rings_.memory_bytes(); }
  // Of calls that did not fit or whose thread has no ring, since the last time.
  uint64_t TakeRefused() { return refused_.exchange(0, std::memory_order_relaxed); }
  // Time in our callbacks: one call in 64 is timed, and stands for the others.
  int64_t cost_ns() const;
  uint64_t calls() const;

 private:
  struct Ring : ThreadRing {
    GpuCall* calls() const { return reinterpret_cast<GpuCall*>(data); }
    alignas(kOwnLines) std::atomic<uint64_t> head{0};  // calls ever put
    uint64_t seen_tail = 0;                            // the owner's last look at tail
    alignas(kOwnLines) std::atomic<uint64_t> tail{0};  // calls ever taken
  };
  Ring* RingOfThread();
  static void OnThreadEnd(void* ring);
  void Put(GpuCall call);
  uint32_t StreamWaitedFor(int domain, uint32_t callback_id, const cupti::ApiData& data) const;

  const cupti::Functions* cupti_ = nullptr;
  const ApiList* apis_ = nullptr;
  std::atomic<uint32_t>* wake_ = nullptr;
  size_t memory_limit_bytes_ = 0;
  size_t ring_calls_ = kMostRingCalls;  // a power of two
  uint32_t number_ = 0;                 // 1, 2, ... in the process and those it was forked from
  pthread_key_t key_ = 0;
  RingSet<Ring, kMostRings> rings_{kMostRingCalls * sizeof(GpuCall)};
  std::atomic<uint32_t> window_{0};  // times it went on; 0 is never
  std::atomic<bool> on_{false};
  std::atomic<uint64_t> refused_{0}, timed_{0};
  std::atomic<int64_t> timed_ns_{0};
};

template <class Each>
void GpuCalls::Take(Each&& each) {
  rings_.Drain([&](Ring& ring) {
    const uint64_t head = ring.head.load(std::memory_order_acquire);
    uint64_t tail = ring.tail.load(std::memory_order_relaxed);
    for (; tail < head; ++tail) {
      each(ring.calls()[tail & (ring_calls_ - 1)]);
      if (tail % 1024 == 0) ring.tail.store(tail + 1, std::memory_order_release);
    }
    ring.tail.store(tail, std::memory_order_release);
  });
}

}  // namespace nl::capture
