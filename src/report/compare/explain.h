// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sentences of a comparison: one for each contribution, and the verdict.
// Names in them come from traces and are not escaped.
// Thread rule: pure functions.

#include <string>

#include "analyze/compare/compare.h"

namespace nl {

std::string ContributionText(const Contribution& contribution, const Comparison& comparison);

std::string VerdictText(const Comparison& comparison);

}  // namespace nl
