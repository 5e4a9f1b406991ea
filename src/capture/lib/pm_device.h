// SPDX-License-Identifier: Apache-2.0
#pragma once
// PmDevice: the hardware counters of one device, sampled by the device itself into a buffer
// of its own (CUPTI's PM sampling), decoded and evaluated here, put into the queue as
// readings. Where the buffer overflows or reading takes too long, the interval is doubled;
// samples that are missing between two others are counted.
// Thread rule: one thread (CounterSession's). Ownership: owns CUPTI's object and the images.

#include <cstdint>

#include "capture/lib/counter_queue.h"
#include "capture/lib/notes.h"
#include "capture/lib/pm_metrics.h"

namespace nl::capture {

struct PmLibrary {
  cupti::pm::Functions call{};
  cupti::Result (*GetResultString)(cupti::Result, const char**) = nullptr;
};

class PmDevice {
 public:
  static constexpr uint32_t kMostIntervalUs = 1000;

  PmDevice(const PmLibrary& library, Notes& notes, CounterQueue& queue)
      : library_(library), notes_(notes), queue_(queue) {}
  ~PmDevice() { Close(); }
  PmDevice(const PmDevice&) = delete;
  PmDevice& operator=(const PmDevice&) = delete;

  // Gets everything ready. False: it cannot be had, and why was said.
  bool Open(uint32_t device, uint32_t set_id, uint32_t interval_us);
  bool opened() const { return sampling_ != nullptr; }
  void Start();
  bool running() const { return running_; }
  // Takes what the device has sampled so far.
  void Read();
  // Stops the device and takes the rest.
  void Stop();
  // Doubles the interval; what is not sampled meanwhile is counted as missed.
  void Slow(const char* why);
  void Close();
  uint32_t device() const { return device_; }
  // Missed samples since the last call.
  uint64_t TakeMissed();

 private:
  bool Ok(cupti::Result result, const char* function);
  bool CheckSupport();
  bool TakeAvailability();
  bool Choose();
  bool Configure();
  bool MakeImage();
  bool ClearImage();
  // False: nothing more can be read.
  bool DecodeOnce(bool& more, bool& overflowed);
  void TakeSamples();
  void Put(const cupti::pm::GetSampleInfo& sample, const double* values);
  void PutIdle();
  bool IsIdle(const double* values) const;
  void Tell();

  const PmLibrary& library_;
  Notes& notes_;
  CounterQueue& queue_;
  uint32_t device_ = 0, interval_us_ = 0;
  char chip_[32] = {};
  uint8_t* availability_ = nullptr;
  MetricNames metrics_;
  HostConfig config_;
  void* sampling_ = nullptr;
  uint8_t* image_ = nullptr;
  size_t image_bytes_ = 0;
  uint32_t image_samples_ = 0;
  bool running_ = false;
  CounterSet set_;
  CounterReading idle_;  // of samples in a row in which the device did nothing
  int busy_metrics_[3] = {-1, -1, -1};
  uint64_t last_end_ns_ = 0;  // 0: sampling has just begun
  uint64_t missed_ = 0, missed_told_ = 0, samples_ = 0, incomplete_ = 0, refused_ = 0, rounds_ = 0;
  int64_t decode_ns_ = 0, evaluate_ns_ = 0;
};

}  // namespace nl::capture
