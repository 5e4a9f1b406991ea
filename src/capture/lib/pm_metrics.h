// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which hardware counters are sampled, and how they are asked for. One pass of the hardware
// holds only so many, and every chip has names of its own; what a chip does not know or what
// does not fit is left out, least wanted first.
// HostConfig: CUPTI's host object for one set of metrics with the image that configures them.
// Thread rule: one thread at a time. Ownership: a HostConfig owns its object and image.

#include <cstddef>
#include <cstdint>

#include "capture/format/gpu_records.h"
#include "capture/lib/cupti_pm_types.h"

namespace nl::capture {

struct MetricNames {
  const char* names[kMaxCounters] = {};  // of static storage
  size_t count = 0;
};

class HostConfig {
 public:
  HostConfig() = default;
  ~HostConfig() { Close(); }
  HostConfig(const HostConfig&) = delete;
  HostConfig& operator=(const HostConfig&) = delete;

  // Without metrics: only to ask for names. False: `failed` and `result` say what CUPTI refused.
  bool Open(const cupti::pm::Functions& call, const char* chip, const uint8_t* availability,
            const MetricNames& metrics);
  void Close();
  bool Knows(const char* metric) const;

  void* host() const { return host_; }
  const uint8_t* image() const { return image_; }
  size_t image_bytes() const { return image_bytes_; }
  size_t passes() const { return passes_; }
  const char* failed = nullptr;
  cupti::Result result = cupti::kSuccess;

 private:
  bool Ok(const char* function, cupti::Result got);

  const cupti::pm::Functions* call_ = nullptr;
  void* host_ = nullptr;
  uint8_t* image_ = nullptr;
  size_t image_bytes_ = 0, passes_ = 0;
};

// The most wanted metrics that this chip has and one pass holds, with `config` opened for them;
// `left_out` (a text) names those that are not among them. Empty when there is none.
MetricNames ChooseMetrics(const cupti::pm::Functions& call, const char* chip, const uint8_t* availability,
                          HostConfig& config, char* left_out, size_t left_out_bytes);

}  // namespace nl::capture
