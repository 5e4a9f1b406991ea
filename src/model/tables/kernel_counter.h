// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `kernel_counter`: hardware counters of one kernel execution, under one name and unit
// whichever tool measured them. What every analysis reads.

#include "model/table.h"

// clang-format off
#define NL_KERNEL_COUNTER_COLUMNS(X) \
  X(RowId, kernel_id, kDelta, "", "Kernel they belong to (kernel.id)") \
  X(StringId, source, kDict, "", "Who measured: ncu, pm_sampling, ...") \
  X(StringId, joined_by, kDict, "", "recorded: of this very execution; same_kernel: of executions of the same name, grid and block; launch_order: of a second recording, joined by name, grid, block and order") \
  X(int64_t, dur_ns, kDict, "ns", "Duration of the execution that was measured") \
  X(double, achieved_occupancy, kDict, "ratio", "Resident warps / the most there can be") \
  X(double, warp_execution_efficiency, kDict, "ratio", "Active threads per executed warp instruction / 32") \
  X(double, sm_efficiency, kDict, "ratio", "Cycles an SM was active / elapsed") \
  X(double, tensor_active, kDict, "ratio", "Cycles the tensor pipes were active / elapsed") \
  X(double, sm_throughput, kDict, "ratio", "Throughput of the busiest unit of the SMs / its peak") \
  X(double, dram_throughput, kDict, "ratio", "DRAM throughput / its peak") \
  X(double, l2_hit_rate, kDict, "ratio", "Sectors found in L2 / sectors asked for") \
  X(double, dram_read_bytes, kDict, "bytes", "Read from device memory") \
  X(double, dram_write_bytes, kDict, "bytes", "Written to device memory") \
  X(double, dram_bytes, kDict, "bytes", "Both; where only a rate was measured, the rate times dur_ns") \
  X(double, flops, kDict, "", "Floating point operations, executed on vector and tensor pipes") \
  X(double, sm_clock_hz, kDict, "Hz", "SM clock while it ran") \
  X(double, local_sectors, kDict, "", "Sectors of local memory moved: register spills") \
  X(double, bank_conflicts, kDict, "", "Shared memory bank conflicts") \
  X(double, coalescing, kDict, "ratio", "Bytes used / bytes moved by global loads") \
  X(double, stall_memory, kDict, "ratio", "Warp time stalled on memory") \
  X(double, stall_sync, kDict, "ratio", "Warp time stalled at barriers") \
  X(double, stall_dependency, kDict, "ratio", "Warp time stalled on results of earlier instructions") \
  X(double, stall_contention, kDict, "ratio", "Warp time stalled on busy pipes")
// clang-format on

namespace nl {
NL_TABLE(KernelCounter, "kernel_counter", kernel_id,
         "Hardware counters of one kernel execution, the same names and units whoever measured them",
         NL_KERNEL_COUNTER_COLUMNS)
}  // namespace nl
