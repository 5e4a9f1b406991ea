// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unions of time intervals: the only way time is added up where work overlaps.
// Thread rule: pure functions.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace nl {

struct Interval {
  int64_t start_ns = 0, end_ns = 0;
};

// Sorts by start and merges what touches or overlaps, in place.
inline void MergeIntervals(std::vector<Interval>& v) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; };
  if (!std::is_sorted(v.begin(), v.end(), earlier)) std::sort(v.begin(), v.end(), earlier);
  size_t kept = 0;
  for (const Interval& i : v) {
    if (kept > 0 && i.start_ns <= v[kept - 1].end_ns) {
      v[kept - 1].end_ns = std::max(v[kept - 1].end_ns, i.end_ns);
    } else {
      v[kept++] = i;
    }
  }
  v.resize(kept);
}

// Time covered by at least one interval.
inline int64_t UnionNs(std::vector<Interval> v) {
  MergeIntervals(v);
  int64_t sum = 0;
  for (const Interval& i : v) sum += i.end_ns - i.start_ns;
  return sum;
}

}  // namespace nl
