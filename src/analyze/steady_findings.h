// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program that was recorded from its start is explained by its steady phase: what bounds the run and takes
// its time, start-up included, is not what its steps suffer from. Thread rule: that of the analysis.

#include <optional>

#include "analyze/analysis.h"
#include "analyze/facts/findings.h"

namespace nl {

// The steady phase, where it is what answers are about unless another part is asked for; none: the whole run.
Result<std::optional<PhasesFacts::Span>> SteadyByDefault(Analysis& analysis);

// The findings of one part of the run, with those about the recording as a whole. Their fixes are for the
// texts: targets belong to the timeline of the part.
Result<FindingsFacts> FindingsOfPart(Analysis& analysis, const PhasesFacts::Span& span);

// The same of the steady phase, where it is what answers are about; the findings of the run otherwise.
Result<FindingsFacts> SteadyFindings(Analysis& analysis);

}  // namespace nl
