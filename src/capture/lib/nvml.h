// SPDX-License-Identifier: Apache-2.0
#pragma once
// NvmlClocks: clocks, power and temperature of the devices a program uses, as the driver's
// management library (NVML) says them, put into the queue as readings. Loaded at run time.
// Thread rule: one thread (CounterSession's). Ownership: NVML stays loaded.

#include <cstdint>

#include "capture/lib/counter_queue.h"
#include "capture/lib/notes.h"

namespace nl::capture {

class NvmlClocks {
 public:
  static constexpr uint32_t kMostDevices = 64;

  NvmlClocks(Notes& notes, CounterQueue& queue) : notes_(notes), queue_(queue) {}
  // Takes up a device by its number in CUDA; its set gets that id.
  void Add(uint32_t device, uint32_t set_id, uint32_t interval_ms);
  void Read();

 private:
  using Handle = void*;
  struct Functions {
    int (*Init)();
    int (*ByPciBusId)(const char* id, Handle*);
    int (*ByIndex)(unsigned index, Handle*);
    int (*ClockInfo)(Handle, int clock, unsigned* mhz);
    int (*PowerUsage)(Handle, unsigned* mw);                    // may be missing
    int (*Temperature)(Handle, int sensor, unsigned* celsius);  // may be missing
    int (*LimitReasons)(Handle, unsigned long long* reasons);   // may be missing
    const char* (*ErrorString)(int);                            // may be missing
  };
  bool Load();
  bool Find(uint32_t device, Handle& handle);
  void Say(const char* what, int result);

  Notes& notes_;
  CounterQueue& queue_;
  Functions call_{};
  bool tried_ = false, loaded_ = false;
  struct Device {
    Handle handle;
    uint32_t set;
  };
  Device devices_[kMostDevices] = {};
  uint32_t count_ = 0;
};

}  // namespace nl::capture
