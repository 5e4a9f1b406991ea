// SPDX-License-Identifier: Apache-2.0
#pragma once
// TorchText: what PyTorch's NVTX profiler pushes for an operator, taken apart:
//   aten::mul, seq = 45, op_id = 99, sizes = [[2, 3], []], input_op_ids = [(98,0)]
// Its numbers make every text one of its kind, and a process has room for so many texts only
// (a minute of an eager model would fill it): they go into the record, name and shapes stay text,
// and the list of inputs is left out.
// Thread rule: pure function; the views point into the text or the buffer.

#include <cstdint>
#include <string_view>

#include "capture/format/records.h"

namespace nl::capture {

struct TorchText {
  bool is_torch = false;      // else the rest is empty
  bool has_sequence = false;  // it has a backward
  uint64_t sequence = 0, op_id = 0;
  std::string_view text;  // name, and ", sizes = ..." if there are any
};

// `buffer`: kMaxStringBytes + 1 bytes, used where the text is not of one piece.
TorchText TakeTorchText(std::string_view text, char* buffer);

}  // namespace nl::capture
