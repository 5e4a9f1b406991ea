// SPDX-License-Identifier: Apache-2.0
#pragma once
// The details of device work, which XLA's profiler writes as one text:
//   regs:168 static_shared:0 dynamic_shared:213220 grid:2,66,1 block:384,1,1 occ_pct:18.75   (CUDA)
//   grid:4,64,1 block:256,1,1 private_mem:0 group_mem:8704 occ_pct:0                          (ROCm)
//   kind_src:pageable kind_dst:device size:4096 dest:0 async:1                                (copies)
//   kind:unknown num_bytes:4 async:0                                                          (fills)
// Thread rule: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "model/ids.h"

namespace nl::adapters::xplane {

struct KernelDetails {
  int32_t registers = NullOf<int32_t>::value;
  int64_t shared_bytes = NullOf<int64_t>::value;  // static and dynamic, or ROCm's group memory
  int32_t grid[3] = {NullOf<int32_t>::value, NullOf<int32_t>::value, NullOf<int32_t>::value};
  int32_t block[3] = {NullOf<int32_t>::value, NullOf<int32_t>::value, NullOf<int32_t>::value};
  double occupancy_pct = NullOf<double>::value;  // null where ROCm writes 0
};
KernelDetails ParseKernelDetails(std::string_view text);

struct CopyDetails {
  std::string kind;                    // HtoD, ...; empty when neither name nor sides show it
  std::string src_memory, dst_memory;  // Pageable, Pinned, Device; empty when not given
  int64_t bytes = NullOf<int64_t>::value;
};
// `name` is that of the event: "MemcpyH2D".
CopyDetails ParseCopyDetails(std::string_view text, std::string_view name);
int64_t ParseMemsetBytes(std::string_view text);

}  // namespace nl::adapters::xplane
