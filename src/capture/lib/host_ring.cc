// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/host_ring.h"

#include <cstring>

namespace nl::capture {

bool HostRing::Put(HostEvent event, std::string_view text, std::string_view payload_text, bool& half_full) {
  // One byte more than is kept tells the writer that the text was cut.
  text = text.substr(0, kMaxStringBytes + 1);
  payload_text = payload_text.substr(0, kMaxStringBytes + 1);
  event.text_bytes = static_cast<uint32_t>(text.size());
  event.payload_bytes = static_cast<uint32_t>(payload_text.size());
  const bool is_short = event.id == 0 && event.domain == nullptr && event.name == nullptr &&
                        event.category == 0 && event.color == 0 && payload_text.empty();
  const uint32_t event_bytes = is_short ? kShortEventBytes : sizeof event;
  const uint32_t bytes =
      (8 + static_cast<uint32_t>(event_bytes + text.size() + payload_text.size()) + 7) & ~7u;
  uint64_t head = head_.load(std::memory_order_relaxed);
  // Half of it is free as of the last look: no need for another, which would fetch the writer's line.
  if (head - seen_tail_ + bytes > kBytes / 2) seen_tail_ = tail_.load(std::memory_order_acquire);
  const uint64_t tail = seen_tail_;
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
  std::memcpy(to + 4, &event_bytes, sizeof event_bytes);
  std::memcpy(to + 8, &event, event_bytes);
  to += 8 + event_bytes;
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  if (!payload_text.empty()) std::memcpy(to + text.size(), payload_text.data(), payload_text.size());
  const uint64_t before = head - tail;
  head_.store(head + bytes, std::memory_order_release);
  half_full = before < kBytes / 2 && before + bytes >= kBytes / 2;
  return true;
}

}  // namespace nl::capture
