// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device time of a run by stage and module, for comparison with a prediction.
// Thread rule: pure function.

#include <map>
#include <string>
#include <vector>

#include "analyze/facts/attribution.h"
#include "analyze/facts/timeline.h"

namespace nl::ops::predict {

struct MeasuredStage {
  int64_t executions = 0;
  double device_ms = 0, wall_ms = 0;  // medians of the executions
  std::map<std::string, double>
      module_ms;  // by path with numbers as *; "" for work outside any module; medians
};
// By name of the stage as predictions have it. Modules have the time of their own kernels, without that of
// the modules inside them.
std::map<std::string, MeasuredStage> MeasureStages(const RunData& data, const TimelineFacts& timeline,
                                                   const AttributionFacts& attribution);

}  // namespace nl::ops::predict
