// SPDX-License-Identifier: Apache-2.0
#pragma once
// CounterSession: what is counted rather than traced: hardware counters of the devices this
// process uses (PmDevice) and their clocks (NvmlClocks), taken by a thread of its own while
// recording is on. Counters are sampled in bursts, one device at a time, and as many of them
// as a tenth of a core can read; each comes at a time of its own, so that what repeats in the
// program is not met at the same place again and again.
// While recording is off for longer it has nothing of CUPTI, which may then leave.
// Whatever cannot be had is said once, and the rest goes on.
// Thread rule: Start once; SetOn by one thread at a time; DevicesUsed, HasLetGo and End from any thread;
// queue().TakeInto and TakeMissed by the writer thread. The thread is its own and ends with End.

#include <atomic>
#include <cstdint>

#include "capture/lib/counter_queue.h"
#include "capture/lib/cupti_library.h"
#include "capture/lib/nvml.h"
#include "capture/lib/pm_device.h"

namespace nl::capture {

class CounterSession {
 public:
  static constexpr uint32_t kMostDevices = 64;
  // Recording is off for this long before CUPTI is released.
  static constexpr int64_t kRestNs = 200'000'000;

  explicit CounterSession(Notes& notes) : notes_(notes), clocks_(notes, queue_) {}

  // Starts the thread, which waits for a device to be used. It takes a tenth of a core for the counters, or
  // `most_cpu_share` where that is less and not 0. `guard_exit` as in PmLibrary.
  void Start(const CuptiLibrary& cupti, bool counters, bool clocks, uint32_t interval_us,
             double most_cpu_share, void (*guard_exit)());
  void SetOn(bool on);
  void DevicesUsed(uint64_t bits);
  // Recording is off, and the thread has nothing of CUPTI until it is on again.
  bool HasLetGo() const;
  // Stops sampling and reads what is left; gives up at that time.
  void End(int64_t give_up_ns);

  CounterQueue& queue() { return queue_; }
  uint64_t TakeMissed() { return missed_.exchange(0, std::memory_order_relaxed); }
  int64_t cpu_ns() const { return cpu_ns_.load(std::memory_order_relaxed); }

 private:
  static void* Main(void* self);
  void Loop();
  void OpenDevices();
  void WakeDevices();
  // Gives the time at which it will, or has nothing more to do.
  int64_t LetGo(int64_t now_ns, uint32_t offs);
  // Gives the time of the next one.
  int64_t Turn(int64_t now_ns);
  void StartBurst(int64_t now_ns);
  void FinishBurst();
  void Wake();

  Notes& notes_;
  CounterQueue queue_;
  const CuptiLibrary* cupti_ = nullptr;
  PmLibrary library_;
  NvmlClocks clocks_;
  bool want_counters_ = false, want_clocks_ = false;
  uint32_t interval_us_ = 0;
  double most_cpu_share_ = 0;
  PmDevice* devices_[kMostDevices] = {};
  uint32_t device_count_ = 0, next_set_ = 1;
  uint64_t opened_ = 0;  // bits of devices
  int64_t off_since_ns_ = 0;
  PmDevice* sampled_ = nullptr;  // in a burst
  uint32_t next_device_ = 0, random_ = 1;
  int64_t clocks_read_ns_ = 0, burst_ns_ = 0, burst_cpu_ns_ = 0, next_burst_ns_ = 0;

  std::atomic<uint64_t> used_{0};  // bits of devices
  std::atomic<bool> started_{false}, on_{false}, end_{false};
  std::atomic<uint32_t> wake_{0}, ended_{0};
  std::atomic<uint32_t> offs_{0}, let_go_{0};  // times it was switched off; of these answered
  std::atomic<uint64_t> missed_{0};
  std::atomic<int64_t> cpu_ns_{0};
};

}  // namespace nl::capture
