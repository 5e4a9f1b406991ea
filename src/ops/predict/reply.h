// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens predict`.

#include <string>
#include <vector>

#include "analyze/cost_model/kernel_time.h"
#include "analyze/cost_model/prediction.h"

namespace nl::ops::predict {

struct ModuleParameters {
  std::string name;
  double parameters = 0, weight_bytes = 0;
};
inline void Describe(Record<ModuleParameters>& r) {
  r.Name("PredictParameters", "Parameters of one kind of module, all layers together");
  r.Field("name", &ModuleParameters::name, "Name of the module");
  r.Field("parameters", &ModuleParameters::parameters, "Parameters");
  r.Field("weight_bytes", &ModuleParameters::weight_bytes, Unit::kBytes, "Their size");
}

// How near the prediction is, over the modules that hold at least 1 % of the device time of their stage.
struct Agreement {
  std::string stage;
  int64_t modules = 0;
  double median_error = 0, within_20 = 0;
};
inline void Describe(Record<Agreement>& r) {
  r.Name("PredictAgreement",
         "Prediction against the run, over the modules with at least 1 % of the stage's device time");
  r.Field("stage", &Agreement::stage, "The stage");
  r.Field("modules", &Agreement::modules, "Modules compared");
  r.Field("median_error", &Agreement::median_error, Unit::kShare,
          "Median of |predicted - measured| / measured");
  r.Field("within_20", &Agreement::within_20, Unit::kShare, "Modules with an error of at most 0.2");
}

struct PredictReply {
  std::string model, family, dtype, device, peaks_source;
  double peak_tflops = 0, peak_gbps = 0;
  double parameters = 0, weight_bytes = 0, kv_cache_bytes = 0;
  std::vector<ModuleParameters> parts;
  std::vector<PredictedStage> stages;
  std::vector<Assumption> assumptions;
  std::optional<std::string> run_id;
  std::vector<Agreement> agreement;
  std::vector<std::string> notes;
};
inline void Describe(Record<PredictReply>& r) {
  r.Name("PredictReply", "Reply of `neurolens predict`");
  r.Field("model", &PredictReply::model, "Name of the workload");
  r.Field("family", &PredictReply::family, "Model family, such as llama");
  r.Field("dtype", &PredictReply::dtype, "Type of weights and activations");
  r.Field("device", &PredictReply::device, "Device that the times are for");
  r.Field("peaks_source", &PredictReply::peaks_source, "Where its peaks come from");
  r.Field("peak_tflops", &PredictReply::peak_tflops, Unit::kTflops, "Its dense peak for the dtype");
  r.Field("peak_gbps", &PredictReply::peak_gbps, Unit::kGbPerS, "Its memory bandwidth");
  r.Field("parameters", &PredictReply::parameters, "Parameters of the model");
  r.Field("weight_bytes", &PredictReply::weight_bytes, Unit::kBytes, "Their size");
  r.Field("kv_cache_bytes", &PredictReply::kv_cache_bytes, Unit::kBytes,
          "KV cache after the last token; 0: none");
  r.Field("parts", &PredictReply::parts, "Parameters by module; they sum to all");
  r.Field("stages", &PredictReply::stages, "Stages, each with its modules");
  r.Field("assumptions", &PredictReply::assumptions, "Numbers that the times rest on");
  r.Field("run_id", &PredictReply::run_id, "Run that was compared; null: none");
  r.Field("agreement", &PredictReply::agreement, "Prediction against the run, by stage");
  r.Field("notes", &PredictReply::notes, "What a reader must know of this prediction");
}

}  // namespace nl::ops::predict
