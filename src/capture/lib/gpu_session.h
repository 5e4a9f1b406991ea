// SPDX-License-Identifier: Apache-2.0
#pragma once
// GpuSession: CUPTI in this process: loaded, subscribed to, configured, flushed, and
// released while nothing is recorded: attached, it costs every CUDA call a few microseconds
// even with all kinds off. It may leave only at the end of a CUDA call (cuptiFinalize), so the
// program's next call takes it out; the next Enable takes it up again. It is not released
// - from a program that uses CUDA graphs: graphs that run meanwhile fail (CUPTI 13.0, unspecified launch
// failure);
// - from one with several threads that call CUDA: training programs were seen to end with a damaged heap
// (CUPTI 13.0). Whatever CUPTI refuses is said (Notes) and the rest goes on; if it refuses to be used at all,
// because another profiler owns it, the session stays off. Thread rule: Start once; Enable, Disable, LetGo
// and Keep by one thread at a time (Recorder sees to that); Flush and ReadClock from any thread. No lock of
// ours is held over a call of CUPTI: who is inside is counted, and while somebody is, it does not leave.

#include <atomic>
#include <cstdint>

#include "capture/format/records.h"
#include "capture/lib/activity.h"
#include "capture/lib/api_list.h"
#include "capture/lib/cupti_library.h"
#include "capture/lib/gpu_calls.h"
#include "capture/lib/notes.h"

namespace nl::capture {

class GpuSession {
 public:
  explicit GpuSession(Notes& notes) : notes_(notes) {}

  // `on_cuda_ready` is called once CUDA is initialised (with -1) and with the device of every
  // context that is made: CUDA's exit handlers are registered then, and ours may be put in
  // front of them.
  using OnCudaReady = void (*)(int device);
  // `wake` as in GpuCalls.
  bool Start(uint64_t wanted, size_t buffer_limit_bytes, OnCudaReady on_cuda_ready,
             std::atomic<uint32_t>& wake);
  bool started() const { return started_.load(std::memory_order_acquire); }

  // Takes CUPTI up again if it was released. False: another profiler has it by now.
  bool Enable();
  void Disable();
  // Asks CUPTI to leave, once nothing is recorded and all its buffers have been read. Where it
  // cannot (CUDA before 12.6), it stays.
  void LetGo();
  bool MayLetGo() const;
  // It was released, and turned out meanwhile to be one that may not leave: Keep it.
  bool MustStay() const { return hold_.load() == Hold::kLeaving && !may_leave_.load(); }
  // CUDA has been started: before, it does not leave.
  void CudaReady() { cuda_ready_.store(true); }
  // There are CUDA graphs that CUPTI knows of.
  void GraphsUsed() { may_leave_.store(false); }
  // Takes that back, if it has not left yet. False: it has.
  bool Keep();
  void Flush(bool forced);
  // Does something for which CUPTI must be there, and stay until it is done. False: it is away.
  template <class Do>
  bool Within(Do&& what) {
    const Inside inside(*this);
    if (inside.ok) what();
    return inside.ok;
  }
  // Times it was taken up: it numbers calls and kernels again each time.
  uint32_t attachments() const { return attachments_.load(std::memory_order_acquire); }
  // The GPU clock between two readings of the host's, the narrowest of a few.
  bool ReadClock(ClockRecord& to);

  const CuptiLibrary& library() const { return library_; }
  const ApiList& apis() const { return apis_; }
  ActivityBuffers& buffers() { return buffers_; }
  GpuCalls& calls() { return calls_; }
  const GpuCalls& calls() const { return calls_; }
  // Time spent on the program's threads in our callbacks.
  std::atomic<int64_t> callback_ns{0};
  std::atomic<uint64_t> callbacks{0};

 private:
  static void OnBufferRequested(uint8_t** buffer, size_t* bytes, size_t* max_records);
  static void OnBufferCompleted(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                                size_t valid_bytes);
  static void OnCallback(void* user, int domain, uint32_t callback_id, const void* data);
  enum class Hold : int { kAway, kHeld, kLeaving, kFinalizing };
  // One who is about to call CUPTI; `ok`: it is there, and stays until the end of this object.
  struct Inside {
    explicit Inside(GpuSession& of) : session(of) {
      session.inside_.fetch_add(1);
      const Hold hold = session.hold_.load();
      ok = hold == Hold::kHeld || hold == Hold::kLeaving;
    }
    ~Inside() { session.inside_.fetch_sub(1); }
    GpuSession& session;
    bool ok;
  };
  bool Attach();
  void OnCall(int domain, uint32_t callback_id, const cupti::ApiData* data);
  void TakeOut();
  bool WatchCalls(bool on);
  bool Ok(cupti::Result result, const char* what);
  int DeviceOf(const void* resource) const;
  void Set(uint32_t kind, const char* name, bool on);

  Notes& notes_;
  CuptiLibrary library_;
  ApiList apis_;
  ActivityBuffers buffers_;
  GpuCalls calls_;
  uint64_t wanted_ = 0;
  void* subscriber_ = nullptr;
  bool told_taken_ = false;
  OnCudaReady on_cuda_ready_ = nullptr;
  std::atomic<bool> started_{false}, may_leave_{false}, cuda_ready_{false};
  std::atomic<Hold> hold_{Hold::kAway};
  std::atomic<uint32_t> inside_{0};  // of our own threads
  std::atomic<uint32_t> attachments_{0};
  std::atomic<uint32_t> threads_{0};  // of the program, that were seen to call CUDA
};

}  // namespace nl::capture
