// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `device`: one device the source describes.

#include "model/table.h"

// clang-format off
#define NL_DEVICE_COLUMNS(X) \
  X(int32_t, device, kDict, "", "Device index in the source") \
  X(StringId, name, kDict, "", "Device name") \
  X(int64_t, memory_bytes, kDict, "bytes", "Total device memory") \
  X(int32_t, sm_count, kDict, "", "Streaming multiprocessors or compute units") \
  X(int32_t, compute_major, kDict, "", "Compute capability, major") \
  X(int32_t, compute_minor, kDict, "", "Compute capability, minor") \
  X(int32_t, warp_threads, kDict, "", "Threads in a warp or wavefront") \
  X(int32_t, max_threads_per_sm, kDict, "", "Resident threads one multiprocessor can hold") \
  X(int64_t, shared_bytes_per_sm, kDict, "bytes", "Shared memory of one multiprocessor") \
  X(int64_t, registers_per_sm, kDict, "", "Registers of one multiprocessor") \
  X(StringId, properties, kDict, "", "Everything the source said of the device, JSON text")
// clang-format on

namespace nl {
NL_TABLE(Device, "device", device, "One device the source describes", NL_DEVICE_COLUMNS)
}  // namespace nl
