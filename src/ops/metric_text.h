// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `gate` and `trend` share: values of metrics for people, and the list of metrics for help.
// Thread rule: pure functions.

#include <string>

#include "base/json.h"

namespace nl {

// Four digits and the unit: "182.8 ms", "23.4 %", "574.4 tokens/s", "3.2 GB"; "-" when not a number.
std::string MetricText(const Json& value, const std::string& unit);

// "wall, device[:STAGE], ...".
std::string MetricForms();

}  // namespace nl
