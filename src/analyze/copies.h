// SPDX-License-Identifier: Apache-2.0
#pragma once
// What kind of copy a row of the table memcpy is. Reads its columns kind, src_memory and dst_memory, which
// the caller declares. Thread rule: pure functions.

#include <cstdint>

#include "analyze/run_data.h"

namespace nl {

// From or to pageable memory: the driver stages it, and the call waits.
inline bool IsPageableCopy(const RunData& data, uint32_t row) {
  return data.Text(data.memcpy.src_memory[row]) == "Pageable" ||
         data.Text(data.memcpy.dst_memory[row]) == "Pageable";
}

inline bool IsCopyToDevice(const RunData& data, uint32_t row) {
  return data.Text(data.memcpy.kind[row]) == "HtoD";
}
inline bool IsCopyToHost(const RunData& data, uint32_t row) {
  return data.Text(data.memcpy.kind[row]) == "DtoH";
}

}  // namespace nl
