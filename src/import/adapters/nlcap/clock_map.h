// SPDX-License-Identifier: Apache-2.0
#pragma once
// ClockMap: from the GPU clock of one process to the host's monotonic clock, by pairs that
// were read inside one another. Piecewise linear between the pairs that are narrow; before
// the first and after the last, and in a long gap, at the rate of the nearest stretch. The error bound is
// half the width of a pair plus how far the pairs stray from a line through their
// neighbours (what the clock did between two pairs nobody saw). Across a long gap, in which the recorder had
// no GPU clock to read and no work was recorded, there are no neighbours. Thread rule: one thread while
// adding, then const.

#include <cstdint>
#include <optional>
#include <vector>

namespace nl::adapters::nlcap {

// Times beyond are not times: 146 years.
inline constexpr int64_t kMostNs = int64_t{1} << 62;

class ClockMap {
 public:
  // False: the pair is not a pair.
  bool Add(int64_t gpu_ns, int64_t before_ns, int64_t after_ns);
  // Chooses the pairs; after the last Add. Without pairs `fallback_offset_ns` is added.
  void Fit(int64_t fallback_offset_ns);

  bool calibrated() const { return !points_.empty(); }
  std::optional<int64_t> ToHost(int64_t gpu_ns) const;
  int64_t error_bound_ns() const { return error_bound_ns_; }
  size_t pairs() const { return points_.size(); }
  // Of the whole stretch; null with fewer than two pairs.
  std::optional<double> drift_ppm() const;

 private:
  struct Point {
    int64_t gpu_ns, host_ns, half_ns;
  };
  static int64_t Between(const Point& a, const Point& b, int64_t gpu_ns);
  int64_t LongGapNs() const;
  int64_t StrayNs(size_t i) const;

  std::vector<Point> points_;
  int64_t fallback_offset_ns_ = 0, error_bound_ns_ = 0, gap_ns_ = 0;
};

}  // namespace nl::adapters::nlcap
