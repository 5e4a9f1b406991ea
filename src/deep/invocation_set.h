// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which launches Nsight Compute measures. It takes one --kernel-id: an expression for names and one for the
// numbers of launches, counted per function; every function that matches is measured at every number. So the
// numbers are chosen such that each selected kernel has a suitable launch among them and as few launches as
// possible are measured besides. (ncu 2025.3: a second --kernel-id is an error.)
// Thread rule: pure function.

#include <cstdint>
#include <vector>

namespace nl::deep {

// `suitable`: for each kernel the numbers of launches that will do, not empty. `counts`: launches of each
// function. Sorted numbers; a good set, not always the best.
std::vector<int64_t> FewestLaunches(const std::vector<std::vector<int64_t>>& suitable,
                                    const std::vector<int64_t>& counts);

// Launches that are measured: of each function, the numbers up to its count.
int64_t MeasuredLaunches(const std::vector<int64_t>& numbers, const std::vector<int64_t>& counts);

}  // namespace nl::deep
