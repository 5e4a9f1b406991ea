// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/verdict/rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nl::compare {

std::vector<uint32_t> Rank(std::vector<Contribution>& contributions) {
  std::vector<uint32_t> order(contributions.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
    const Contribution &cx = contributions[x], &cy = contributions[y];
    if (cx.significant != cy.significant) return cx.significant;
    return std::abs(cx.delta_ms()) > std::abs(cy.delta_ms());
  });
  std::vector<Contribution> ranked;
  std::vector<uint32_t> place(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    ranked.push_back(std::move(contributions[order[i]]));
    place[order[i]] = i;
  }
  contributions = std::move(ranked);
  return place;
}

void Rerank(Comparison& comparison) {
  const std::vector<uint32_t> place = Rank(comparison.contributions);
  for (auto* items : {&comparison.timeline.a, &comparison.timeline.b}) {
    for (CompareTrack::Item& item : *items) {
      if (item.change >= 0) item.change = static_cast<int32_t>(place[static_cast<size_t>(item.change)]);
    }
  }
}

}  // namespace nl::compare
