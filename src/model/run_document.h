// SPDX-License-Identifier: Apache-2.0
#pragma once
// RunDocument: run.json as C++ values, one struct per object of
// schemas/run.schema.json, members in the order of the schema. An empty optional
// means "not measured": a required member is then written as null, any other is
// left out, and both read back as empty.
// Sits between import (fills it), the ledger (stores it) and present.
// Thread rule: values, no shared state.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/intervals.h"
#include "base/json.h"
#include "base/result.h"

namespace nl {

inline constexpr int64_t kRunSchemaVersion = 1;

using TextMap = std::map<std::string, std::string>;

struct DevicePeaks {
  std::string source;
  std::optional<double> peak_dram_gbps, peak_tflops;
  std::optional<double> fp64_tflops, fp32_tflops, tf32_tflops, bf16_tflops, fp16_tflops, fp8_tflops,
      fp4_tflops;
  std::optional<double> int8_tops, sm_clock_mhz;
  bool operator==(const DevicePeaks&) const = default;
};

struct DeviceFacts {
  int64_t index = 0;
  std::optional<std::string> name;
  std::optional<double> memory_gb;
  std::optional<int64_t> sm_count;
  std::optional<std::string> compute_capability, driver_version;
  std::optional<DevicePeaks> peaks;
  bool operator==(const DeviceFacts&) const = default;
};

struct HostFacts {
  std::optional<std::string> cpu_model;
  std::optional<int64_t> cores;
  std::optional<double> memory_gb;
  std::optional<std::string> os, kernel;
  bool operator==(const HostFacts&) const = default;
};

struct DeviceLink {
  int64_t from = 0, to = 0;
  std::string kind = "other";  // nvlink, xgmi, pcie, system, other
  std::optional<double> bandwidth_gbps;
  bool operator==(const DeviceLink&) const = default;
};

struct Topology {
  std::vector<DeviceLink> links;
  bool operator==(const Topology&) const = default;
};

struct Hardware {
  std::string vendor = "cpu";  // nvidia, amd, intel, cpu
  std::vector<DeviceFacts> devices;
  HostFacts host;
  std::optional<std::string> hostname_hash;
  std::optional<Topology> topology;
  bool operator==(const Hardware&) const = default;
};

struct Software {
  std::string backend = "other";  // torch, onnxrt, tensorrt, jax, tensorflow, cuda, triton, other
  std::optional<std::string> version;
  std::string precision = "unknown";  // fp64 ... int4, mixed, unknown
  std::optional<TextMap> frameworks;
  std::optional<std::string> cuda_version, python_version, cupti_version;
  bool operator==(const Software&) const = default;
};

struct ModelDims {
  std::optional<int64_t> layers, d_model, d_ff, heads, kv_heads, head_dim, vocab, experts, active_experts;
  bool operator==(const ModelDims&) const = default;
};

struct ModelFacts {
  std::optional<std::string> name;
  std::optional<int64_t> batch_size, sequence_length;
  std::optional<double> parameters_millions;
  std::optional<int64_t> framework_opset;
  std::optional<ModelDims> dims;
  bool operator==(const ModelFacts&) const = default;
};

struct SourceFile {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;
  std::optional<std::string> hash = {};  // how `sha256` was computed; null: plain SHA-256
  bool operator==(const SourceFile&) const = default;
};

struct Source {
  std::string adapter, adapter_version;
  std::vector<SourceFile> files;
  std::optional<std::string> tool, tool_version;
  std::optional<bool> from_program_start;
  std::optional<std::vector<std::string>> command;
  std::optional<int64_t> exit_code;
  bool operator==(const Source&) const = default;
};

using Dim3 = std::array<int64_t, 3>;

struct TimelineKernel {
  std::string name;
  std::optional<double> start_ms;
  double duration_ms = 0;
  std::optional<int64_t> calls;  // executions this entry stands for; empty: one
  std::optional<int64_t> stream, device;
  std::optional<Dim3> grid, block;
  std::optional<int64_t> registers, shared_bytes;
  std::optional<double> achieved_occupancy, warp_execution_efficiency, l2_hit_rate;
  std::optional<double> dram_read_gb, dram_write_gb, sm_efficiency, tensor_active;
  std::optional<std::string> counter_source;  // pm_sampling, ncu, estimate
  bool operator==(const TimelineKernel&) const = default;
};

struct OpMetrics {
  std::optional<double> latency_ms, total_latency_ms, p50_ms, p95_ms, p99_ms;
  std::optional<int64_t> calls;
  bool operator==(const OpMetrics&) const = default;
};

struct TimelineOp {
  int64_t op_index = 0;
  std::string op_name, op_type;
  std::optional<double> start_ms, end_ms;
  double duration_ms = 0;
  std::vector<TimelineKernel> kernels;
  std::optional<Json> shapes;  // array per input, see ShapesFromText
  std::optional<std::vector<std::optional<std::string>>> dtypes;
  std::optional<std::string> module, stage, thread;
  std::optional<int64_t> device;
  std::optional<double> api_launch_overhead_ms, flops;
  std::optional<int64_t> bytes;
  std::optional<OpMetrics> metrics;
  bool operator==(const TimelineOp&) const = default;
};

struct RunSummary {
  double total_duration_ms = 0;
  int64_t total_ops = 0, total_kernels = 0;
  std::optional<std::string> top_bottleneck;
  // By glossary name, in insertion order; gpu_utilization is always there. An empty value is written as null.
  std::vector<std::pair<std::string, std::optional<double>>> metrics = {{"gpu_utilization", std::nullopt}};
  std::optional<double> sm_efficiency, dram_throughput_gbps, ai_flops_per_byte;

  void SetMetric(std::string_view name, std::optional<double> value);
  std::optional<double> Metric(std::string_view name) const;  // empty: absent or null
  bool operator==(const RunSummary&) const = default;
};

struct DeviceClock {
  int64_t index = 0;
  std::optional<double> offset_ns, drift_ppm, error_bound_ns;
  std::optional<int64_t> samples;
  bool operator==(const DeviceClock&) const = default;
};

// ClockFacts::source of a run whose durations were measured one by one: its starts give the
// order only, so nothing about gaps, overlap or utilisation can be said.
inline constexpr char kClockOfOrder[] = "order";

struct ClockFacts {
  std::string source = "trace";
  std::optional<double> error_bound_ns;
  std::optional<int64_t> causality_violations;
  std::optional<std::vector<DeviceClock>> devices;
  bool operator==(const ClockFacts&) const = default;
};

struct CaptureFacts {
  std::optional<double> overhead_pct;
  std::optional<int64_t> lost_records, dropped_bytes, suspect_records;
  std::optional<std::vector<std::string>> kinds;
  std::optional<std::string> operators_by;
  std::optional<bool> partial;
  std::optional<double> duty_cycle;
  std::optional<std::vector<Interval>> pauses;  // nothing was recorded, on the time line of the tables
  bool operator==(const CaptureFacts&) const = default;
};

struct RankFacts {
  int64_t rank = 0;
  std::optional<int64_t> world_size, local_rank;
  std::optional<std::string> backend, hostname_hash;
  std::optional<std::vector<int64_t>> devices;
  std::optional<std::string> file;
  std::optional<double> clock_offset_ns, clock_error_bound_ns;
  bool operator==(const RankFacts&) const = default;
};

struct RunDocument {
  int64_t schema_version = kRunSchemaVersion;
  std::string run_id;      // NewUuidV7()
  std::string created_at;  // Rfc3339Utc()
  Hardware hardware;
  Software software;
  ModelFacts model;
  Source source;
  std::optional<bool> timeline_aggregated;
  std::vector<TimelineOp> timeline;  // at least one
  RunSummary summary;
  std::optional<TextMap> tags;
  std::optional<std::map<std::string, Json>> config;  // values are scalars
  std::optional<TextMap> env;
  std::optional<ClockFacts> clock;
  std::optional<CaptureFacts> capture;
  std::optional<std::vector<RankFacts>> ranks;
  std::optional<std::vector<std::string>> notes;
  std::optional<std::map<std::string, Json>> system;  // src/machine/describe.h
  bool operator==(const RunDocument&) const = default;
};

// Members in the order of the schema. Does not validate; see model/schema.h.
Json ToJson(const RunDocument& document);

// The inverse of ToJson. A wrong type, an unknown or a missing member is InvalidInput naming its JSON
// pointer; a schema_version above ours is Unsupported. Much cheaper than schema validation, which alone
// knows enums, patterns and ranges.
Result<RunDocument> RunDocumentFromJson(const Json& json);

// The text of an "Input Dims"-like argument ("[[8, 512], [], [[4], [4]]]") as a value the schema accepts
// for `shapes`; empty when it has another form.
std::optional<Json> ShapesFromText(std::string_view text);

}  // namespace nl
