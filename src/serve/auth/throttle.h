// SPDX-License-Identifier: Apache-2.0
#pragma once
// Throttle: how long a key (a name or an address) has to wait after failures. The first few are free; then
// the wait doubles with each. Thread rule: one thread at a time; times are given, so that tests need no
// clock.

#include <cstdint>
#include <string>
#include <unordered_map>

namespace nl::auth {

struct ThrottleLimits {
  int free_failures = 5;
  int64_t longest_wait_s = 60;
  int64_t forget_s = 3600;  // after the last failure
  size_t most_keys = 10'000;
};

class Throttle {
 public:
  explicit Throttle(ThrottleLimits limits) : limits_(limits) {}

  // Seconds until `key` may try again; 0: now.
  int64_t WaitSeconds(const std::string& key, int64_t now_ns) const;
  void Fail(const std::string& key, int64_t now_ns);
  void Succeed(const std::string& key) { keys_.erase(key); }
  // Takes the last failure back.
  void Forgive(const std::string& key);
  size_t keys() const { return keys_.size(); }

 private:
  struct Entry {
    int failures = 0;
    int64_t last_ns = 0, until_ns = 0;
  };
  void MakeRoom(int64_t now_ns);

  const ThrottleLimits limits_;
  std::unordered_map<std::string, Entry> keys_;
};

}  // namespace nl::auth
