// SPDX-License-Identifier: Apache-2.0
#pragma once
// The side-by-side timeline of a comparison as columns, small enough for a page: neighbours in
// one run that belong to the same change and share a pixel at full zoom become one item.
// Thread rule: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/compare/compare.h"
#include "base/record.h"

namespace nl {

struct PairTimelineLimits {
  size_t max_items = 30'000;  // of each run
  double full_zoom_px = 20'000;
};

// One run; the columns are of equal length.
struct PairTimelineSide {
  int64_t items_total = 0;
  std::optional<double> merged_below_ms;
  std::vector<double> start_ms, dur_ms;
  std::vector<int64_t> name;
  std::vector<std::optional<int64_t>> change, partner;
  std::vector<int64_t> count;
};
struct PairTimeline {
  std::vector<std::string> names;
  bool cut = false;
  PairTimelineSide a, b;
};
void Describe(Record<PairTimelineSide>& r);
void Describe(Record<PairTimeline>& r);

PairTimeline MakePairTimeline(const CompareTrack& track, const PairTimelineLimits& limits = {});

}  // namespace nl
