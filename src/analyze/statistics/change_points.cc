// SPDX-License-Identifier: Apache-2.0
#include "analyze/statistics/change_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyze/statistics/seeded_random.h"

namespace nl {

namespace {

constexpr size_t kMostValues = 2000;
constexpr double kSpikeClip = 8;  // robust standard deviations of the noise at which outliers are clipped
constexpr size_t kLeastForNoiseCorrelation = 24;
constexpr size_t kLeastMovedBlocks = 8;
constexpr double kIntervalDecay = 0.7071067811865476;

// Deviation of the noise from differences of neighbours, which a change of level affects only once.
double NoiseDeviation(const std::vector<double>& v) {
  std::vector<double> steps;
  for (size_t i = 0; i + 1 < v.size(); ++i) steps.push_back(std::fabs(v[i + 1] - v[i]));
  return steps.empty() ? 0 : 1.4826 * Median(std::move(steps)) / std::sqrt(2.0);
}

// Mean square of differences at distance `apart`, clipped to `reach` (changes of level, outliers).
double MeanSquareDifference(const std::vector<double>& v, size_t apart, double reach) {
  double sum = 0;
  for (size_t i = 0; i + apart < v.size(); ++i) {
    const double d = std::clamp(v[i + apart] - v[i], -reach, reach);
    sum += d * d;
  }
  return sum / static_cast<double>(v.size() - apart);
}

// Lag-1 correlation of the noise: the squared difference at distance two is 1 + phi times that of
// neighbours, independent of the levels. 0 when it may be chance.
double NoiseCorrelation(const std::vector<double>& v) {
  if (v.size() < kLeastForNoiseCorrelation) return 0;
  const double reach = 4 * NoiseDeviation(v);
  const double one = MeanSquareDifference(v, 1, reach);
  if (!(one > 0)) return 0;
  const double phi = MeanSquareDifference(v, 2, reach) / one - 1;
  return phi * std::sqrt(static_cast<double>(v.size())) > 1 ? std::min(phi, 0.9) : 0;
}

// Length of the blocks that are permuted as one (Politis and White, AR(1)).
size_t BlockLength(double phi, size_t n) {
  const double ratio = 2 * phi / (1 - phi * phi);
  const double length = std::round(std::cbrt(1.5 * ratio * ratio * static_cast<double>(n)));
  return std::clamp<size_t>(static_cast<size_t>(length), 1, std::max<size_t>(1, n / kLeastMovedBlocks));
}

struct Range {
  size_t first, last;  // [first, last)
  size_t size() const { return last - first; }
};

// Nested intervals of a range of n: the whole, then shorter and shorter ones that overlap by half.
std::vector<Range> NestedIntervals(size_t n, size_t least) {
  std::vector<Range> out{{0, n}};
  const double whole = static_cast<double>(n);
  for (double length = whole * kIntervalDecay; length >= static_cast<double>(2 * least);
       length *= kIntervalDecay) {
    const size_t count = 2 * static_cast<size_t>(std::ceil(whole / length)) - 1;
    const double shift = count > 1 ? (whole - length) / static_cast<double>(count - 1) : 0;
    for (size_t i = 0; i < count; ++i) {
      const double first = std::floor(static_cast<double>(i) * shift);
      const double last = std::min(whole, std::ceil(static_cast<double>(i) * shift + length));
      out.push_back({static_cast<size_t>(first), static_cast<size_t>(last)});
    }
  }
  return out;
}

struct Split {
  size_t at = 0;
  double strength = 0;  // squared distance of the means relative to their variance, up to a constant factor
};

// The strongest split of any interval; `sums` are prefix sums of the range.
Split StrongestSplit(const std::vector<double>& sums, const std::vector<Range>& intervals, size_t least) {
  Split best;
  for (const Range& r : intervals) {
    const double n = static_cast<double>(r.size());
    const double total = sums[r.last] - sums[r.first];
    for (size_t at = r.first + least; at + least <= r.last; ++at) {
      const double left = static_cast<double>(at - r.first);
      const double excess = sums[at] - sums[r.first] - total * left / n;
      const double strength = excess * excess * n / (left * (n - left));
      if (strength > best.strength) best = {at, strength};
    }
  }
  return best;
}

// One range of the history around its median, outliers clipped by its own noise.
class HistoryRange {
 public:
  HistoryRange(std::span<const double> values, double phi)
      : v_(values.begin(), values.end()), block_(BlockLength(phi, values.size())) {
    const double middle = Median(v_);
    const double reach = kSpikeClip * NoiseDeviation(v_);
    for (double& x : v_) {
      x -= middle;
      if (reach > 0) x = std::clamp(x, -reach, reach);
    }
  }

  std::vector<double> Sums() const {
    std::vector<double> sums(1, 0);
    for (const double x : v_) sums.push_back(sums.back() + x);
    return sums;
  }

  // The share of permutations with at least this `strength`; 1 as soon as it cannot be significant
  // any more.
  template <class Strength>
  double PermutationP(double seen, const ChangePointOptions& options, const Strength& strength) const {
    SeededRandom random(options.seed + v_.size());
    const size_t n = v_.size();
    std::vector<size_t> starts((n + block_ - 1) / block_);
    for (size_t i = 0; i < starts.size(); ++i) starts[i] = i * block_;
    std::vector<double> sums(n + 1);
    const int enough = static_cast<int>(options.alpha * (options.permutations + 1));
    int as_strong = 0;
    for (int round = 0; round < options.permutations; ++round) {
      const size_t turn = block_ > 1 ? random.Below(static_cast<uint32_t>(n)) : 0;
      size_t at = 0;
      for (size_t i = 0; i < starts.size(); ++i) {
        std::swap(starts[i], starts[i + random.Below(static_cast<uint32_t>(starts.size() - i))]);
        for (size_t k = starts[i]; k < std::min(n, starts[i] + block_); ++k, ++at) {
          sums[at + 1] = sums[at] + v_[(k + turn) % n];
        }
      }
      as_strong += strength(sums) >= seen * (1 - 1e-12) ? 1 : 0;
      if (as_strong > enough) return 1;
    }
    return (1.0 + as_strong) / (options.permutations + 1.0);
  }

 private:
  std::vector<double> v_;
  size_t block_;
};

class ChangePointFinder {
 public:
  ChangePointFinder(const std::vector<double>& values, const ChangePointOptions& options)
      : values_(values),
        options_(options),
        least_(static_cast<size_t>(std::max<int64_t>(1, options.least_runs))),
        phi_(NoiseCorrelation(values)) {}

  struct Found {
    size_t at;
    double p_value;
  };

  std::vector<Found> Run() {
    Divide({0, values_.size()});
    Prune();
    return found_;
  }

 private:
  HistoryRange Cut(Range r) const { return {std::span(values_).subspan(r.first, r.size()), phi_}; }

  void Divide(Range range) {
    if (range.size() < 2 * least_) return;
    const std::vector<Range> intervals = NestedIntervals(range.size(), least_);
    const HistoryRange history = Cut(range);
    const Split split = StrongestSplit(history.Sums(), intervals, least_);
    if (split.strength <= 0) return;
    const double p = history.PermutationP(split.strength, options_, [&](const std::vector<double>& sums) {
      return StrongestSplit(sums, intervals, least_).strength;
    });
    if (p > options_.alpha) return;
    const size_t at = range.first + split.at;
    Divide({range.first, at});
    found_.push_back({at, p});
    Divide({at, range.last});
  }

  // A later split can make an earlier one insignificant: remove the weakest point that is not significant
  // between its neighbours, until all are.
  void Prune() {
    while (!found_.empty()) {
      size_t weakest = 0;
      double worst = -1;
      for (size_t i = 0; i < found_.size(); ++i) {
        const double p = HoldsP(i);
        if (p > worst) {
          worst = p;
          weakest = i;
        }
      }
      if (worst <= options_.alpha) return;
      found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(weakest));
    }
  }

  double HoldsP(size_t i) const {
    const size_t first = i == 0 ? 0 : found_[i - 1].at;
    const size_t last = i + 1 == found_.size() ? values_.size() : found_[i + 1].at;
    const double left = static_cast<double>(found_[i].at - first);
    const double share = left / static_cast<double>(last - first);
    const auto strength = [&](const std::vector<double>& sums) {
      return std::fabs(sums[found_[i].at - first] - share * sums.back());
    };
    const HistoryRange history = Cut({first, last});
    return history.PermutationP(strength(history.Sums()), options_, strength);
  }

  const std::vector<double>& values_;
  const ChangePointOptions& options_;
  const size_t least_;
  const double phi_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<ChangePoint> FindChangePoints(std::span<const double> values, const ChangePointOptions& options) {
  const size_t skipped = values.size() > kMostValues ? values.size() - kMostValues : 0;
  std::vector<double> finite;
  std::vector<size_t> place;
  for (size_t i = skipped; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    finite.push_back(values[i]);
    place.push_back(i);
  }
  const std::vector<ChangePointFinder::Found> found = ChangePointFinder(finite, options).Run();
  std::vector<ChangePoint> out;
  for (size_t i = 0; i < found.size(); ++i) {
    const auto at = [&](size_t k) { return finite.begin() + static_cast<std::ptrdiff_t>(k); };
    const size_t first = i == 0 ? 0 : found[i - 1].at;
    const size_t last = i + 1 == found.size() ? finite.size() : found[i + 1].at;
    ChangePoint point;
    point.index = static_cast<int64_t>(place[found[i].at]);
    point.p_value = found[i].p_value;
    point.before_median = Median({at(first), at(found[i].at)});
    point.after_median = Median({at(found[i].at), at(last)});
    point.change = point.before_median != 0 ? point.after_median / point.before_median - 1
                                            : std::numeric_limits<double>::quiet_NaN();
    out.push_back(point);
  }
  return out;
}

}  // namespace nl
