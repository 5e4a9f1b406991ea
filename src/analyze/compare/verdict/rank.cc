// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/verdict/rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nl::compare {

void Rerank(Comparison& comparison) {
  std::vector<Contribution>& all = comparison.contributions;
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&all](size_t x, size_t y) {
    if (all[x].significant != all[y].significant) return all[x].significant;
    return std::abs(all[x].delta_ms()) > std::abs(all[y].delta_ms());
  });
  std::vector<Contribution> ranked;
  std::vector<int32_t> place(all.size());
  for (size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<int32_t>(i);
    ranked.push_back(std::move(all[order[i]]));
  }
  all = std::move(ranked);
  for (auto* items : {&comparison.timeline.a, &comparison.timeline.b}) {
    for (CompareTrack::Item& item : *items) {
      if (item.change >= 0) item.change = place[static_cast<size_t>(item.change)];
    }
  }
}

}  // namespace nl::compare
