// SPDX-License-Identifier: Apache-2.0
#pragma once
// TorchLabel: the text PyTorch gives to NVTX for an op or a record_function label, as
// torch.autograd.profiler.emit_nvtx writes it (torch 1.13 to 2.9):
//   aten::mul, seq = 45328, op_id = 990726, sizes = [[2, 3], []], input_op_ids = [(990724,0)]
// Each part but the name may be missing. Nothing in the text says whether it is an op or a
// user's label, so the name decides: what has a sequence number, begins with autograd::, or
// reads like namespace::name is an op.
// Thread rule: pure function; the views point into the text.

#include <cstdint>
#include <string>
#include <string_view>

#include "model/ids.h"

namespace nl {

struct TorchLabel {
  bool given = false;  // the text has at least one of the parts
  bool is_op = false;
  std::string_view name, sizes, input_op_ids;
  int64_t sequence = NullOf<int64_t>::value;
  int64_t op_id = NullOf<int64_t>::value;
};

TorchLabel ParseTorchLabel(std::string_view text);
// The same where the numbers were kept apart: `text` is the name, and ", sizes = ..." if there are any.
TorchLabel ParseTorchLabel(std::string_view text, int64_t op_id, int64_t sequence);

// Sizes as all other sources of shapes write them: without spaces.
std::string ShapesOf(const TorchLabel& label);

}  // namespace nl
