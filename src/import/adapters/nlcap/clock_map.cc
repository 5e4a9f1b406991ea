// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nlcap/clock_map.h"

#include <algorithm>
#include <cmath>

#include "base/median.h"

namespace nl::adapters::nlcap {

namespace {

bool Usable(int64_t ns) { return ns > -kMostNs / 2 && ns < kMostNs / 2; }

// A clock that runs at half or double speed is a broken pair, not a clock.
constexpr int64_t kFastest = 2;

}  // namespace

bool ClockMap::Add(int64_t gpu_ns, int64_t before_ns, int64_t after_ns) {
  if (!Usable(gpu_ns) || !Usable(before_ns) || !Usable(after_ns) || after_ns < before_ns) return false;
  points_.push_back({gpu_ns, before_ns + (after_ns - before_ns) / 2, (after_ns - before_ns + 1) / 2});
  return true;
}

// The host time of `gpu_ns` on the line through two points of different gpu times.
// Differences of 64-bit times fit their 128-bit product. clang 14 checks that product for overflow with
// __muloti4, which libgcc does not have: without the attribute the sanitizer build does not link.
__attribute__((no_sanitize("signed-integer-overflow"))) int64_t ClockMap::Between(const Point& a,
                                                                                  const Point& b,
                                                                                  int64_t gpu_ns) {
  const auto host = static_cast<__int128>(b.host_ns) - a.host_ns;
  const auto gpu = static_cast<__int128>(b.gpu_ns) - a.gpu_ns;
  const __int128 at = a.host_ns + (static_cast<__int128>(gpu_ns) - a.gpu_ns) * host / gpu;
  return static_cast<int64_t>(std::clamp<__int128>(at, -kMostNs, kMostNs));
}

void ClockMap::Fit(int64_t fallback_offset_ns) {
  fallback_offset_ns_ = fallback_offset_ns;
  if (points_.empty()) return;
  // A pair that was interrupted is wide, and says little.
  std::vector<int64_t> widths;
  for (const Point& p : points_) widths.push_back(p.half_ns);
  const int64_t most_ns = 4 * UpperMedian(widths) + 100;
  std::erase_if(points_, [most_ns](const Point& p) { return p.half_ns > most_ns; });
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return a.gpu_ns != b.gpu_ns ? a.gpu_ns < b.gpu_ns : a.host_ns < b.host_ns;
  });
  std::vector<Point> kept;
  for (const Point& p : points_) {
    if (!kept.empty()) {
      const int64_t gpu_ns = p.gpu_ns - kept.back().gpu_ns, host_ns = p.host_ns - kept.back().host_ns;
      if (gpu_ns <= 0 || host_ns <= 0 || host_ns / kFastest > gpu_ns || gpu_ns / kFastest > host_ns) continue;
    }
    kept.push_back(p);
  }
  points_ = std::move(kept);
  gap_ns_ = LongGapNs();
  int64_t half_ns = 0, stray_ns = 0;
  for (size_t i = 0; i < points_.size(); ++i) {
    half_ns = std::max(half_ns, points_[i].half_ns);
    stray_ns = std::max(stray_ns, StrayNs(i));
  }
  error_bound_ns_ = half_ns + stray_ns;
}

// Ten times what lies between two pairs as a rule.
int64_t ClockMap::LongGapNs() const {
  std::vector<int64_t> between;
  for (size_t i = 1; i < points_.size(); ++i) between.push_back(points_[i].host_ns - points_[i - 1].host_ns);
  return UpperMedian(between) * 10;
}

// How far a pair is off the line through those on both sides of it, or through two after a gap.
int64_t ClockMap::StrayNs(size_t i) const {
  const auto off = [&](size_t a, size_t b) {
    return std::abs(Between(points_[a], points_[b], points_[i].gpu_ns) - points_[i].host_ns);
  };
  const auto near = [&](size_t a) {
    return a + 1 < points_.size() && points_[a + 1].host_ns - points_[a].host_ns <= gap_ns_;
  };
  const bool before = i > 0 && near(i - 1), after = near(i);
  if (before && after) return off(i - 1, i + 1);
  const bool at_gap = (i > 0 && !before) || (i + 1 < points_.size() && !after);
  if (!at_gap) return 0;
  if (after && near(i + 1)) return off(i + 1, i + 2);
  if (before && i > 1 && near(i - 2)) return off(i - 2, i - 1);
  return 0;
}

std::optional<int64_t> ClockMap::ToHost(int64_t gpu_ns) const {
  if (!Usable(gpu_ns)) return std::nullopt;
  int64_t host_ns = 0;
  if (points_.size() < 2) {
    const int64_t offset_ns = points_.empty() ? fallback_offset_ns_ : points_[0].host_ns - points_[0].gpu_ns;
    host_ns = gpu_ns + offset_ns;
  } else {
    auto after = std::upper_bound(points_.begin() + 1, points_.end() - 1, gpu_ns,
                                  [](int64_t t, const Point& p) { return t < p.gpu_ns; });
    auto before = after - 1;
    // In a long gap the rate of the stretch that is nearer counts.
    if (after->host_ns - before->host_ns > gap_ns_) {
      const bool nearer_before = gpu_ns - before->gpu_ns < after->gpu_ns - gpu_ns;
      if (nearer_before && before > points_.begin())
        after = before--;
      else if (!nearer_before && after + 1 < points_.end())
        before = after++;
    }
    host_ns = Between(*before, *after, gpu_ns);
  }
  return Usable(host_ns) ? std::optional(host_ns) : std::nullopt;
}

std::optional<double> ClockMap::drift_ppm() const {
  if (points_.size() < 2) return std::nullopt;
  const auto gpu = static_cast<double>(points_.back().gpu_ns - points_.front().gpu_ns);
  const auto host = static_cast<double>(points_.back().host_ns - points_.front().host_ns);
  return (gpu / host - 1) * 1e6;
}

}  // namespace nl::adapters::nlcap
