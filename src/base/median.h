// SPDX-License-Identifier: Apache-2.0
#pragma once
// One value of a list by its rank, selected in O(n) and of the list's own type: a double cannot represent
// a Unix time in ns exactly. The mean of the middle two values is Median in analyze/statistics/stats.h.
// Thread rule: pure functions. They reorder the list.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace nl {

// The value that `rank` others come before; `rank` is less than the size.
template <class T>
T AtRank(std::vector<T>& v, size_t rank) {
  const auto at = v.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(v.begin(), at, v.end());
  return *at;
}

// The larger of the middle two of an even number of values; 0 of none.
template <class T>
T UpperMedian(std::vector<T>& v) {
  return v.empty() ? T{} : AtRank(v, v.size() / 2);
}

// The smaller of the middle two of an even number of values; 0 of none.
template <class T>
T LowerMedian(std::vector<T>& v) {
  return v.empty() ? T{} : AtRank(v, (v.size() - 1) / 2);
}

}  // namespace nl
