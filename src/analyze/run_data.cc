// SPDX-License-Identifier: Apache-2.0
#include "analyze/run_data.h"

#include "model/run_document.h"

namespace nl {

bool RunData::OrderOnly() const {
  const auto clock = document.find("clock");
  if (clock == document.end() || !clock->is_object()) return false;
  const auto source = clock->find("source");
  return source != clock->end() && *source == kClockOfOrder;
}

std::vector<Interval> PausesOf(const Json& document) {
  std::vector<Interval> out;
  const Json::json_pointer place("/capture/pauses");
  if (!document.contains(place)) return out;
  for (const Json& pause : document[place])
    out.push_back({pause.value("start_ns", int64_t{0}), pause.value("end_ns", int64_t{0})});
  MergeIntervals(out);
  return out;
}

Status LoadRunData(Snapshot& snapshot, RunData& to) {
  to.strings = &snapshot.strings();
  NL_TRY(snapshot.Load(to.process, {"pid", "rank"}));
  NL_TRY(snapshot.Load(to.thread, {"process_id", "tid", "name"}));
  NL_TRY(snapshot.Load(to.device, {"device", "name", "memory_bytes", "sm_count"}));
  NL_TRY(snapshot.Load(to.kernel, {"thread_id",
                                   "start_ns",
                                   "dur_ns",
                                   "device",
                                   "context",
                                   "stream",
                                   "name",
                                   "correlation",
                                   "registers_per_thread",
                                   "shared_bytes",
                                   "grid_x",
                                   "grid_y",
                                   "grid_z",
                                   "block_x",
                                   "block_y",
                                   "block_z",
                                   "estimated_occupancy_pct",
                                   "graph_id",
                                   "graph_node_id",
                                   "api_call_id",
                                   "op_id"}));
  NL_TRY(snapshot.Load(to.memcpy,
                       {"thread_id", "start_ns", "dur_ns", "device", "context", "stream", "name", "kind",
                        "src_memory", "dst_memory", "bytes", "graph_id", "api_call_id", "op_id"}));
  NL_TRY(snapshot.Load(to.memset, {"thread_id", "start_ns", "dur_ns", "device", "context", "stream", "name",
                                   "api_call_id", "op_id"}));
  NL_TRY(snapshot.Load(
      to.sync, {"thread_id", "start_ns", "dur_ns", "device", "context", "stream", "name", "correlation",
                "wait_on_stream", "wait_on_event", "wait_on_correlation", "api_call_id"}));
  NL_TRY(snapshot.Load(to.api_call, {"thread_id", "start_ns", "dur_ns", "name", "correlation", "op_id"}));
  NL_TRY(snapshot.Load(to.op, {"thread_id", "start_ns", "dur_ns", "name", "sequence_number", "input_dims",
                               "input_types", "concrete_inputs"}));
  NL_TRY(snapshot.Load(to.python_call, {"thread_id", "start_ns", "dur_ns", "name", "python_module_id"}));
  NL_TRY(snapshot.Load(to.range, {"thread_id", "start_ns", "dur_ns", "name", "category", "kind"}));
  NL_TRY(snapshot.Load(to.step, {"range_id", "number", "name", "start_ns", "dur_ns"}));
  NL_TRY(snapshot.Load(to.collective,
                       {"owner", "owner_id", "name", "dtype", "in_elements", "out_elements", "group_size",
                        "group_name", "group_description", "group_ranks", "sequence"}));
  NL_TRY(snapshot.Load(to.cpu_sample, {"thread_id", "start_ns", "stack", "weight_ns", "weight", "unit"}));
  NL_TRY(snapshot.Load(to.memory_event, {"total_allocated_bytes", "device_type"}));
  NL_TRY(snapshot.Load(to.kernel_counter, {"kernel_id",
                                           "source",
                                           "dur_ns",
                                           "achieved_occupancy",
                                           "warp_execution_efficiency",
                                           "sm_efficiency",
                                           "tensor_active",
                                           "sm_throughput",
                                           "dram_throughput",
                                           "l2_hit_rate",
                                           "dram_read_bytes",
                                           "dram_write_bytes",
                                           "dram_bytes",
                                           "flops",
                                           "local_sectors",
                                           "bank_conflicts",
                                           "coalescing",
                                           "stall_memory",
                                           "stall_sync",
                                           "stall_dependency",
                                           "stall_contention"}));
  NL_TRY(snapshot.Load(to.tool_finding, {"kernel_id", "tool", "rule", "kind", "message", "speedup_scope",
                                         "estimated_speedup_pct"}));
  return snapshot.Load(to.import_log, {"reason", "severity", "count", "advice"});
}

}  // namespace nl
