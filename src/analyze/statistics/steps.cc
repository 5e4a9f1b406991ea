// SPDX-License-Identifier: Apache-2.0
// PairedSteps: circular block bootstrap of the studentized mean difference.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyze/statistics/seeded_random.h"
#include "analyze/statistics/stats.h"
#include "analyze/statistics/student_t.h"

namespace nl {

namespace {

constexpr int kRounds = 600;
constexpr size_t kLeastSteps = 4;
constexpr size_t kLeastBlocks = 6;
constexpr size_t kMostBlocks = 300;  // longer blocks only cost degrees of freedom, and save time
constexpr double kLevel = 0.01;      // 1 - level of the interval

double Average(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

// Lag-1 correlation corrected for its bias of -1/n, clipped to 0..0.9.
double StepCorrelation(const std::vector<double>& v, double mean) {
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i < v.size(); ++i) {
    squares += (v[i] - mean) * (v[i] - mean);
    if (i > 0) products += (v[i] - mean) * (v[i - 1] - mean);
  }
  if (!(squares > 0)) return 0;
  const double found = products / squares;
  return std::clamp(found + (1 + 3 * found) / static_cast<double>(v.size()), 0.0, 0.9);
}

// Blocks of one series: their length, and the remaining bias of their variance.
struct BlockPlan {
  size_t length = 1;
  double correction = 1;
};

// The length that balances bias and variance of the block variance for an AR(1) (Politis and White);
// its leading bias is then known too: the share ratio / length.
BlockPlan PlanBlocks(const std::vector<double>& v, double mean) {
  const double phi = StepCorrelation(v, mean);
  const double n = static_cast<double>(v.size());
  const double ratio = 2 * phi / (1 - phi * phi);
  const size_t best = static_cast<size_t>(std::lround(std::cbrt(1.5 * ratio * ratio * n)));
  const size_t least = (v.size() + kMostBlocks - 1) / kMostBlocks;
  const size_t most = std::max(least, v.size() / kLeastBlocks);
  BlockPlan plan;
  plan.length = std::clamp(best, std::max<size_t>(1, least), std::max<size_t>(1, most));
  plan.correction = 1 / std::max(0.5, 1 - ratio / static_cast<double>(plan.length));
  return plan;
}

// One series with the sums of all its circular blocks, ready for resampling.
class Blocks {
 public:
  explicit Blocks(std::vector<double> v) : v_(std::move(v)), mean_(Average(v_)) {
    const BlockPlan plan = PlanBlocks(v_, mean_);
    length_ = plan.length;
    const size_t n = v_.size();
    sums_.resize(n);
    double sum = 0;
    for (size_t i = 0; i < length_; ++i) sum += v_[i % n] - mean_;
    for (size_t i = 0; i < n; ++i) {
      sums_[i] = sum;
      sum += v_[(i + length_) % n] - v_[i];
    }
    count_ = n / length_;
    double squares = 0;
    for (const double s : sums_) squares += s * s;
    const double blocks = static_cast<double>(count_);
    const double per_block = squares / static_cast<double>(n) / static_cast<double>(length_ * length_);
    variance_ = plan.correction * per_block / std::max(1.0, blocks - 1);
  }

  double mean() const { return mean_; }
  double variance() const { return variance_; }  // of the mean
  size_t length() const { return length_; }
  double df() const { return static_cast<double>(count_) - 1; }

  // Mean (around the series' own) and its variance, of one resampled series.
  void Draw(SeededRandom& random, double& mean, double& variance) const {
    const uint32_t n = static_cast<uint32_t>(sums_.size());
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < count_; ++i) {
      const double s = sums_[random.Below(n)];
      sum += s;
      squares += s * s;
    }
    const double blocks = static_cast<double>(count_);
    const double length = static_cast<double>(length_);
    mean = sum / (blocks * length);
    variance = std::max(0.0, squares - sum * sum / blocks) / (blocks * (blocks - 1)) / (length * length);
  }

 private:
  std::vector<double> v_, sums_;
  double mean_ = 0, variance_ = 0;
  size_t length_ = 1, count_ = 1;
};

// The tails of the resampled statistic relative to Student's t.
template <class DrawOne>
TailStretch BootstrapStretch(double df, const DrawOne& draw) {
  std::vector<double> t;
  t.reserve(kRounds);
  for (int round = 0; round < kRounds; ++round) {
    double mean = 0;
    double variance = 0;
    draw(mean, variance);
    if (variance > 0) t.push_back(mean / std::sqrt(variance));
  }
  if (t.size() < kRounds / 2) return {};
  std::sort(t.begin(), t.end());
  return MeasureTailStretch(t, df);
}

void Finish(GroupDelta& out, double variance, double df, const TailStretch& stretch) {
  out.assessed = true;
  if (!(variance > 0)) {
    out.ci_low = out.ci_high = out.delta;
    out.p_value = out.delta == 0 ? 1 : 0;
    return;
  }
  // A resampled mean far below the sample's bounds the true mean from above, and vice versa.
  const double se = std::sqrt(variance);
  const double reach = StudentQuantile(kLevel, df) * se;
  out.ci_low = out.delta - reach * stretch.above;
  out.ci_high = out.delta + reach * stretch.below;
  const double side = out.delta > 0 ? stretch.above : stretch.below;
  out.p_value = StudentTwoSidedP(out.delta / (se * side), df);
}

std::vector<double> Finite(std::span<const double> v) {
  std::vector<double> out;
  for (const double x : v) {
    if (std::isfinite(x)) out.push_back(x);
  }
  return out;
}

}  // namespace

GroupDelta PairedSteps(std::span<const double> a_in, std::span<const double> b_in, uint64_t seed) {
  GroupDelta out;
  const std::vector<double> a = Finite(a_in);
  const std::vector<double> b = Finite(b_in);
  out.mean_a = a.empty() ? kNan : Average(a);
  out.mean_b = b.empty() ? kNan : Average(b);
  out.delta = out.mean_b - out.mean_a;
  out.ci_low = out.ci_high = kNan;
  if (a.size() < kLeastSteps || b.size() < kLeastSteps) return out;

  SeededRandom random(seed);
  out.paired = a.size() == b.size() && a.size() == a_in.size() && b.size() == b_in.size();
  if (out.paired) {
    std::vector<double> differences(a.size());
    for (size_t i = 0; i < a.size(); ++i) differences[i] = b[i] - a[i];
    const Blocks blocks(std::move(differences));
    out.block_length = static_cast<int64_t>(blocks.length());
    const TailStretch stretch = BootstrapStretch(
        blocks.df(), [&](double& mean, double& variance) { blocks.Draw(random, mean, variance); });
    Finish(out, blocks.variance(), blocks.df(), stretch);
    return out;
  }
  const Blocks blocks_a(a);
  const Blocks blocks_b(b);
  out.block_length = static_cast<int64_t>(std::max(blocks_a.length(), blocks_b.length()));
  const double va = blocks_a.variance();
  const double vb = blocks_b.variance();
  const double df =
      va + vb > 0 ? (va + vb) * (va + vb) / (va * va / blocks_a.df() + vb * vb / blocks_b.df()) : 1;
  const TailStretch stretch = BootstrapStretch(df, [&](double& mean, double& variance) {
    double mean_a = 0;
    double variance_a = 0;
    blocks_a.Draw(random, mean_a, variance_a);
    blocks_b.Draw(random, mean, variance);
    mean -= mean_a;
    variance += variance_a;
  });
  Finish(out, va + vb, df, stretch);
  return out;
}

}  // namespace nl
