// SPDX-License-Identifier: Apache-2.0
#include "ops/gate/limit.h"

#include "base/quantity.h"

namespace nl::ops::gate {

Result<double> ParseLimit(const std::string& text) {
  return ParseShare("--max-regression", text, "2% or 0.02");
}

}  // namespace nl::ops::gate
