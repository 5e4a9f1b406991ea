// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <fmt/format.h>

namespace nl {
namespace {

uint64_t Random64() {
  uint64_t value = 0;
  for (;;) {
    const ssize_t got = getrandom(&value, sizeof value, 0);
    if (got == static_cast<ssize_t>(sizeof value)) return value;
    if (got < 0 && errno != EINTR) break;
  }
  // Only a sandbox that forbids getrandom comes here; ids must still differ between processes.
  static uint64_t calls = 0;
  uint64_t x = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  x += (static_cast<uint64_t>(getpid()) << 32) + 0x9e3779b97f4a7c15u * ++calls;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The 122 free bits, ordered as they appear in the text.
struct Bits {
  uint64_t unix_ms = 0;  // 48
  uint64_t high = 0;     // 12
  uint64_t low = 0;      // 62
};

constexpr uint64_t kHighMask = (uint64_t{1} << 12) - 1;
constexpr uint64_t kLowMask = (uint64_t{1} << 62) - 1;
constexpr uint64_t kStepMask = (uint64_t{1} << 40) - 1;

// A random step keeps ids unguessable, and apart from those of a forked child that inherited `last`.
void Advance(Bits& last) {
  last.low += (Random64() & kStepMask) + 1;
  if (last.low <= kLowMask) return;
  last.low &= kLowMask;
  if (++last.high <= kHighMask) return;
  last.high = 0;
  ++last.unix_ms;
}

Bits Next() {
  static std::mutex mutex;
  static Bits last;
  const std::lock_guard lock(mutex);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto unix_ms =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  if (unix_ms > last.unix_ms) {
    last = {unix_ms, Random64() & kHighMask, Random64() & kLowMask};
  } else {
    Advance(last);
  }
  return last;
}

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string NewUuidV7() {
  const Bits bits = Next();
  return fmt::format("{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}", (bits.unix_ms >> 16) & 0xffffffffu,
                     bits.unix_ms & 0xffffu, bits.high, 0x8000u | (bits.low >> 48),
                     bits.low & ((uint64_t{1} << 48) - 1));
}

bool IsUuidV7(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !IsLowerHex(text[i])) return false;
  }
  const char variant = text[19];
  return text[14] == '7' && (variant == '8' || variant == '9' || variant == 'a' || variant == 'b');
}

}  // namespace nl
