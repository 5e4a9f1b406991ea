// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unions of time intervals: the only way time is added up where work overlaps.
// Thread rule: pure functions; an IntervalCover is immutable.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace nl {

struct Interval {
  int64_t start_ns = 0, end_ns = 0;
  bool operator==(const Interval&) const = default;
};

// Whether something of [start_ns, end_ns) is in the part. What has no length is where it starts.
inline bool ReachesInto(const Interval& part, int64_t start_ns, int64_t end_ns) {
  return start_ns < part.end_ns && (end_ns > part.start_ns || start_ns >= part.start_ns);
}
// Cuts it at the edges of the part; all of it is at an edge where it does not reach into the part.
inline Interval CutAtEdges(const Interval& part, int64_t start_ns, int64_t end_ns) {
  return {std::clamp(start_ns, part.start_ns, part.end_ns), std::clamp(end_ns, part.start_ns, part.end_ns)};
}

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

// The length of intervals that do not overlap.
inline int64_t LengthNs(const std::vector<Interval>& merged) {
  int64_t sum = 0;
  for (const Interval& i : merged) sum += i.end_ns - i.start_ns;
  return sum;
}

// Time covered by at least one interval.
inline int64_t UnionNs(std::vector<Interval> v) {
  MergeIntervals(v);
  return LengthNs(v);
}

// What of merged intervals lies in a window.
inline std::vector<Interval> Clipped(const std::vector<Interval>& merged, Interval window) {
  std::vector<Interval> out;
  auto i = std::lower_bound(merged.begin(), merged.end(), window.start_ns,
                            [](const Interval& each, int64_t ns) { return each.end_ns <= ns; });
  for (; i != merged.end() && i->start_ns < window.end_ns; ++i)
    out.push_back({std::max(i->start_ns, window.start_ns), std::min(i->end_ns, window.end_ns)});
  return out;
}

// What of `a` is not in `b`; both merged, and so is the answer.
inline std::vector<Interval> Outside(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> out;
  size_t j = 0;
  for (const Interval& i : a) {
    int64_t at = i.start_ns;
    while (j < b.size() && b[j].end_ns <= at) ++j;
    for (size_t k = j; k < b.size() && b[k].start_ns < i.end_ns; ++k) {
      if (b[k].start_ns > at) out.push_back({at, b[k].start_ns});
      at = std::max(at, b[k].end_ns);
    }
    if (i.end_ns > at) out.push_back({at, i.end_ns});
  }
  return out;
}

// Answers by binary search how much of a window intervals cover, where they may overlap.
class IntervalCover {
 public:
  IntervalCover() = default;
  explicit IntervalCover(std::vector<Interval> v) : merged_(std::move(v)) {
    MergeIntervals(merged_);
    before_ns_.reserve(merged_.size());
    int64_t sum = 0;
    for (const Interval& i : merged_) {
      before_ns_.push_back(sum);
      sum += i.end_ns - i.start_ns;
    }
  }

  // Time covered in [from, to); 0 when that is empty.
  int64_t CoveredNs(int64_t from_ns, int64_t to_ns) const {
    return to_ns <= from_ns ? 0 : CoveredUntil(to_ns) - CoveredUntil(from_ns);
  }
  // The first covered instant at or after the time; INT64_MAX when there is none.
  int64_t NextNs(int64_t from_ns) const {
    const auto i = std::lower_bound(merged_.begin(), merged_.end(), from_ns,
                                    [](const Interval& each, int64_t ns) { return each.end_ns <= ns; });
    return i == merged_.end() ? INT64_MAX : std::max(i->start_ns, from_ns);
  }

 private:
  int64_t CoveredUntil(int64_t time_ns) const {
    const auto after = std::upper_bound(merged_.begin(), merged_.end(), time_ns,
                                        [](int64_t ns, const Interval& each) { return ns < each.start_ns; });
    if (after == merged_.begin()) return 0;
    const auto at = static_cast<size_t>(after - merged_.begin()) - 1;
    return before_ns_[at] + std::min(time_ns, merged_[at].end_ns) - merged_[at].start_ns;
  }

  std::vector<Interval> merged_;
  std::vector<int64_t> before_ns_;  // covered before merged_[i]
};

}  // namespace nl
