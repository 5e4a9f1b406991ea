// SPDX-License-Identifier: Apache-2.0
#pragma once
// What shows that a program trains.
// Thread rule: pure functions.

#include <string_view>

#include "analyze/run_data.h"

namespace nl::program {

// By the name of an operator or of a range around it: the autograd engine, or something that says backward.
bool IsBackward(std::string_view name);
// Any operator of the run is backward.
inline constexpr Reads kHasBackwardReads = NL_READS(Op, name);
bool HasBackward(const RunData& data);

}  // namespace nl::program
