// SPDX-License-Identifier: Apache-2.0
// The dictionary of names that rules may use. docs/rules.md lists the same table.
#include "analyze/features/features.h"

namespace nl {

namespace {

std::vector<FeatureInfo> MakeNames() {
  return {
      {"run.model", "text", "Model name of the run document"},
      {"run.device", "text", "Name of the first device"},
      {"run.top_op", "text", "Operator with the most device time"},
      {"run.launch_op", "text", "Operator that launches the most kernels"},
      {"run.repeat_label", "text", "Label of the repeated step"},
      {"run.wall_ms", "ms", "First to last event"},
      {"run.paused_ms", "ms", "Of it, time in which recording paused; shares of the wall leave it out"},
      {"run.device_busy_ms", "ms", "Union of device work, mean over devices"},
      {"run.device_idle_ms", "ms", "wall - paused - busy, mean over devices"},
      {"run.gpu_utilization", "ratio", "busy / (wall - paused), mean over devices"},
      {"run.kernels", "count", "Kernels"},
      {"run.kernel_ms", "ms", "Sum of kernel durations"},
      {"run.launches", "count", "Launch calls"},
      {"run.launch_api_ms", "ms", "Host time in launch calls"},
      {"run.launch_share", "ratio", "Device idle inside launch calls and launch latency / wall"},
      {"run.idle_host_ms", "ms", "Idle before the launch call of the next work was issued"},
      {"run.idle_host_share", "ratio", "idle_host_ms / wall"},
      {"run.idle_launch_ms", "ms", "Idle inside launch calls and in launch latency"},
      {"run.idle_sync_ms", "ms", "Idle while the launching thread was blocked in a sync or copy call"},
      {"run.idle_sync_share", "ratio", "idle_sync_ms / wall"},
      {"run.idle_other_ms", "ms", "Idle none of these explains"},
      {"run.copies_ms", "ms", "Device time of copies"},
      {"run.copies_share", "ratio", "copies_ms / wall"},
      {"run.copies_exposed_ms", "ms", "Copies with no kernel running at the same time"},
      {"run.h2d_ms", "ms", "Copies host to device"},
      {"run.d2h_ms", "ms", "Copies device to host"},
      {"run.d2d_ms", "ms", "Copies device to device"},
      {"run.pageable_copies", "count", "Copies from or to pageable memory"},
      {"run.pageable_ms", "ms", "Their device time"},
      {"run.sync_calls", "count", "Blocking synchronisation calls"},
      {"run.sync_ms", "ms", "Host time in them"},
      {"run.sync_calls_per_step", "count", "Of those, in steps, per step"},
      {"run.steps", "count", "Steps the source labels"},
      {"run.step_ms", "ms", "Median duration of a step"},
      {"run.communication_ms", "ms", "Device time of collectives (union), mean over devices"},
      {"run.communication_share", "ratio", "communication_ms / wall"},
      {"run.communication_exposed_ms", "ms", "Collectives with no compute at the same time"},
      {"run.ranks", "count", "Ranks (or devices) that meet in collectives"},
      {"run.collective_wait_ms", "ms", "In collectives until the last rank arrived, mean over ranks"},
      {"run.collective_wait_share", "ratio", "collective_wait_ms / wall"},
      {"run.collective_transfer_ms", "ms", "In collectives from the last arrival on, mean over ranks"},
      {"run.straggler", "text", "Rank that held the others up the most"},
      {"run.straggler_held_up_ms", "ms", "Its arrivals as the last, after the one before it, sum"},
      {"run.straggler_last_share", "ratio", "Collectives it arrived last in, of its own"},
      {"run.straggler_mean_late_ms", "ms", "Its arrival after the first, mean"},
      {"run.straggler_uncertainty_ms", "ms", "How wrong an arrival may be, as clocks of ranks differ"},
      {"run.short_kernel_share", "ratio", "Kernels shorter than their launch call"},
      {"run.short_kernel_excess_ms", "ms", "Sum of launch call - kernel over those"},
      {"run.empty_queue_share", "ratio", "Kernels launched into an empty stream"},
      {"run.host_busy_share", "ratio",
       "Launching thread: time in operators, Python or calls, not blocked / wall"},
      {"run.ops", "count", "Operator calls with device work"},
      {"run.op_median_ms", "ms", "Median device time of these"},
      {"run.alloc_calls", "count", "Device allocation and free calls in steady state"},
      {"run.alloc_ms", "ms", "Host time in them"},
      {"run.layout_copy_ms", "ms", "Device time of same-type copies, concatenations, transposes"},
      {"run.layout_copy_share", "ratio", "Of device time"},
      {"run.gemm_share", "ratio", "Matrix products, of device time"},
      {"run.compute_family_share", "ratio", "GEMM, convolution and attention kernels, of device time"},
      {"run.memory_family_share", "ratio",
       "Elementwise, copy, norm, reduction, index kernels, of device time"},
      {"run.low_ai_share", "ratio", "GEMM time with fewer than 100 FLOP per byte by shape, of device time"},
      {"run.high_ai_share", "ratio", "GEMM time with more than 400 FLOP per byte by shape, of device time"},
      {"run.half_gemm_ms", "ms", "GEMM device time with bf16 or fp16 inputs"},
      {"run.fp32_gemm_ms", "ms", "GEMM device time with fp32 inputs"},
      {"run.repeat_share", "ratio", "Steps with the most common sequence of operators"},
      {"run.repeat_static_share", "ratio", "Steps with the most common sequence of kernels and grids"},
      {"run.repeat_kernels", "count", "Kernels in that sequence"},
      {"run.repeat_idle_ms", "ms", "Device idle waiting for host or launch in those steps"},
      {"run.profiler_overhead_ms", "ms", "Time the profiler reports for itself"},
      {"run.profiler_overhead_share", "ratio", "Of wall"},
      {"run.lost_records", "count", "Records lost by the recorder or the import"},
      {"run.suspect_records", "count", "Records with impossible values"},
      {"run.clock_ratio", "ratio", "SM clock while busy / its maximum"},

      {"stage.name", "text", "Label without LLM@"},
      {"stage.count", "count", "Times it ran"},
      {"stage.total_ms", "ms", "Host time in it"},
      {"stage.share", "ratio", "total_ms / wall"},
      {"stage.device_ms", "ms", "Device time it launched"},
      {"stage.kernels", "count", "Kernels it launched"},
      {"stage.busy_share", "ratio", "device_ms / total_ms"},

      {"op.name", "text", "Operator"},
      {"op.module", "text", "Module class, or the block inferred from the operator sequence"},
      {"op.stage", "text", "Stage it ran in"},
      {"op.shapes", "text", "Input shapes"},
      {"op.dtypes", "text", "Input types"},
      {"op.kernel", "text", "Its longest kernel"},
      {"op.api", "text", "API call that blocked or allocated"},
      {"op.caller", "text", "Python function around it, when sampled"},
      {"op.place", "text", "Operator, module and stage in one phrase"},
      {"op.calls", "count", "Calls"},
      {"op.device_ms", "ms", "Device time"},
      {"op.host_ms", "ms", "Host time"},
      {"op.share", "ratio", "Of device time"},
      {"op.is_gemm", "flag", "Runs a matrix product"},
      {"op.is_fp32", "flag", "Its inputs are fp32"},
      {"op.sync_calls", "count", "Blocking synchronisations in it"},
      {"op.sync_steps_share", "ratio", "Steps in which it synchronises"},
      {"op.sync_per_step", "count", "Synchronisations per step"},
      {"op.sync_blocked_ms", "ms", "Host time blocked in them"},
      {"op.sync_idle_ms", "ms", "Device idle from the call until work resumed"},
      {"op.sync_bytes", "bytes", "Bytes fetched from the device per call"},
      {"op.pageable_copies", "count", "Copies from or to pageable memory"},
      {"op.pageable_ms", "ms", "Their device time, and device idle during their calls"},
      {"op.pageable_blocked_ms", "ms", "Host time in their calls, waiting for earlier work included"},
      {"op.pageable_bytes", "bytes", "Bytes of each, mean"},
      {"op.pageable_share", "ratio", "pageable_ms / wall"},
      {"op.alloc_calls", "count", "Device allocations and frees in steady state"},
      {"op.alloc_ms", "ms", "Host time in them"},
      {"op.fp32_gemm_ms", "ms", "fp32 GEMMs of this module, device time"},
      {"op.fp32_gemm_share", "ratio", "Of device time"},
      {"op.upcast_calls", "count", "Casts to fp32 that feed them"},
      {"op.upcast_ms", "ms", "Their device time"},
      {"op.attention_calls", "count", "GEMM, softmax, GEMM sequences"},
      {"op.attention_ms", "ms", "Device time from the first GEMM to the second"},
      {"op.attention_share", "ratio", "Of device time"},
      {"op.chains", "count", "Runs of 3 or more pointwise kernels on one size"},
      {"op.chain_length", "count", "Kernels in them, mean"},
      {"op.chain_ms", "ms", "Their device time"},
      {"op.chain_saved_ms", "ms", "chain_ms less the longest kernel of each"},
      {"op.chain_share", "ratio", "chain_ms of device time"},

      {"features.lat_norm", "ratio", "Duration of the op / sum of op durations"},
      {"features.ai", "count", "FLOP per DRAM byte, measured"},
      {"features.occ", "ratio", "Achieved occupancy, measured"},
      {"features.warp_eff", "ratio", "Active threads per warp instruction / 32, measured"},
      {"features.l2_hit", "ratio", "L2 hit rate, measured"},
      {"features.dram_norm", "ratio", "DRAM throughput / peak, measured"},

      {"kernel.name", "text", "Short name"},
      {"kernel.raw_name", "text", "Name as the source spells it"},
      {"kernel.family", "text", "gemm, attention, elementwise, ..."},
      {"kernel.op", "text", "Operator that launches most of it"},
      {"kernel.module", "text", "Module of that operator"},
      {"kernel.stage", "text", "Stage of that operator"},
      {"kernel.place", "text", "Operator, module and stage in one phrase"},
      {"kernel.calls", "count", "Executions"},
      {"kernel.total_ms", "ms", "Sum of durations"},
      {"kernel.mean_us", "us", "Mean duration"},
      {"kernel.share", "ratio", "Of device time"},
      {"kernel.occupancy_estimate", "ratio", "From launch figures, not measured"},
      {"kernel.registers", "count", "Registers of a thread"},
      {"kernel.blocks_per_sm", "count", "Blocks of the longest call / SMs"},
      {"kernel.is_gemm", "flag", "Family gemm"},
      {"kernel.is_conv", "flag", "Family conv"},
      {"kernel.is_attention", "flag", "Family attention"},
      {"kernel.is_elementwise", "flag", "Families elementwise, copy, index"},
      {"kernel.is_reduction", "flag", "Families reduction, norm, softmax"},
      {"kernel.is_communication", "flag", "Collectives"},
      {"kernel.is_fp32", "flag", "Its name says fp32 inputs"},
      {"kernel.tensor_core", "flag", "Its name says whether it uses tensor instructions"},
      {"kernel.has_counters", "flag", "Hardware counters of it were recorded or attached"},
      {"kernel.sm_pct", "ratio", "SM throughput / peak, measured"},
      {"kernel.dram_pct", "ratio", "DRAM throughput / peak, measured"},
      {"kernel.local_sectors", "count", "Local memory sectors (spills), measured"},
      {"kernel.bank_conflicts", "count", "Shared memory bank conflicts, measured"},
      {"kernel.coalescing", "ratio", "Bytes used / bytes moved by global accesses, measured"},
      {"kernel.stall_memory", "ratio", "Warp stalls on memory, measured"},
      {"kernel.stall_sync", "ratio", "Warp stalls on barriers, measured"},
      {"kernel.stall_dependency", "ratio", "Warp stalls on dependencies, measured"},
      {"kernel.stall_contention", "ratio", "Warp stalls on busy pipes, measured"},

      {"delta.latency_ratio", "ratio", "Latency / that of the baseline"},
      {"delta.latency_ms", "ms", "Latency - that of the baseline"},
      {"delta.significant", "flag", "The change is outside of the noise"},
  };
}

struct ShortName {
  std::string_view name, feature;
};
constexpr ShortName kShortNames[] = {
    {"h2d_time", "run.h2d_ms"},
    {"d2h_time", "run.d2h_ms"},
    {"d2d_time", "run.d2d_ms"},
    {"memcpy_time", "run.copies_ms"},
    {"copy_time", "run.copies_ms"},
    {"total_time", "run.wall_ms"},
    {"wall_time", "run.wall_ms"},
    {"gpu_time", "run.device_busy_ms"},
    {"gpu_busy_time", "run.device_busy_ms"},
    {"kernel_time", "run.kernel_ms"},
    {"idle_time", "run.device_idle_ms"},
    {"gpu_idle_time", "run.device_idle_ms"},
    {"sync_time", "run.sync_ms"},
    {"launch_time", "run.launch_api_ms"},
    {"communication_time", "run.communication_ms"},
    {"gpu_utilization", "run.gpu_utilization"},
    {"kernel_count", "run.kernels"},
    {"launch_count", "run.launches"},
    {"lat_norm", "features.lat_norm"},
    {"ai", "features.ai"},
    {"occ", "features.occ"},
    {"warp_eff", "features.warp_eff"},
    {"l2_hit", "features.l2_hit"},
    {"dram_norm", "features.dram_norm"},
};

}  // namespace

const std::vector<FeatureInfo>& FeatureNames() {
  static const std::vector<FeatureInfo> names = MakeNames();
  return names;
}

const FeatureInfo* FindFeature(std::string_view name) {
  for (const FeatureInfo& info : FeatureNames()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::string_view FeatureOfShortName(std::string_view name) {
  for (const ShortName& s : kShortNames) {
    if (s.name == name) return s.feature;
  }
  return "";
}

}  // namespace nl
