// SPDX-License-Identifier: Apache-2.0
#include "serve/auth/throttle.h"

#include <algorithm>

namespace nl::auth {

namespace {

constexpr int64_t kSecond_ns = 1'000'000'000;
constexpr int kMostDoublings = 30;

}  // namespace

int64_t Throttle::WaitSeconds(const std::string& key, int64_t now_ns) const {
  const auto it = keys_.find(key);
  if (it == keys_.end() || it->second.until_ns <= now_ns) return 0;
  return (it->second.until_ns - now_ns + kSecond_ns - 1) / kSecond_ns;
}

void Throttle::Fail(const std::string& key, int64_t now_ns) {
  if (!keys_.contains(key)) MakeRoom(now_ns);
  Entry& entry = keys_[key];
  if (now_ns - entry.last_ns > limits_.forget_s * kSecond_ns) entry.failures = 0;
  entry.last_ns = now_ns;
  const int over = ++entry.failures - limits_.free_failures;
  if (over < 0) return;
  const int64_t wait_s = std::min(int64_t{1} << std::min(over, kMostDoublings), limits_.longest_wait_s);
  entry.until_ns = now_ns + wait_s * kSecond_ns;
}

void Throttle::Forgive(const std::string& key) {
  const auto it = keys_.find(key);
  if (it == keys_.end()) return;
  it->second.until_ns = 0;
  if (--it->second.failures <= 0) keys_.erase(it);
}

// Forgets what is old; when that is not enough, the key whose last failure is the oldest: the one under
// attack is the newest.
void Throttle::MakeRoom(int64_t now_ns) {
  if (keys_.size() < limits_.most_keys) return;
  std::erase_if(keys_,
                [&](const auto& one) { return now_ns - one.second.last_ns > limits_.forget_s * kSecond_ns; });
  if (keys_.size() < limits_.most_keys) return;
  keys_.erase(std::min_element(keys_.begin(), keys_.end(), [](const auto& a, const auto& b) {
    return a.second.last_ns < b.second.last_ns;
  }));
}

}  // namespace nl::auth
