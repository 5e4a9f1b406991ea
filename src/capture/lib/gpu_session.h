// SPDX-License-Identifier: Apache-2.0
#pragma once
// GpuSession: CUPTI in this process: loaded, subscribed to, told what to record, flushed.
// Whatever CUPTI refuses is said (Notes) and the rest goes on; if it refuses to be used at
// all, because another profiler owns it, the session stays off.
// Thread rule: Start once; Enable and Disable by one thread at a time (Recorder sees to
// that); Flush and ReadClock from any thread. No lock of ours is held over a call of CUPTI.

#include <atomic>
#include <cstdint>

#include "capture/format/records.h"
#include "capture/lib/activity.h"
#include "capture/lib/api_list.h"
#include "capture/lib/cupti_library.h"
#include "capture/lib/notes.h"

namespace nl::capture {

class GpuSession {
 public:
  explicit GpuSession(Notes& notes) : notes_(notes) {}

  // `on_cuda_ready` is called once CUDA is initialised (with -1) and with the device of every
  // context that is made: CUDA's exit handlers are registered then, and ours may be put in
  // front of them.
  using OnCudaReady = void (*)(int device);
  bool Start(uint64_t wanted, size_t buffer_limit_bytes, OnCudaReady on_cuda_ready);
  bool started() const { return started_.load(std::memory_order_acquire); }

  void Enable();
  void Disable();
  void Flush(bool forced);
  // The GPU clock between two readings of the host's, the narrowest of a few.
  bool ReadClock(ClockRecord& to);

  const CuptiLibrary& library() const { return library_; }
  const ApiList& apis() const { return apis_; }
  ActivityBuffers& buffers() { return buffers_; }
  bool system_thread_ids() const { return system_thread_ids_; }
  // Time spent on the program's threads in our callbacks.
  std::atomic<int64_t> callback_ns{0};
  std::atomic<uint64_t> callbacks{0};

 private:
  static void OnBufferRequested(uint8_t** buffer, size_t* bytes, size_t* max_records);
  static void OnBufferCompleted(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                                size_t valid_bytes);
  static void OnCallback(void* user, int domain, uint32_t callback_id, const void* data);
  bool Ok(cupti::Result result, const char* what);
  void EnableApi(int domain, uint32_t kind);
  int DeviceOf(const void* resource) const;
  void Set(uint32_t kind, const char* name, bool on);

  Notes& notes_;
  CuptiLibrary library_;
  ApiList apis_;
  ActivityBuffers buffers_;
  uint64_t wanted_ = 0;
  void* subscriber_ = nullptr;
  OnCudaReady on_cuda_ready_ = nullptr;
  bool system_thread_ids_ = false;
  std::atomic<bool> started_{false};
};

}  // namespace nl::capture
