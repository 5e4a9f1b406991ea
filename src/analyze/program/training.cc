// SPDX-License-Identifier: Apache-2.0
#include "analyze/program/training.h"

#include <algorithm>

#include "analyze/program/per_name.h"
#include "base/has_any.h"

namespace nl::program {

bool IsBackward(std::string_view name) {
  return name.starts_with("autograd::engine") || HasAny(name, {"backward", "Backward"});
}

bool HasBackward(const RunData& data) {
  PerName backward(data, IsBackward);
  return std::any_of(data.op.name.begin(), data.op.name.end(),
                     [&](StringId name) { return backward.Of(name); });
}

}  // namespace nl::program
