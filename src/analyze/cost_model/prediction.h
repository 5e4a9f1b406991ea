// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prediction: a ModelPlan on a device. Per stage and module FLOPs, bytes and time; rows sum to their stage.
// Thread rule: pure functions.

#include <string>
#include <vector>

#include "analyze/cost_model/kernel_time.h"
#include "analyze/cost_model/model_plan.h"
#include "base/record.h"

namespace nl {

// Of one execution of a stage.
struct PredictedWork {
  double flops = 0;
  double read_bytes = 0, write_bytes = 0, weight_bytes = 0, activation_bytes = 0, kv_bytes = 0;
  double kernels = 0;
  double compute_ms = 0, memory_ms = 0;  // of all kernels, each at the shares of the peaks
  double device_ms = 0;                  // of all kernels, one after the other
  double launch_ms = 0;                  // of the host, to launch them one by one
  KernelBound bound = KernelBound::kLaunch;

  void Add(const PredictedWork& other);
  void Decide();  // sets bound
};

// What a run says of the same module; empty without a run.
struct MeasuredTime {
  std::optional<double> measured_ms;  // device time of one execution, median
  std::optional<double> ratio;        // measured / predicted device time
};

struct PredictedModule : PredictedWork, MeasuredTime {
  std::string name;
  double parameters = 0;
  std::vector<std::string> paths;
};

struct PredictedStage : PredictedWork, MeasuredTime {
  std::string name;
  double executions = 1, tokens = 0, context = 0;
  double predicted_ms = 0;  // the longer of device and launch time
  std::optional<double> measured_wall_ms, unmatched_ms;
  std::optional<int64_t> measured_executions;
  std::vector<PredictedModule> modules;
};

std::vector<PredictedStage> Predict(const ModelPlan& plan, const DeviceRates& device);

void Describe(Record<PredictedModule>& r);
void Describe(Record<PredictedStage>& r);

}  // namespace nl
