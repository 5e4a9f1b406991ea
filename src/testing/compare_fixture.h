// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests of the forms of comparisons: comparisons made by hand, ordinary and hostile ones.

#include <string>
#include <vector>

#include "analyze/compare/compare.h"

namespace nl::testing_compare {

// What must never act: Markdown, HTML, terminal sequences, direction overrides, sheer length.
const std::vector<std::string>& HostileNames();

Contribution Of(Cause cause, double a_ms, double b_ms, bool significant = true);

// Walls from the contributions; an unchanged rest goes into the last one's sides.
void Close(Comparison& c, double rest_ms);

// Three changes of +18, -4 and +2 ms and 0.5 ms of drift on 100 ms.
Comparison Usual();

// Every text of every kind from HostileNames; `count` contributions, both signs.
Comparison Hostile(size_t count = 40);

// Two runs in which nothing was recorded.
Comparison Empty();

// One side recorded nothing.
Comparison OneSide();

}  // namespace nl::testing_compare
