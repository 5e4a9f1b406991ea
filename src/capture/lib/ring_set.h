// SPDX-License-Identifier: Apache-2.0
#pragma once
// RingSet: one ring for each thread of the program, bounded in number and memory. A thread puts into its own
// ring and the writer thread takes from all of them: no locks, no memory asked for on the way. The ring of
// an ended thread goes to the next one when everything in it was taken.
// Thread rule: as said at each function. Ownership: rings live as long as their set.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>

#include "capture/lib/system.h"

namespace nl::capture {

// What one side of a ring writes lies on lines of its own: a line that both write travels between cores with
// every event. Two, as processors fetch them in pairs.
inline constexpr size_t kOwnLines = 128;

// What every kind of ring has; the kinds derive from it.
struct ThreadRing {
  std::atomic<uint32_t> tid{0};  // 0: free
  std::atomic<bool> thread_ended{false};
  unsigned char* data = nullptr;  // as many bytes as the set gives each ring

  // By the new owner of a used ring.
  void BeginThread() {}
};

template <class Ring, uint32_t kMost>
class RingSet {
 public:
  explicit RingSet(size_t ring_bytes) : ring_bytes_(ring_bytes) {}
  ~RingSet() {
    ForEach([](Ring& ring) {
      std::free(ring.data);
      std::free(&ring);
    });
  }
  RingSet(const RingSet&) = delete;
  RingSet& operator=(const RingSet&) = delete;

  // Before the first ring is acquired.
  void SetRingBytes(size_t bytes) { ring_bytes_.store(bytes, std::memory_order_relaxed); }
  // By any thread: a ring for it; null when the limit in number or memory is reached.
  Ring* Acquire(uint32_t tid, size_t memory_limit_bytes) {
    const Locked lock(mutex_);
    const uint32_t count = count_.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t none = 0;
      if (!rings_[i]->tid.compare_exchange_strong(none, tid, std::memory_order_acq_rel)) continue;
      rings_[i]->BeginThread();
      return rings_[i];
    }
    if (count == kMost || memory_bytes() + ring_bytes() > memory_limit_bytes) return nullptr;
    Ring* ring = Make();
    if (ring == nullptr) return nullptr;
    ring->tid.store(tid, std::memory_order_relaxed);
    rings_[count] = ring;
    count_.store(count + 1, std::memory_order_release);
    return ring;
  }

  template <class Each>  // by any thread
  void ForEach(Each&& each) const {
    const uint32_t count = count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count; ++i) each(*rings_[i]);
  }
  // By the writer thread: `each` takes everything out of the ring it is given.
  template <class Each>
  void Drain(Each&& each) {
    ForEach([&](Ring& ring) {
      // Read before what is in it: a thread that ended has put its last.
      const bool ended = ring.thread_ended.load(std::memory_order_acquire);
      each(ring);
      if (!ended) return;
      ring.thread_ended.store(false, std::memory_order_relaxed);
      ring.tid.store(0, std::memory_order_release);  // for the next thread
    });
  }
  size_t memory_bytes() const { return count_.load(std::memory_order_relaxed) * ring_bytes(); }

 private:
  size_t ring_bytes() const { return ring_bytes_.load(std::memory_order_relaxed); }
  Ring* Make() const {
    static_assert(std::is_trivially_destructible_v<Ring>);
    void* place = std::aligned_alloc(alignof(Ring), sizeof(Ring));
    auto* data = static_cast<unsigned char*>(std::malloc(ring_bytes()));
    if (place == nullptr || data == nullptr) {
      std::free(place);
      std::free(data);
      return nullptr;
    }
    auto* ring = new (place) Ring;
    ring->data = data;
    return ring;
  }

  std::atomic<size_t> ring_bytes_;  // the writer asks for memory_bytes() before the size is set
  Mutex mutex_;
  Ring* rings_[kMost] = {};
  std::atomic<uint32_t> count_{0};
};

}  // namespace nl::capture
