// SPDX-License-Identifier: Apache-2.0
#pragma once
// HostRing: what one thread of the program said (NVTX calls, calls of the Python package),
// on its way to the writer thread. A full ring refuses and counts.
// Thread rule: as said at each function.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "capture/format/records.h"
#include "capture/lib/ring_set.h"

namespace nl::capture {

// A name that the program registered; never freed, so that records may point to it.
struct KeptName {
  const char* text;
  uint32_t bytes;
  uint32_t number;  // of domains: 1, 2, ...
};

enum class HostWhat : uint8_t {
  kPush = 1,
  kPop = 2,
  kStart = 3,
  kEnd = 4,
  kMark = 5,
  kNameThread = 6,    // id: thread
  kNameCategory = 7,  // category: number
  kObserved = 8,      // payload: ObservedOps
};

enum class HostSource : uint8_t {
  kNvtx,
  kPackage,  // the Python package
  kTorch,    // our observer in PyTorch; payload (kInt): the operator's sequence number, if it has one
};

// Bits of what is observed of PyTorch's operators from now on; none: nothing.
enum ObservedOps : uint64_t { kObservedNames = 1, kObservedShapes = 2 };

struct HostEvent {
  // What operators of PyTorch have, most of all events by far: they are put with no more than this.
  int64_t time_ns = 0;
  uint64_t payload = 0;
  uint32_t text_bytes = 0;
  uint32_t depth = 0;
  HostWhat what = HostWhat::kMark;
  PayloadType payload_type = PayloadType::kNone;
  HostSource source = HostSource::kNvtx;
  uint8_t reserved[5] = {};
  // The rest.
  uint64_t id = 0;
  const KeptName* domain = nullptr;
  const KeptName* name = nullptr;  // null: the text after the event
  uint32_t category = 0;
  uint32_t color = 0;
  uint32_t payload_bytes = 0;  // of a text payload, after the text
};
inline constexpr size_t kShortEventBytes = offsetof(HostEvent, id);

class HostRing : public ThreadRing {
 public:
  static constexpr uint32_t kBytes = 2u << 20;
  static constexpr uint32_t kDomains = 32;

  // By the owning thread. The texts are copied. False: full, counted. `half_full` is set
  // when the writer should be woken.
  bool Put(HostEvent event, std::string_view text, std::string_view payload_text, bool& half_full);
  // By the writer thread: calls each(event, text, payload text) for what is there.
  template <class Each>
  size_t Take(Each&& each);

  // The ranges of the thread before are not open in this one.
  void BeginThread() { __builtin_memset(depth, 0, sizeof depth); }

  // The owner's: events so far; the number of this one.
  uint64_t CountPut() {
    const uint64_t count = puts_.load(std::memory_order_relaxed);
    puts_.store(count + 1, std::memory_order_relaxed);
    return count;
  }
  // The writer's: events since it last asked.
  uint64_t TakePuts() {
    const uint64_t puts = puts_.load(std::memory_order_relaxed), before = puts_taken_;
    puts_taken_ = puts;
    return puts - before;
  }

  alignas(kOwnLines) std::atomic<uint64_t> refused{0};  // events that did not fit; the writer takes them away
  std::atomic<int64_t> cost_ns{0};                      // of every 64th event, measured
  std::atomic<uint64_t> costs{0};                       // how many were measured
  int32_t depth[kDomains] = {};                         // of open ranges by domain number; the owner's
  uint32_t window = 0;                                  // in which the depths hold; the owner's

 private:
  static constexpr uint32_t kWrap = 0xffffffff;
  std::atomic<uint64_t> puts_{0};
  std::atomic<uint64_t> head_{0};                     // bytes ever put
  uint64_t seen_tail_ = 0;                            // the owner's last look at tail_
  alignas(kOwnLines) std::atomic<uint64_t> tail_{0};  // bytes ever taken
  uint64_t puts_taken_ = 0;
};

using HostRings = RingSet<HostRing, 512>;

template <class Each>
size_t HostRing::Take(Each&& each) {
  uint64_t tail = tail_.load(std::memory_order_relaxed);
  const uint64_t head = head_.load(std::memory_order_acquire);
  size_t taken = 0;
  while (tail < head) {
    const uint32_t at = static_cast<uint32_t>(tail % kBytes);
    uint32_t bytes;
    __builtin_memcpy(&bytes, data + at, sizeof bytes);
    if (bytes == kWrap) {
      tail += kBytes - at;
      continue;
    }
    uint32_t event_bytes;
    __builtin_memcpy(&event_bytes, data + at + 4, sizeof event_bytes);
    HostEvent event;
    __builtin_memcpy(&event, data + at + 8, event_bytes);
    const char* text = reinterpret_cast<const char*>(data + at + 8 + event_bytes);
    each(event, std::string_view(text, event.text_bytes),
         std::string_view(text + event.text_bytes, event.payload_bytes));
    tail += bytes;
    if (++taken % 256 == 0) tail_.store(tail, std::memory_order_release);
  }
  tail_.store(tail, std::memory_order_release);
  return taken;
}

}  // namespace nl::capture
