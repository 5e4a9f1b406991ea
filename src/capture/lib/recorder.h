// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recorder: the recording of this process. Made by whichever entry point is called first,
// ended by exit; a forked child starts afresh with a file of its own when it has something
// to say. Nothing here writes to the program's outputs, ends it, throws into it or takes
// memory without bound; what goes wrong is reported in the capture file and the control page.
// Thread rule: the static functions and Emit from any thread; the writer thread is its own.
// Ownership: one per process, never freed (threads may still be about to look at it).

#include <atomic>
#include <cstdint>

#include "capture/control.h"
#include "capture/format/chunk_writer.h"
#include "capture/lib/budget.h"
#include "capture/lib/category_names.h"
#include "capture/lib/counter_session.h"
#include "capture/lib/gpu_session.h"
#include "capture/lib/host_ring.h"
#include "capture/lib/notes.h"

// 1 while ranges are recorded, 2 while they are only watched for the one that begins a recording; the
// Python package looks at it instead of calling.
extern "C" __attribute__((visibility("default"))) std::atomic<int> nl_enabled;

namespace nl::capture {

class Recorder {
 public:
  // The recorder, made if need be; null when this process is not to be recorded or cannot be.
  static Recorder* Start();
  // The recorder if there is one; cheap.
  static Recorder* Get();

  // Takes up CUPTI. By InitializeInjection, so before the program's first context.
  void StartGpu();

  // An NVTX event of the calling thread. Gives the depth of its ranges in the domain before
  // a push or after a pop, or -2 when not known.
  int Emit(HostEvent event, std::string_view text, std::string_view payload_text = {});

  // Operators are observed from now on, or not: also while recording is off, since it may go on before they
  // are switched again.
  void PutObserved(uint64_t observed);
  // The program's own switch (neurolens.start and stop).
  void SetByProgram(bool on);
  // Time the program's threads spent for the recording outside of this library.
  void AddCost(int64_t ns) { added_cost_ns_.fetch_add(ns, std::memory_order_relaxed); }
  // What the recording has cost the program so far, as the control page says it.
  int64_t StatedCostNs() const {
    return slot_ != nullptr ? static_cast<int64_t>(slot_->cost_program_ns.load(std::memory_order_relaxed))
                            : 0;
  }
  double budget_share() const { return page_ ? page_->budget_ppm / 1e6 : 0; }
  // After each switch `add_pending(call, null)` is called, on whichever thread switched.
  using PendingCall = int (*)(void*);
  using AddPendingCall = int (*)(PendingCall, void*);
  static void TellSwitches(AddPendingCall add_pending, PendingCall call);
  // Once more, with the writer's next turn.
  void AskAgain() { ask_again_.store(true, std::memory_order_release); }

 private:
  Recorder() : gpu_(notes_), counters_(notes_) {}
  bool Open(const char* directory);
  static void* WriterMain(void* self);
  void WriterLoop();
  void Drain();
  void DrainRing(HostRing& ring);
  bool MakeReader();
  void DrainGpu();
  void WriteHostEvent(const HostRing& ring, const HostEvent& event, std::string_view text,
                      std::string_view payload_text);
  void WriteFacts();
  void WriteThreadNames();
  void WriteClock();
  void WriteCost();
  int64_t CostNs() const;
  void KeepBudget(int64_t now_ns);
  void UpdateSlot(SlotState state);
  void FinishFile();

  void Apply(WindowReason reason);
  static void TellSwitch();
  void RestWhileOff(int64_t now_ns);
  bool Wanted() const;
  int EnabledNow() const;
  void WatchRange(const HostEvent& event, std::string_view text);
  HostRing* RingOfThread();

  static void OnExit();
  static void OnCudaReady(int device);
  static void OnForkChild();
  static void OnThreadEnd(void* ring);
  void Close();

  ControlPage page_;
  ProcessSlot* slot_ = nullptr;
  uint64_t wanted_ = kWantDefault;
  size_t buffer_limit_bytes_ = 256u << 20;
  int clock_interval_ms_ = 250;
  uint32_t counter_interval_us_ = kCounterIntervalUs;
  char capture_range_[128] = {};

  Notes notes_;
  HostRings rings_{HostRing::kBytes};
  std::atomic<uint64_t> refused_{0};  // events of threads without a ring
  GpuSession gpu_;
  CounterSession counters_;
  ChunkWriter writer_;  // the writer thread's
  ActivityReader* reader_ = nullptr;
  CategoryNames categories_;
  uint64_t ranges_ = 0, op_ranges_ = 0, observed_ops_ = 0, package_ranges_ = 0, peak_buffer_bytes_ = 0;
  int64_t cost_measured_ns_ = 0;
  uint64_t costs_measured_ = 0, ring_puts_ = 0;
  std::atomic<int64_t> added_cost_ns_{0};
  Budget budget_;  // the writer thread's
  std::atomic<bool> budget_allows_{true};
  std::atomic<bool> ask_again_{false};
  uint32_t pid_ = 0;

  // What every event of the program looks at, apart from what the writer thread writes.
  alignas(kOwnLines) std::atomic<bool> on_{false};  // records are taken
  std::atomic<bool> program_on_{true};              // SetByProgram
  std::atomic<int> in_range_{0};                    // open ranges with the label of --capture-range
  std::atomic<bool> switching_{false};
  std::atomic<uint32_t> window_{0};   // times it went on
  bool ever_on_ = false;              // of whoever is switching
  std::atomic<bool> closing_{false};  // nothing more is recorded
  std::atomic<bool> finish_{false};   // and everything there is has been handed over
  std::atomic<bool> clock_due_{false};
  std::atomic<uint32_t> wake_{0}, closed_{0};
  // The writer's, while recording is off: since when, after which window, are CUPTI's last records in.
  int64_t off_since_ns_ = 0;
  uint32_t off_window_ = UINT32_MAX;
  bool off_flushed_ = false;
  uint32_t attachments_read_ = 0;  // likewise
  uint32_t epoch_seen_ = 0;
};

}  // namespace nl::capture
