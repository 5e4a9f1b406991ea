// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the words of a report mean; only those that this report uses.
// Thread rule: pure function.

#include "base/json.h"

namespace nl {

// [{name, unit, meaning}] for the sections that `report` has.
Json GlossaryJson(const Json& report);

}  // namespace nl
