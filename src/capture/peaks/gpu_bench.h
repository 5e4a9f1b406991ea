// SPDX-License-Identifier: Apache-2.0
#pragma once
// GpuBench: one device with its context, a stream and our kernels, and the ways to time work on it.
// The Measure functions below fill the figures of one part each; gpu.cc calls them in turn.
// Thread rule: one thread. Ownership: releases the context, the module and the stream.

#include <functional>
#include <string>
#include <vector>

#include "capture/peaks/cuda_driver.h"
#include "capture/peaks/figures.h"

namespace nl::capture {

// One way to do what a figure measures.
struct PeakTrial {
  std::string how;
  double amount = 0;          // of bytes or operations in one call
  std::function<int()> work;  // queues one call; the driver's or library's result
};

// How long a figure is tried and measured.
struct TrialLimits {
  double try_s = 1.0;       // for choosing among the trials
  double measure_s = 0.15;  // for the repeats of the best
  double sample_ms = 1.0;   // at least, by several calls in one sample
  int least_repeats = 15;
  bool host_time = false;            // by the host's clock, with a synchronisation, instead of events
  std::function<void()> under_load;  // may be empty; called once while calls of the best are running
};

class GpuBench {
 public:
  GpuBench(const CudaDriver& cuda, const PeakOptions& options, int64_t deadline_ns, MeasuredDevice& out)
      : cuda_(cuda), options_(options), deadline_ns_(deadline_ns), out_(out) {}
  ~GpuBench();
  GpuBench(const GpuBench&) = delete;
  GpuBench& operator=(const GpuBench&) = delete;

  // Makes the device's context current and compiles the kernels; false: error() has the reason.
  bool Open(int index);

  // Adds a figure. Null: not to be measured now, it has its reason (time is up, the user stopped).
  Figure* Begin(const char* name, const char* unit);
  // Tries all, measures the best three, keeps the one with the better median. `scale` divides amounts per
  // second: 1e9 for GB/s. Without a trial that works the figure gets the last error as its reason.
  void MeasureBest(Figure& figure, const std::vector<PeakTrial>& trials, double scale,
                   const TrialLimits& limits = {});
  // Median duration in µs of one call by the host's clock; `batch` calls are one sample, and `after` ends
  // it without being counted.
  void MeasureHostUs(Figure& figure, int batch, const std::function<int()>& call,
                     const std::function<int()>& after);
  // Runs `work` for that long.
  void WarmUp(double seconds, const std::function<int()>& work);

  CuFunction Kernel(const std::string& name);  // null: error() has the reason
  int Launch(CuFunction, unsigned blocks, unsigned threads, std::initializer_list<const void*> arguments);
  int Sync() { return cuda_.StreamSynchronize(stream_); }
  bool Ok(int result, const char* what);  // false: error() has the reason
  bool Stopped() const;                   // time is up
  double SecondsLeft() const;
  int64_t NowNs() const { return options_.now_ns(); }

  const CudaDriver& cuda() const { return cuda_; }
  const PeakOptions& options() const { return options_; }
  MeasuredDevice& out() { return out_; }
  CuStream stream() const { return stream_; }
  CuContext context() const { return context_; }
  CuDevice device() const { return device_; }
  int sms() const { return sms_; }
  int threads_per_sm() const { return threads_per_sm_; }
  CuPointer scratch() const { return scratch_.at(); }
  const std::string& error() const { return error_; }

 private:
  struct Sampled {
    const PeakTrial* trial;
    double quick;  // rate
    int calls;     // in one sample
  };
  // Duration in s of `calls` calls; negative: error() has the reason.
  double Sample(const PeakTrial& trial, int calls, bool host_time);
  bool Try(const PeakTrial& trial, const TrialLimits& limits, Sampled& to);
  std::vector<double> Repeat(const Sampled& chosen, double scale, const TrialLimits& limits);

  const CudaDriver& cuda_;
  const PeakOptions& options_;
  int64_t deadline_ns_;
  MeasuredDevice& out_;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;
  CuModule module_ = nullptr;
  CuStream stream_ = nullptr;
  CuEvent from_ = nullptr, to_ = nullptr;
  DeviceBuffer scratch_;
  int sms_ = 0, threads_per_sm_ = 0;
  bool cancelled_ = false;
  std::string error_;
};

void MeasureGpuMemory(GpuBench& bench);     // DRAM, L2, shared memory
void MeasureGpuTransfers(GpuBench& bench);  // host to device and back, peer
void MeasureGpuLatencies(GpuBench& bench);  // launches, graphs, synchronisation, events
void MeasureGpuFma(GpuBench& bench);        // fp32 and fp64 without matrix units
// Matrix products through cuBLASLt. `read_clocks` is called while the device is under load.
void MeasureGpuMatrix(GpuBench& bench, const std::function<void()>& read_clocks);

// Every GPU that the options ask for, into `to`.
void MeasureGpus(const PeakOptions& options, int64_t deadline_ns, PeakMeasurement& to);

}  // namespace nl::capture
