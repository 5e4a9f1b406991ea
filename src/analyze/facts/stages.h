// SPDX-License-Identifier: Apache-2.0
#pragma once
// StagesFacts: the stages of LLM inference in a run, from its labels or inferred. A stage
// lasts from its first host activity to the end of the last kernel it launched, so that
// asynchronous work counts for the stage that caused it. Sub-stages (prefill::vision) and
// nested stages (decode_step in decode_all) have their own rows and are never added to the
// stage around them. An unknown value is empty, with the reason in its own member.
// Made by passes/stages.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/cost_model/model_dims.h"
#include "analyze/cost_model/peaks.h"
#include "analyze/facts/timeline.h"
#include "base/record.h"

namespace nl {

struct StagesFacts {
  static constexpr const char* kName = "stages";

  struct Instance {
    uint32_t range_row = kNone;  // row of `range`; kNone: inferred
    int64_t start_ns = 0, end_ns = 0, host_end_ns = 0;
    int64_t kernels = 0, launch_ns = 0;
    std::set<uint32_t> devices;          // that worked for it
    int64_t device_ns = 0, idle_ns = 0;  // devices x duration, and its idle part
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
    std::optional<double> mfu_measured, mbu_measured;  // relative to the measured peaks, where known
    double device_s = 0;                               // devices x duration
    // FLOPs and bytes are of the executions whose forwards have shapes: a recorder may look into some only.
    int64_t work_executions = 0;
    double work_device_s = 0;  // of these; peak x work_device_s is the most that is possible
    std::string tokens_reason, work_reason, mfu_reason, mbu_reason;
  };

  std::string source;  // "labels", "op shapes" or "kernel sequence"; empty: no stages
  std::string reason;  // why there are none
  std::vector<Stage> stages;
  std::optional<double> ttft_ns, tpot_ns, tpot_p95_ns, tpot_p99_ns;  // medians unless named otherwise
  std::string ttft_reason, tpot_reason;
  ModelShape model;
  std::optional<Peaks> peaks;
  std::optional<Peaks> measured_peaks;  // of the device, where a device of its name was measured
  std::optional<double> peak_tflops, measured_tflops;  // for the dtype of the model
  std::string peaks_reason;

  const Stage* Find(std::string_view name) const {
    for (const Stage& s : stages) {
      if (s.name == name) return &s;
    }
    return nullptr;
  }
};

// The facts as reports and `neurolens stages` give them.
struct StageInstance {
  double start_ms = 0, duration_ms = 0;
  int64_t kernels = 0;
  std::optional<double> tokens;
  std::optional<int64_t> range_id;
};
struct StagePeak {
  std::optional<double> tflops, gbps;
  std::optional<std::string> dtype;
  std::optional<PeakKind> kind;
  std::optional<std::string> source;
};
struct StageSummary {
  std::string name;
  std::optional<std::string> parent;
  bool inferred = false;
  int64_t count = 0;
  double total_ms = 0, p50_ms = 0, p95_ms = 0, p99_ms = 0;
  std::optional<double> tokens, tokens_per_s;
  std::optional<std::string> tokens_reason;
  int64_t forwards = 0, kernels = 0;
  std::optional<double> launch_share, idle_share, mfu, mbu, mfu_measured, mbu_measured;
  std::optional<std::string> mfu_reason, mbu_reason;
  std::optional<double> flops, bytes, weight_bytes, kv_bytes;
  double device_s = 0, work_device_s = 0;
  int64_t work_executions = 0;
  StagePeak peak;
  std::optional<StagePeak> peak_measured;
  std::vector<StageInstance> instances;
};
struct StagesSection {
  std::optional<std::string> source, reason;
  std::vector<StageSummary> stages;
  std::optional<double> ttft_ms, tpot_ms, tpot_p95_ms, tpot_p99_ms;
  std::optional<std::string> ttft_reason, tpot_reason;
  ModelSection model;
  std::optional<std::string> device;

  const StageSummary* Find(std::string_view name) const;
};
void Describe(Record<StageInstance>& r);
void Describe(Record<StagePeak>& r);
void Describe(Record<StageSummary>& r);
void Describe(Record<StagesSection>& r);

StagesSection SectionOf(const StagesFacts& facts);

}  // namespace nl
