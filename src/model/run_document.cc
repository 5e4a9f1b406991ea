// SPDX-License-Identifier: Apache-2.0
#include "model/run_document.h"

#include <fmt/format.h>

#include "model/json_fields.h"

namespace nl {

// The member's name is its key.
#define NL_REQUIRED(member) io.Required(#member, x.member)
#define NL_OPTIONAL(member) io.Optional(#member, x.member)

template <class Io>
void Describe(Io& io, FieldsOf<Io, DevicePeaks> x) {
  NL_REQUIRED(source);
  NL_OPTIONAL(peak_dram_gbps);
  NL_OPTIONAL(peak_tflops);
  NL_OPTIONAL(fp64_tflops);
  NL_OPTIONAL(fp32_tflops);
  NL_OPTIONAL(tf32_tflops);
  NL_OPTIONAL(bf16_tflops);
  NL_OPTIONAL(fp16_tflops);
  NL_OPTIONAL(fp8_tflops);
  NL_OPTIONAL(fp4_tflops);
  NL_OPTIONAL(int8_tops);
  NL_OPTIONAL(sm_clock_mhz);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, DeviceFacts> x) {
  NL_REQUIRED(index);
  NL_REQUIRED(name);
  NL_REQUIRED(memory_gb);
  NL_REQUIRED(sm_count);
  NL_REQUIRED(compute_capability);
  NL_REQUIRED(driver_version);
  NL_OPTIONAL(peaks);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, HostFacts> x) {
  NL_REQUIRED(cpu_model);
  NL_REQUIRED(cores);
  NL_REQUIRED(memory_gb);
  NL_REQUIRED(os);
  NL_REQUIRED(kernel);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, DeviceLink> x) {
  NL_REQUIRED(from);
  NL_REQUIRED(to);
  NL_REQUIRED(kind);
  NL_OPTIONAL(bandwidth_gbps);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, Topology> x) {
  NL_REQUIRED(links);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, Hardware> x) {
  NL_REQUIRED(vendor);
  NL_REQUIRED(devices);
  NL_REQUIRED(host);
  NL_OPTIONAL(hostname_hash);
  NL_OPTIONAL(topology);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, Software> x) {
  NL_REQUIRED(backend);
  NL_REQUIRED(version);
  NL_REQUIRED(precision);
  NL_OPTIONAL(frameworks);
  NL_OPTIONAL(cuda_version);
  NL_OPTIONAL(python_version);
  NL_OPTIONAL(cupti_version);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, ModelDims> x) {
  NL_OPTIONAL(layers);
  NL_OPTIONAL(d_model);
  NL_OPTIONAL(d_ff);
  NL_OPTIONAL(heads);
  NL_OPTIONAL(kv_heads);
  NL_OPTIONAL(head_dim);
  NL_OPTIONAL(vocab);
  NL_OPTIONAL(experts);
  NL_OPTIONAL(active_experts);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, ModelFacts> x) {
  NL_REQUIRED(name);
  NL_OPTIONAL(batch_size);
  NL_OPTIONAL(sequence_length);
  NL_OPTIONAL(parameters_millions);
  NL_OPTIONAL(framework_opset);
  NL_OPTIONAL(dims);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, SourceFile> x) {
  NL_REQUIRED(name);
  NL_REQUIRED(bytes);
  NL_REQUIRED(sha256);
  NL_OPTIONAL(hash);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, Source> x) {
  NL_REQUIRED(adapter);
  NL_REQUIRED(adapter_version);
  NL_REQUIRED(files);
  NL_REQUIRED(tool);
  NL_REQUIRED(tool_version);
  NL_OPTIONAL(from_program_start);
  NL_OPTIONAL(command);
  NL_OPTIONAL(exit_code);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, TimelineKernel> x) {
  NL_REQUIRED(name);
  NL_REQUIRED(start_ms);
  NL_REQUIRED(duration_ms);
  NL_OPTIONAL(calls);
  NL_OPTIONAL(stream);
  NL_OPTIONAL(device);
  NL_OPTIONAL(grid);
  NL_OPTIONAL(block);
  NL_OPTIONAL(registers);
  NL_OPTIONAL(shared_bytes);
  NL_OPTIONAL(achieved_occupancy);
  NL_OPTIONAL(warp_execution_efficiency);
  NL_OPTIONAL(l2_hit_rate);
  NL_OPTIONAL(dram_read_gb);
  NL_OPTIONAL(dram_write_gb);
  NL_OPTIONAL(sm_efficiency);
  NL_OPTIONAL(tensor_active);
  NL_OPTIONAL(counter_source);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, OpMetrics> x) {
  NL_OPTIONAL(latency_ms);
  NL_OPTIONAL(total_latency_ms);
  NL_OPTIONAL(p50_ms);
  NL_OPTIONAL(p95_ms);
  NL_OPTIONAL(p99_ms);
  NL_OPTIONAL(calls);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, TimelineOp> x) {
  NL_REQUIRED(op_index);
  NL_REQUIRED(op_name);
  NL_REQUIRED(op_type);
  NL_REQUIRED(start_ms);
  NL_REQUIRED(end_ms);
  NL_REQUIRED(duration_ms);
  NL_REQUIRED(kernels);
  NL_OPTIONAL(shapes);
  NL_OPTIONAL(dtypes);
  NL_OPTIONAL(module);
  NL_OPTIONAL(stage);
  NL_OPTIONAL(thread);
  NL_OPTIONAL(device);
  NL_OPTIONAL(api_launch_overhead_ms);
  NL_OPTIONAL(flops);
  NL_OPTIONAL(bytes);
  NL_OPTIONAL(metrics);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, RunSummary> x) {
  NL_REQUIRED(total_duration_ms);
  NL_REQUIRED(total_ops);
  NL_REQUIRED(total_kernels);
  NL_REQUIRED(top_bottleneck);
  NL_REQUIRED(metrics);
  NL_OPTIONAL(sm_efficiency);
  NL_OPTIONAL(dram_throughput_gbps);
  NL_OPTIONAL(ai_flops_per_byte);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, DeviceClock> x) {
  NL_REQUIRED(index);
  NL_OPTIONAL(offset_ns);
  NL_OPTIONAL(drift_ppm);
  NL_OPTIONAL(error_bound_ns);
  NL_OPTIONAL(samples);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, ClockFacts> x) {
  NL_REQUIRED(source);
  NL_REQUIRED(error_bound_ns);
  NL_REQUIRED(causality_violations);
  NL_OPTIONAL(devices);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, Interval> x) {
  NL_REQUIRED(start_ns);
  NL_REQUIRED(end_ns);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, CaptureFacts> x) {
  NL_REQUIRED(overhead_pct);
  NL_REQUIRED(lost_records);
  NL_REQUIRED(dropped_bytes);
  NL_REQUIRED(suspect_records);
  NL_OPTIONAL(kinds);
  NL_OPTIONAL(operators_by);
  NL_OPTIONAL(partial);
  NL_OPTIONAL(duty_cycle);
  NL_OPTIONAL(pauses);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, RankFacts> x) {
  NL_REQUIRED(rank);
  NL_OPTIONAL(world_size);
  NL_OPTIONAL(local_rank);
  NL_OPTIONAL(backend);
  NL_OPTIONAL(hostname_hash);
  NL_OPTIONAL(devices);
  NL_OPTIONAL(file);
  NL_OPTIONAL(clock_offset_ns);
  NL_OPTIONAL(clock_error_bound_ns);
}

template <class Io>
void Describe(Io& io, FieldsOf<Io, RunDocument> x) {
  NL_REQUIRED(schema_version);
  NL_REQUIRED(run_id);
  NL_REQUIRED(created_at);
  NL_REQUIRED(hardware);
  NL_REQUIRED(software);
  NL_REQUIRED(model);
  NL_REQUIRED(source);
  NL_OPTIONAL(timeline_aggregated);
  NL_REQUIRED(timeline);
  NL_REQUIRED(summary);
  NL_OPTIONAL(tags);
  NL_OPTIONAL(config);
  NL_OPTIONAL(env);
  NL_OPTIONAL(clock);
  NL_OPTIONAL(capture);
  NL_OPTIONAL(ranks);
  NL_OPTIONAL(notes);
  NL_OPTIONAL(system);
}

#undef NL_REQUIRED
#undef NL_OPTIONAL

namespace {

// The schema's bounds: -1 for a dynamic extent, and nothing a double cannot hold exactly.
bool IsExtent(const Json& json) {
  constexpr int64_t kEnd = int64_t{1} << 53;
  if (json.is_number_unsigned()) return json.get<uint64_t>() < static_cast<uint64_t>(kEnd);
  return json.is_number_integer() && json.get<int64_t>() >= -1 && json.get<int64_t>() < kEnd;
}

bool IsShape(const Json& json) {
  if (!json.is_array()) return false;
  for (const Json& extent : json) {
    if (!IsExtent(extent)) return false;
  }
  return true;
}

}  // namespace

void RunSummary::SetMetric(std::string_view name, std::optional<double> value) {
  for (auto& [known, number] : metrics) {
    if (known != name) continue;
    number = value;
    return;
  }
  metrics.emplace_back(std::string(name), value);
}

std::optional<double> RunSummary::Metric(std::string_view name) const {
  for (const auto& [known, number] : metrics) {
    if (known == name) return number;
  }
  return std::nullopt;
}

Json ToJson(const RunDocument& document) { return WriteFields(document); }

Result<RunDocument> RunDocumentFromJson(const Json& json) {
  if (json.is_object()) {
    const auto version = json.find("schema_version");
    if (version != json.end() && version->is_number_integer() &&
        version->get<int64_t>() > kRunSchemaVersion) {
      return Unsupported(
          fmt::format("run document: schema_version {} is newer than {}, the newest this build reads",
                      version->get<int64_t>(), kRunSchemaVersion));
    }
  }
  Result<RunDocument> result{RunDocument()};
  if (Status read = ReadFields(json, *result); !read.ok())
    return std::move(read).error().With("run document");
  return result;
}

std::optional<Json> ShapesFromText(std::string_view text) {
  auto parsed = ParseJson(text);
  if (!parsed.ok() || !parsed->is_array()) return std::nullopt;
  for (const Json& input : *parsed) {
    if (!input.is_array()) return std::nullopt;
    for (const Json& part : input) {
      if (!IsExtent(part) && !IsShape(part)) return std::nullopt;
    }
  }
  return *std::move(parsed);
}

}  // namespace nl
