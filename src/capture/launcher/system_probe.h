// SPDX-License-Identifier: Apache-2.0
#pragma once
// SystemProbe: reads the description of the machine (machine/system.h) beside a recording. NVML may take a
// second, or hang with a broken driver: the recorded program waits for neither.
// Thread rule: one thread, which is not the one that reads. Ownership: a thread that hangs keeps the result
// alive and ends with the process.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace nl::capture {

class SystemProbe {
 public:
  void Start();
  // The JSON, once; nothing when it is not there within `wait`, was taken before, or was never started.
  std::optional<std::string> Take(std::chrono::milliseconds wait = {});
  bool is_pending() const { return shared_ != nullptr; }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable done;
    std::optional<std::string> json;
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace nl::capture
