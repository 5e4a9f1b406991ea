// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/host_ring.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace nl::capture {

bool HostRing::Put(HostEvent event, std::string_view text, std::string_view payload_text, bool& half_full) {
  // One byte more than is kept tells the writer that the text was cut.
  text = text.substr(0, kMaxStringBytes + 1);
  payload_text = payload_text.substr(0, kMaxStringBytes + 1);
  event.text_bytes = static_cast<uint32_t>(text.size());
  event.payload_bytes = static_cast<uint32_t>(payload_text.size());
  const uint32_t bytes =
      (8 + static_cast<uint32_t>(sizeof event + text.size() + payload_text.size()) + 7) & ~7u;
  uint64_t head = head_.load(std::memory_order_relaxed);
  const uint64_t tail = tail_.load(std::memory_order_acquire);
  uint32_t at = static_cast<uint32_t>(head % kBytes);
  const uint32_t skipped = kBytes - at < bytes ? kBytes - at : 0;
  if (head - tail + skipped + bytes > kBytes) {
    refused.fetch_add(1, std::memory_order_relaxed);
    half_full = true;
    return false;
  }
  if (skipped > 0) {
    std::memcpy(data + at, &kWrap, sizeof kWrap);
    head += skipped;
    at = 0;
  }
  unsigned char* to = data + at;
  std::memcpy(to, &bytes, sizeof bytes);
  std::memcpy(to + 8, &event, sizeof event);
  to += 8 + sizeof event;
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  if (!payload_text.empty()) std::memcpy(to + text.size(), payload_text.data(), payload_text.size());
  const uint64_t before = head - tail;
  head_.store(head + bytes, std::memory_order_release);
  half_full = before < kBytes / 2 && before + bytes >= kBytes / 2;
  return true;
}

RingSet::~RingSet() {
  ForEach([](HostRing& ring) {
    std::free(ring.data);
    std::free(&ring);  // nothing in it needs a destructor
  });
}

HostRing* RingSet::Acquire(uint32_t tid, size_t memory_limit_bytes) {
  const Locked lock(mutex_);
  const uint32_t count = count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t none = 0;
    if (!rings_[i]->tid.compare_exchange_strong(none, tid, std::memory_order_acq_rel)) continue;
    std::memset(rings_[i]->depth, 0, sizeof rings_[i]->depth);
    return rings_[i];
  }
  if (count == kMost || memory_bytes() + HostRing::kBytes > memory_limit_bytes) return nullptr;
  void* place = std::malloc(sizeof(HostRing));
  auto* data = static_cast<unsigned char*>(std::malloc(HostRing::kBytes));
  if (place == nullptr || data == nullptr) {
    std::free(place);
    std::free(data);
    return nullptr;
  }
  auto* ring = new (place) HostRing;
  ring->data = data;
  ring->tid.store(tid, std::memory_order_relaxed);
  rings_[count] = ring;
  count_.store(count + 1, std::memory_order_release);
  return ring;
}

}  // namespace nl::capture
