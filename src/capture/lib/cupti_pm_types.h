// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUPTI's profiler host and PM sampling interfaces as far as we use them, declared by
// ourselves for the reasons given in cupti_types.h. Every call takes one struct whose first
// field is its size up to its last field; kBytes is that size, as NVIDIA's headers of
// CUDA 13.0 have it. cupti_pm_layout_check.cc holds all of it against those headers.
// Thread rule: plain data.

#include <cstddef>
#include <cstdint>

#include "capture/lib/cupti_types.h"

namespace nl::capture::cupti::pm {

enum ProfilerType : int { kPmSamplingProfiler = 1 };
enum TriggerMode : int { kSysclkInterval = 0, kTimeInterval = 1 };
enum StopReason : int { kOther = 0, kImageFull = 1, kEndOfRecords = 2 };
enum AppendMode : int { kKeepOldest = 0 };
enum SupportLevel : int { kSupportUnknown = 0, kUnsupported = 1, kDisabled = 2, kSupported = 3 };
inline constexpr int kPmSamplingApi = 3;

// A parameter struct with its size and the reserved pointer set.
template <class Params>
Params Make() {
  Params params{};
  params.bytes = Params::kBytes;
  return params;
}

struct ProfilerInitialize {
  static constexpr size_t kBytes = 16;
  size_t bytes;
  void* priv;
};
struct DeviceSupported {
  static constexpr size_t kBytes = 52;
  size_t bytes;
  void* priv;
  int device;
  int is_supported, architecture, sli, vgpu, confidential, cmp, wsl;
  int api;
};
struct GetChipName {
  static constexpr size_t kBytes = 32;
  size_t bytes;
  void* priv;
  size_t device;
  const char* name;
};
struct HostInitialize {
  static constexpr size_t kBytes = 48;
  size_t bytes;
  void* priv;
  int profiler_type;
  const char* chip;
  const uint8_t* availability;
  void* host;
};
struct HostDeinitialize {
  static constexpr size_t kBytes = 24;
  size_t bytes;
  void* priv;
  void* host;
};
struct GetMetricProperties {
  static constexpr size_t kBytes = 60;
  size_t bytes;
  void* priv;
  void* host;
  const char* metric;
  const char *description, *unit, *dimension;
  int type;
};
struct ConfigAddMetrics {
  static constexpr size_t kBytes = 40;
  size_t bytes;
  void* priv;
  void* host;
  const char** metrics;
  size_t count;
};
struct GetConfigImageSize {
  static constexpr size_t kBytes = 32;
  size_t bytes;
  void* priv;
  void* host;
  size_t image_bytes;
};
struct GetConfigImage {
  static constexpr size_t kBytes = 40;
  size_t bytes;
  void* priv;
  void* host;
  size_t image_bytes;
  uint8_t* image;
};
struct GetNumOfPasses {
  static constexpr size_t kBytes = 40;
  size_t bytes;
  void* priv;
  size_t image_bytes;
  uint8_t* image;
  size_t passes;
};
struct EvaluateToGpuValues {
  static constexpr size_t kBytes = 72;
  size_t bytes;
  void* priv;
  void* host;
  const uint8_t* image;
  size_t image_bytes;
  size_t index;
  const char** metrics;
  size_t count;
  double* values;
};
struct Enable {
  static constexpr size_t kBytes = 32;
  size_t bytes;
  void* priv;
  size_t device;
  void* sampling;
};
// Of cuptiPmSamplingDisable, Start and Stop.
struct OfObject {
  static constexpr size_t kBytes = 24;
  size_t bytes;
  void* priv;
  void* sampling;
};
struct SetConfig {
  static constexpr size_t kBytes = 64;
  size_t bytes;
  void* priv;
  void* sampling;
  size_t config_bytes;
  const uint8_t* config;
  size_t hardware_buffer_bytes;
  uint64_t interval;
  int trigger;
  int append;
};
struct DecodeData {
  static constexpr size_t kBytes = 45;
  size_t bytes;
  void* priv;
  void* sampling;
  uint8_t* image;
  size_t image_bytes;
  int stop_reason;
  uint8_t overflow;
};
struct GetCounterAvailability {
  static constexpr size_t kBytes = 40;
  size_t bytes;
  void* priv;
  size_t device;
  size_t image_bytes;
  uint8_t* image;
};
struct GetCounterDataSize {
  static constexpr size_t kBytes = 56;
  size_t bytes;
  void* priv;
  void* sampling;
  const char** metrics;
  size_t count;
  uint32_t max_samples;
  size_t image_bytes;
};
struct ImageInitialize {
  static constexpr size_t kBytes = 40;
  size_t bytes;
  void* priv;
  void* sampling;
  size_t image_bytes;
  uint8_t* image;
};
struct GetCounterDataInfo {
  static constexpr size_t kBytes = 56;
  size_t bytes;
  void* priv;
  const uint8_t* image;
  size_t image_bytes;
  size_t total, populated, completed;
};
struct GetSampleInfo {
  static constexpr size_t kBytes = 64;
  size_t bytes;
  void* priv;
  void* sampling;
  const uint8_t* image;
  size_t image_bytes;
  size_t index;
  uint64_t start_ns, end_ns;
};

// By the names they have in the library; there since CUDA 12.6. Those marked may be missing.
struct Functions {
  Result (*ProfilerInitialize)(pm::ProfilerInitialize*);
  Result (*ProfilerDeInitialize)(pm::ProfilerInitialize*);  // may be missing
  Result (*ProfilerDeviceSupported)(DeviceSupported*);      // may be missing
  Result (*DeviceGetChipName)(GetChipName*);
  Result (*ProfilerHostInitialize)(HostInitialize*);
  Result (*ProfilerHostDeinitialize)(HostDeinitialize*);
  Result (*ProfilerHostGetMetricProperties)(GetMetricProperties*);
  Result (*ProfilerHostConfigAddMetrics)(ConfigAddMetrics*);
  Result (*ProfilerHostGetConfigImageSize)(GetConfigImageSize*);
  Result (*ProfilerHostGetConfigImage)(GetConfigImage*);
  Result (*ProfilerHostGetNumOfPasses)(GetNumOfPasses*);
  Result (*ProfilerHostEvaluateToGpuValues)(EvaluateToGpuValues*);
  Result (*PmSamplingEnable)(Enable*);
  Result (*PmSamplingDisable)(OfObject*);
  Result (*PmSamplingSetConfig)(SetConfig*);
  Result (*PmSamplingStart)(OfObject*);
  Result (*PmSamplingStop)(OfObject*);
  Result (*PmSamplingDecodeData)(DecodeData*);
  Result (*PmSamplingGetCounterAvailability)(GetCounterAvailability*);
  Result (*PmSamplingGetCounterDataSize)(GetCounterDataSize*);
  Result (*PmSamplingCounterDataImageInitialize)(ImageInitialize*);
  Result (*PmSamplingGetCounterDataInfo)(GetCounterDataInfo*);
  Result (*PmSamplingCounterDataGetSampleInfo)(GetSampleInfo*);
};

}  // namespace nl::capture::cupti::pm
