// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: plants that concern the run as a whole rather than a call: how attention is
// computed, graphs, neighbours, the clock, the work itself.
// Thread rule: pure functions.

#include "testing/synthetic/plants.h"

namespace nl::synthetic::plants {

Plant EagerAttention();
Plant OtherAttention(double factor);

Plant GraphAdded();
Plant Contention(double us);
Plant Clock(double factor);
Plant WorkChanged(const std::string& name, const std::function<void(Scenario&)>& apply);
Plant Nothing();

}  // namespace nl::synthetic::plants
