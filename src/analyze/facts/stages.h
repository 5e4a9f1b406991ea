// SPDX-License-Identifier: Apache-2.0
#pragma once
// StagesFacts: the stages of LLM inference in a run, from its labels or inferred. A stage
// lasts from its first host activity to the completion of the last kernel it launched, so
// asynchronous work stays with the stage that caused it. Sub-stages (prefill::vision) and
// nested stages (decode_step in decode_all) are rows of their own, never added to the
// stage around them. What is missing is empty with the reason beside it.
// Made by passes/stages.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/cost_model/model_dims.h"
#include "analyze/cost_model/peaks.h"
#include "analyze/facts/timeline.h"

namespace nl {

struct StagesFacts {
  static constexpr const char* kName = "stages";

  struct Instance {
    uint32_t range_row = kNone;  // row of `range`; kNone: inferred
    int64_t start_ns = 0, end_ns = 0, host_end_ns = 0;
    int64_t kernels = 0, launch_ns = 0;
    int64_t device_ns = 0, idle_ns = 0;  // devices x duration, and the idle part of it
    int64_t forwards = 0;                // of the model
    std::optional<double> tokens, flops, weight_bytes, kv_bytes;
    int64_t duration_ns() const { return end_ns - start_ns; }
  };
  struct Stage {
    std::string name;    // prefill, decode_step, prefill::vision, ...
    std::string parent;  // of a sub-stage: the stage; else empty
    bool inferred = false;
    std::vector<Instance> instances;  // by start
    int64_t total_ns = 0, kernels = 0, forwards = 0;
    double p50_ns = 0, p95_ns = 0, p99_ns = 0;
    std::optional<double> tokens, tokens_per_s, launch_share, idle_share;
    std::optional<double> flops, weight_bytes, kv_bytes, mfu, mbu;
    double device_s = 0;  // devices x duration: what the peaks are multiplied with
    std::string tokens_reason, work_reason, mfu_reason, mbu_reason;
  };

  std::string source;  // "labels", "op shapes" or "kernel sequence"; empty: no stages
  std::string reason;  // why there are none
  std::vector<Stage> stages;
  std::optional<double> ttft_ns, tpot_ns, tpot_p95_ns, tpot_p99_ns;  // medians but for the named
  std::string ttft_reason, tpot_reason;
  ModelShape model;
  std::optional<Peaks> peaks;
  std::optional<double> peak_tflops;  // for the dtype of the model
  std::string peaks_reason;

  const Stage* Find(std::string_view name) const {
    for (const Stage& s : stages) {
      if (s.name == name) return &s;
    }
    return nullptr;
  }
};

Json ToJson(const StagesFacts& facts, const RunData& data);

}  // namespace nl
