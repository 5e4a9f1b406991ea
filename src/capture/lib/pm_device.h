// SPDX-License-Identifier: Apache-2.0
#pragma once
// PmDevice: the hardware counters of one device, sampled by the device itself into a buffer
// of its own (CUPTI's PM sampling), decoded and evaluated here, put into the queue as
// readings. It samples in bursts: start, sample, stop, decode; only what one image holds is
// sampled, and nothing is configured twice, because (CUPTI 13.0, GH100)
//   - decoding and evaluating a sample takes some 70 us of a core,
//   - samples beyond a full image are lost, and those after them may be,
//   - a second SetConfig is accepted and ignored, a third made Start fail.
// Where a buffer still overflows, the object is made again.
// Thread rule: one thread (CounterSession's). Ownership: owns CUPTI's object and the image.

#include <cstdint>

#include "capture/lib/counter_queue.h"
#include "capture/lib/notes.h"
#include "capture/lib/pm_metrics.h"

namespace nl::capture {

struct PmLibrary {
  cupti::pm::Functions call{};
  cupti::Result (*GetResultString)(cupti::Result, const char**) = nullptr;
  // Called whenever CUPTI may have made something that its own exit handlers destroy: ours
  // must run before them, or the counters are read from freed memory at the program's end.
  void (*guard_exit)() = nullptr;
};

class PmDevice {
 public:
  static constexpr uint32_t kBurstSamples = 200;
  // More than a burst: it may be stopped late.
  static constexpr uint32_t kImageSamples = 640;

  PmDevice(const PmLibrary& library, Notes& notes, CounterQueue& queue)
      : library_(library), notes_(notes), queue_(queue) {}
  ~PmDevice() { Close(); }
  PmDevice(const PmDevice&) = delete;
  PmDevice& operator=(const PmDevice&) = delete;

  // Gets everything ready. False: it cannot be had, and why was said.
  bool Open(uint32_t device, uint32_t set_id, uint32_t interval_us);
  bool opened() const { return sampling_ != nullptr; }
  // Begins a burst. False: it could not, and why was said.
  bool Start();
  bool running() const { return running_; }
  // Monotonic time at which the burst has its samples.
  int64_t burst_end_ns() const { return burst_end_ns_; }
  // Ends the burst and takes its samples.
  void Finish();
  // Gives back all it has of CUPTI, and takes it again; what it counted stays.
  void Rest();
  bool Wake();
  void Close();
  // Samples missed since the last call: where a burst has a gap or was not readable.
  uint64_t TakeMissed();

 private:
  bool Ok(cupti::Result result, const char* function);
  void Say(MessageLevel level, const char* what);
  bool CheckSupport();
  bool TakeAvailability();
  bool Choose();
  bool MakeSampling();
  void EndSampling();
  void Free();
  bool Configure();
  bool MakeImage();
  bool ClearImage();
  // False: the object is of no more use.
  bool Decode();
  void TakeSamples();
  bool IsUsable(const cupti::pm::GetSampleInfo& sample);
  void Put(const cupti::pm::GetSampleInfo& sample, const double* values);
  void PutIdle();
  bool IsIdle(const CounterReading& reading) const;
  void Tell();

  const PmLibrary& library_;
  Notes& notes_;
  CounterQueue& queue_;
  uint32_t device_ = 0, interval_us_ = 0, failed_in_a_row_ = 0;
  char chip_[32] = {};
  uint8_t* availability_ = nullptr;
  MetricNames metrics_;
  HostConfig config_;
  void* sampling_ = nullptr;
  uint8_t* image_ = nullptr;
  size_t image_bytes_ = 0;
  bool running_ = false, resting_ = false;
  int64_t burst_end_ns_ = 0, first_start_ns_ = 0, last_stop_ns_ = 0;
  CounterSet set_;
  CounterReading idle_;  // of samples in a row in which the device did nothing
  int busy_metrics_[3] = {-1, -1, -1};
  uint64_t last_end_ns_ = 0;  // 0: no sample of this burst yet
  uint64_t missed_ = 0, missed_told_ = 0, samples_ = 0, left_out_ = 0, refused_ = 0, bursts_ = 0, remade_ = 0;
  int64_t start_stop_ns_ = 0, decode_ns_ = 0, evaluate_ns_ = 0, covered_ns_ = 0;
};

}  // namespace nl::capture
