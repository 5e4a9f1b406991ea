// SPDX-License-Identifier: Apache-2.0
#pragma once
// CropTimeline: the timeline of a part of a run. What lies outside of the part is left out, what reaches into
// it is cut at its edges; the part is the wall. Rows of tables keep their numbers. Thread rule: pure
// function.

#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"
#include "base/intervals.h"

namespace nl::passes::timeline {

void CropTimeline(const RunData& data, const Interval& part, TimelineFacts& facts);

}  // namespace nl::passes::timeline
