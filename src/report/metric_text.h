// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of metrics for display.
// Thread rule: pure functions.

#include <optional>
#include <string>

namespace nl {

// Four digits and the unit: "182.8 ms", "23.4 %", "574.4 tokens/s", "3.2 GB"; "-" when null.
std::string MetricText(std::optional<double> value, const std::string& unit);

}  // namespace nl
