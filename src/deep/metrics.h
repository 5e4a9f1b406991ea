// SPDX-License-Identifier: Apache-2.0
#pragma once
// metrics.json and env.json of a bundle of `neurolens deep`: described structs, so that the files, their JSON
// Schemas (schemas/deep_*.schema.json) and the reply are one thing.
// Thread rule: plain values and pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/cost_model/kernel_counters.h"
#include "base/record.h"
#include "deep/plan.h"
#include "machine/system.h"

namespace nl::deep {

enum class DeepMode : uint8_t { kDeep, kLight };
std::span<const std::string_view> NamesOf(DeepMode);

// What limits a kernel, from the shares of peak of its SMs and its DRAM.
enum class Utilization : uint8_t { kComputeBound, kMemoryBound, kBalanced, kLow };
std::span<const std::string_view> NamesOf(Utilization);
inline constexpr double kLowShare = 0.20;   // both below: the device is hardly used
inline constexpr double kBoundRatio = 1.3;  // one so many times the other: it is the limit
inline constexpr double kBoundGap = 0.05;   // or this far above it
Utilization Classify(double sm_share, double dram_share);

// Time in which warps were stalled, by group of reasons.
struct StallGroups {
  std::optional<double> memory, sync, dependency, contention;
};
void Describe(Record<StallGroups>& r);

struct DeepKernel {
  std::string stage, kernel, name;
  std::optional<int32_t> device;
  std::vector<int64_t> grid, block;
  std::optional<std::string> shapes;
  int64_t launches = 0;
  double total_ms = 0, mean_ms = 0;
  std::optional<double> share;
  std::optional<std::string> source;  // of the counters; null: see reason
  std::optional<std::string> reason;
  std::optional<double> measured_ms, sm_throughput, dram_throughput, achieved_occupancy, tensor_active,
      l2_hit_rate, flops, dram_bytes, ai, tflops, gbps;
  std::optional<Utilization> utilization;
  StallGroups stalls;
  std::optional<std::string> top_stall;
};
void Describe(Record<DeepKernel>& r);

// Fills what the counters of one execution say; `dur_ns` is 0 when they have no duration.
void AddCounters(const CounterValues& counters, DeepKernel& to);

struct DeepTool {
  std::string tool;
  std::optional<std::string> version;
  std::vector<std::string> command;
  std::optional<int64_t> exit_status;
  std::optional<double> seconds;
  std::optional<std::string> problem;
};
void Describe(Record<DeepTool>& r);

// One execution of a stage of a configured model: predicted from its sizes, and measured.
struct DeepPrediction {
  std::string stage;
  double predicted_ms = 0;            // device time
  std::optional<double> measured_ms;  // device time, median; null: the run does not have the stage
  std::optional<double> ratio;        // measured / predicted
  int64_t modules = 0;                // compared: those with at least 1 % of the stage
  std::optional<double> median_error, within_20;
};
void Describe(Record<DeepPrediction>& r);

struct DeepMetrics {
  int64_t metrics_version = 1;
  std::optional<std::string> run_id;
  DeepMode mode = DeepMode::kDeep;
  std::string created_at;
  bool partial = true;
  std::vector<std::string> problems, notes;
  std::vector<std::string> command;
  std::optional<double> wall_ms, device_ms, selected_ms, counted_ms;
  int64_t selected = 0, counted = 0;
  // Of recording the timeline, by the recorder's own measure; in light mode with the counters.
  std::optional<double> overhead_pct;
  std::optional<std::string> overhead_reason;
  std::vector<DeepTool> tools;
  std::vector<PlanStage> stages;
  std::vector<DeepKernel> kernels;
  std::vector<DeepPrediction> prediction;
  std::optional<std::string> prediction_reason;  // why it is empty
  std::vector<std::string> dropped;              // files left out because of --max-size
};
void Describe(Record<DeepMetrics>& r);

struct DeepGpu {
  std::optional<int64_t> index;
  std::optional<std::string> name, compute_capability, driver_version;
  std::optional<double> memory_gb, sm_clock_mhz_min, sm_clock_mhz_median, sm_clock_mhz_max;
  std::optional<int64_t> sm_count;
  std::optional<std::string> clocks_reason;
};
void Describe(Record<DeepGpu>& r);

struct DeepGit {
  std::string commit;
  std::optional<std::string> branch;
  bool modified = false;
};
void Describe(Record<DeepGit>& r);

struct DeepEnv {
  int64_t env_version = 1;
  std::string created_at, neurolens_version;
  std::vector<DeepGpu> gpus;
  std::optional<std::string> cuda_version, framework, framework_version, python_version, cupti_version;
  std::map<std::string, std::string> frameworks;
  std::optional<std::string> cpu_model, os, kernel;
  std::optional<int64_t> cores;
  std::optional<double> memory_gb;
  std::optional<std::string> container;
  std::optional<DeepGit> git;
  std::optional<std::string> git_reason;
  std::map<std::string, std::string> tools;  // version by name
  std::string working_folder;
  machine::System system;  // the machine that this program runs on
};
void Describe(Record<DeepEnv>& r);

// Of the folder's repository.
std::optional<DeepGit> GitOf(const std::string& folder, std::string& why_not);
// GPUs, host and software of a run document.
DeepEnv EnvOf(const Json& document);

}  // namespace nl::deep
