// SPDX-License-Identifier: Apache-2.0
#pragma once
// The side-by-side timeline of a comparison as columns, few enough for a page: neighbours
// of one run that belong to the same change and share a pixel at full zoom are drawn as one.
// Thread rule: pure functions.

#include "analyze/compare/compare.h"

namespace nl {

struct CompareTimelineLimits {
  size_t max_items = 30'000;  // of each run
  double full_zoom_px = 20'000;
};

// {names[], cut, a, b: {items_total, merged_below_ms, start_ms[], dur_ms[], name[], change[],
// partner[], count[]}}. `change` is the rank of a contribution or null; `partner` a position in
// the other run's columns or null. `cut`: both runs go on behind what is here. merged_below_ms is null when
// every item is there.
Json CompareTimelineJson(const CompareTrack& track, const CompareTimelineLimits& limits = {});

}  // namespace nl
