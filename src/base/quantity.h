// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantities as people type them: shares and durations.
// Thread rule: pure functions.

#include <string>

#include "base/result.h"

namespace nl {

// "2%", "0.5 %" or "0.02"; above 0 and below 100 %. `name` is the flag, for the error; `example` for its
// hint.
Result<double> ParseShare(const std::string& name, const std::string& text, const std::string& example);
// "20s", "500ms", "2min" or "20"; above 0.
Result<double> ParseSeconds(const std::string& name, const std::string& text);

}  // namespace nl
