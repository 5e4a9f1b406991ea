// SPDX-License-Identifier: Apache-2.0
#pragma once
// Metrics by name: one number of a run, which a gate compares with a limit and a trend plots.
// A metric that was not measured is an error with the reason, never a zero: a gate must not
// pass on missing data.
// Thread rule: as Analysis, one thread.

#include <string>
#include <string_view>
#include <vector>

#include "analyze/analysis.h"
#include "base/result.h"

namespace nl {

// Spec, unit and meaning of each, for help and documentation.
//   wall                 ms   first start to last end of the run
//   device[:STAGE]       ms   device busy, mean over the devices; of a stage, per instance
//   idle[:STAGE]         ms   the rest of the wall time, the same way
//   stage:NAME           ms   mean duration of an instance; LLM@ may precede the name
//   p10:STAGE p50: p95: p99:  that percentile of the durations; p10 is hardly affected by host noise
//   op:NAME              ms   device time of all work below an op; * and ? match
//   kernel:NAME          ms   device time of a kernel by short or raw name; * and ? match
//   mfu[:STAGE] mbu[:STAGE]   share of the device's peak
//   tokens_per_s[:STAGE]      without a stage, of decoding
//   ttft tpot            ms   time to first token, time per output token (medians)
//   memory            bytes   largest allocation of the framework on one device
struct MetricKind {
  std::string_view name, form, unit, meaning;
  bool larger_is_better = false;
};
const std::vector<MetricKind>& MetricKinds();
// The forms of all metrics for help: "wall, device[:STAGE], ...".
std::string MetricForms();

struct MetricValue {
  std::string spec;  // in canonical form: "stage:decode_step" for "stage:LLM@decode_step"
  double value = 0;
  std::string unit;  // ms, share, tokens/s, bytes
  bool larger_is_better = false;
  std::vector<double> samples;  // one per repetition inside the run, in order; empty: none
  std::string samples_of;       // "decode_step" or "step"; empty without samples
};

// InvalidInput when no run could have it: an unknown kind, a missing or surplus name.
Status CheckMetric(std::string_view spec);

// The spec restricted to a stage: wall -> stage:S, mfu -> mfu:S; InvalidInput when it has no such form.
Result<std::string> MetricOfStage(std::string_view spec, std::string_view stage);

// Whether the metric sums over the time of the run, so that it can be read of a part of it: wall, device,
// idle, op and kernel, unless a stage is named.
bool IsSumOverTime(std::string_view spec);

// NotFound with similar names when the run has no such stage, op or kernel; Unsupported with the reason
// when the run lacks the data the metric needs.
Result<MetricValue> ReadMetric(Analysis& analysis, std::string_view spec);

}  // namespace nl
