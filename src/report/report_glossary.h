// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the words of a report mean; only those that this report uses.
// Thread rule: pure function.

#include <string>
#include <vector>

#include "base/record.h"

namespace nl {

struct Report;

struct GlossaryTerm {
  std::string name, unit, meaning;
};
void Describe(Record<GlossaryTerm>& r);

// The terms of the sections that `report` has.
std::vector<GlossaryTerm> GlossaryOf(const Report& report);

}  // namespace nl
