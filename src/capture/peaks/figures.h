// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a measurement of this machine's peaks gives: one Figure per rate or latency, per device. A figure
// that could not be measured has no value and a reason. Made by measure.h; `neurolens peaks measure`
// stores it, `neurolens-peaks` prints it (figures_json.h).
// Thread rule: plain data.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nl::capture {

struct Figure {
  std::string name;                 // "dram_read", "tensor_bf16", "launch"
  std::string unit;                 // "GB/s" (1e9 bytes), "TFLOP/s", "TOP/s", "us"
  std::optional<double> value;      // the best configuration's median
  std::optional<double> low, high;  // of the repeats of that configuration: quartiles
  int repeats = 0;                  // of that configuration
  std::string how;                  // which configuration: "1024 MiB, 4 x 16 bytes per thread"
  std::string reason;               // why the value is missing

  // (high - low) / value.
  std::optional<double> Spread() const;
};

struct DeviceClocks {
  std::optional<double> sm_mhz, memory_mhz, power_w, temperature_c;
};

struct MeasuredDevice {
  std::string kind;            // "gpu" or "cpu"
  std::string id;              // "GPU-4f0b...": the device's UUID; of a CPU: a hash of model and host
  std::string name;            // as the driver spells it
  std::string driver_version;  // "580.95.05"; of a CPU: the kernel's release
  std::optional<int> index;    // in CUDA's numbering; none for a CPU
  std::optional<int> sm_count;
  std::optional<int64_t> memory_bytes, l2_bytes;
  std::string library;        // that multiplied matrices: "cuBLASLt 13.0.2"; empty: none
  DeviceClocks idle, loaded;  // before the measurement, and right after the matrix products
  std::optional<double> max_sm_mhz;
  double seconds = 0;  // that its measurement took
  std::vector<Figure> figures;

  const Figure* Find(const std::string& figure) const;
};

struct PeakMeasurement {
  int64_t unix_ns = 0;  // when it began
  double seconds = 0;
  std::vector<MeasuredDevice> devices;
  std::string gpu_reason;  // why no GPU was measured; empty: at least one was
};

struct PeakOptions {
  double budget_s = 60;  // for everything
  int device = -1;       // one GPU by its number; -1: all
  bool cpu = true, gpu = true;
  std::string cublaslt;  // path of the library; empty: searched
  // Host time; another one in tests. Never null.
  std::function<int64_t()> now_ns;
  // Called before each figure; may be empty. False stops the measurement: what is left gets a reason.
  std::function<bool(const std::string& device, const std::string& figure)> progress;
};

// Median and quartiles into a figure; empty lists leave it as it is. Rates, not durations.
void SetRepeats(Figure& figure, std::vector<double> values);

}  // namespace nl::capture
