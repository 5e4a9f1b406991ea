// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program that was recorded from its start is explained by its steady phase: what bounds the run, start-up
// included, is not what bounds its steps. Thread rule: that of the analysis.

#include <optional>

#include "analyze/analysis.h"
#include "analyze/facts/findings.h"

namespace nl {

// The steady phase, where it is what answers are about unless another part is asked for; none: the whole run.
Result<std::optional<PhasesFacts::Span>> SteadyByDefault(Analysis& analysis);

// What bounds that phase in place of what bounds the run; the same where the whole run is looked at.
Result<Diagnosis> DiagnoseSteady(Analysis& analysis);

}  // namespace nl
