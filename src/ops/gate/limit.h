// SPDX-License-Identifier: Apache-2.0
#pragma once
// The value of --max-regression.
// Thread rule: pure function.

#include <string>

#include "base/result.h"

namespace nl::ops::gate {

// "2%", "0.5 %" or "0.02"; above 0 and below 100 %.
Result<double> ParseLimit(const std::string& text);

}  // namespace nl::ops::gate
