// SPDX-License-Identifier: Apache-2.0
// TestSignificance: winsorized means of logarithms, studentized and compared with their own
// permutation distribution; Student's t where there are too few runs to permute.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "analyze/statistics/seeded_random.h"
#include "analyze/statistics/stats.h"
#include "analyze/statistics/student_t.h"
#include "base/plural.h"

namespace nl {

namespace {

constexpr double kRunClip =
    2.5;  // robust standard deviations from the centre, beyond which values are clipped
constexpr size_t kLeastToClip = 7;   // runs on a side: fewer do not define an outlier
constexpr size_t kLeastRuns = 3;     // on a side, for a verdict from their spread
constexpr int kPermutations = 4999;  // p-values down to 2/5000 from counting alone
// With 3+3 and 4+4 runs, Student's t has an error rate of 1.1 to 1.5 % instead of 1 % when the noise is
// bimodal or bounded.
constexpr double kFewRunsStretch = 1.15;
constexpr double kPower = 0.9;              // target of more_runs_needed
constexpr int64_t kRunsWithoutSpread = 5;   // on a side, when the spread is unknown
constexpr double kLeastPairsForDrift = 16;  // pairs of neighbouring runs needed to detect drift

// 1.4826 x the median distance from `centre`: the standard deviation of a normal distribution.
double RobustDeviation(const std::vector<double>& v, double centre) {
  std::vector<double> distance(v);
  for (double& d : distance) d = std::fabs(d - centre);
  return 1.4826 * Median(std::move(distance));
}

// Clips values farther than `reach` from the centre; returns the share of unclipped values. A reach of
// zero (half of the values are equal) clips nothing.
double Clip(std::vector<double>& v, double centre, double reach) {
  if (!(reach > 0)) return 1;
  size_t alone = 0;
  for (double& x : v) {
    const double clipped = std::clamp(x, centre - reach, centre + reach);
    alone += clipped == x ? 1 : 0;
    x = clipped;
  }
  return static_cast<double>(alone) / static_cast<double>(v.size());
}

// Mean of one sample with its squared standard error.
struct Location {
  double mean = 0, se2 = 0;
};

Location FromSums(double sum, double squares, double n) {
  return {sum / n, std::max(0.0, squares - sum * sum / n) / (n * (n - 1))};
}

Location MeanOf(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  const double mean = sum / static_cast<double>(v.size());
  double squares = 0;
  for (const double x : v) squares += (x - mean) * (x - mean);
  const double n = static_cast<double>(v.size());
  return {mean, n > 1 ? squares / (n * (n - 1)) : 0};
}

// Difference divided by its standard error.
double Studentised(double difference, double se2) {
  if (se2 > 1e-24 * difference * difference) return difference / std::sqrt(se2);
  return difference == 0 ? 0 : std::copysign(1e12, difference);
}

// Distribution of the statistic when nothing changed: sorted values over permutations.
using Reference = std::vector<double>;

// The statistic of one permutation of the pool, from the sums of its first part.
class Dealer {
 public:
  Dealer(const std::vector<double>& a, const std::vector<double>& b)
      : pool_(a), size_a_(static_cast<double>(a.size())), size_b_(static_cast<double>(b.size())) {
    pool_.insert(pool_.end(), b.begin(), b.end());
    for (const double v : pool_) {
      sum_ += v;
      squares_ += v * v;
    }
  }
  double Statistic(double sum, double squares) const {
    const Location a = FromSums(sum, squares, size_a_);
    const Location b = FromSums(sum_ - sum, squares_ - squares, size_b_);
    return Studentised(b.mean - a.mean, a.se2 + b.se2);
  }
  const std::vector<double>& pool() const { return pool_; }

 private:
  std::vector<double> pool_;
  double size_a_, size_b_;
  double sum_ = 0, squares_ = 0;
};

// All permutations, where they can be enumerated.
Reference DealAll(const Dealer& dealer, size_t hand) {
  const std::vector<double>& pool = dealer.pool();
  std::vector<size_t> chosen(hand);
  std::iota(chosen.begin(), chosen.end(), size_t{0});
  Reference out;
  while (true) {
    double sum = 0;
    double squares = 0;
    for (const size_t i : chosen) {
      sum += pool[i];
      squares += pool[i] * pool[i];
    }
    out.push_back(dealer.Statistic(sum, squares));
    size_t at = hand;
    while (at > 0 && chosen[at - 1] == pool.size() - hand + at - 1) --at;
    if (at == 0) break;
    ++chosen[at - 1];
    for (size_t i = at; i < hand; ++i) chosen[i] = chosen[i - 1] + 1;
  }
  return out;
}

Reference DealSome(const Dealer& dealer, size_t hand, uint64_t seed) {
  std::vector<double> pool = dealer.pool();
  SeededRandom random(seed);
  Reference out(kPermutations);
  for (double& t : out) {
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < hand; ++i) {
      std::swap(pool[i], pool[i + random.Below(static_cast<uint32_t>(pool.size() - i))]);
      sum += pool[i];
      squares += pool[i] * pool[i];
    }
    t = dealer.Statistic(sum, squares);
  }
  return out;
}

// Number of permutations: the lower bound of a permutation p-value.
double Ways(size_t a, size_t b) {
  return std::exp(std::lgamma(static_cast<double>(a + b + 1)) - std::lgamma(static_cast<double>(a + 1)) -
                  std::lgamma(static_cast<double>(b + 1)));
}

// Both sides pooled and divided at random.
Reference Deal(const std::vector<double>& a, const std::vector<double>& b, uint64_t seed) {
  const Dealer dealer(a, b);
  Reference out = Ways(a.size(), b.size()) <= kPermutations ? DealAll(dealer, a.size())
                                                            : DealSome(dealer, a.size(), seed);
  std::sort(out.begin(), out.end());
  return out;
}

// Differences with random signs.
Reference FlipSigns(const std::vector<double>& differences, uint64_t seed) {
  double squares = 0;
  for (const double d : differences) squares += d * d;
  SeededRandom random(seed);
  Reference out(kPermutations);
  for (double& t : out) {
    double sum = 0;
    for (const double d : differences) sum += (random.Next() >> 63) != 0 ? d : -d;
    const Location l = FromSums(sum, squares, static_cast<double>(differences.size()));
    t = Studentised(l.mean, l.se2);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Equal-tailed: twice the share that is at least as extreme on the side of `t`. A sampled reference
// does not contain the observed permutation, so that one is added.
double PermutationP(const Reference& reference, double t, bool drawn) {
  const double slack = 1e-9 * std::max(1.0, std::fabs(t));
  const auto above = reference.end() - std::lower_bound(reference.begin(), reference.end(), t - slack);
  const auto below = std::upper_bound(reference.begin(), reference.end(), t + slack) - reference.begin();
  const double extra = drawn ? 1 : 0;
  const double count = static_cast<double>(std::min(above, below)) + extra;
  return std::min(1.0, 2 * count / (static_cast<double>(reference.size()) + extra));
}

// Centred ranks: an outlier can neither hide nor create a correlation.
std::vector<double> CentredRanks(const std::vector<double>& v) {
  std::vector<size_t> order(v.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return v[a] < v[b]; });
  std::vector<double> rank(v.size());
  const double middle = (static_cast<double>(v.size()) - 1) / 2;
  for (size_t first = 0; first < order.size();) {
    size_t last = first;
    while (last < order.size() && v[order[last]] == v[order[first]]) ++last;
    for (size_t i = first; i < last; ++i) rank[order[i]] = static_cast<double>(first + last - 1) / 2 - middle;
    first = last;
  }
  return rank;
}

// Lag-1 correlation within the sides, corrected for its bias of -1/n; 0 when negative or unknown.
double RunCorrelation(const std::vector<const std::vector<double>*>& sides) {
  double products = 0;
  double squares = 0;
  double pairs = 0;
  double count = 0;
  for (const std::vector<double>* side : sides) {
    const std::vector<double> rank = CentredRanks(*side);
    for (size_t i = 0; i < rank.size(); ++i) squares += rank[i] * rank[i];
    for (size_t i = 0; i + 1 < rank.size(); ++i) products += rank[i] * rank[i + 1];
    pairs += static_cast<double>(rank.size()) - 1;
    count += static_cast<double>(rank.size());
  }
  if (squares <= 0 || pairs < kLeastPairsForDrift) return 0;
  const double found = products / squares;
  const double per_side = count / static_cast<double>(sides.size());
  return std::clamp(found + (1 + 3 * found) / per_side, 0.0, 0.8);
}

// The factor on the squared standard error of the mean of n values of an AR(1) process with this
// lag-1 correlation, including the bias of their sample variance.
double VarianceInflation(double phi, double n) {
  double sum = 0;
  double power = phi;
  for (double k = 1; k < n && power > 1e-6; ++k, power *= phi) sum += (1 - k / n) * power;
  const double factor = 1 + 2 * sum;
  return factor / std::max(0.1, 1 - (factor - 1) / (n - 1));
}

// Correlated runs estimate their spread less precisely than independent ones.
double Widening(double phi, double df_left, double df, double alpha) {
  return phi > 0 ? StudentQuantile(alpha, std::max(3.0, df_left)) / StudentQuantile(alpha, df) : 1;
}

// The difference of two sides on the working scale, with everything a verdict needs.
struct Effect {
  double difference = 0, low = 0, high = 0, se = 0, df = 0, p = 1, phi = 0;
};

// Result of the permutations of one layout (two samples, or pairs).
struct Permuted {
  double p = 1;        // of no difference, from the permutations
  bool drawn = false;  // sampled, not enumerated
  Reference residual;  // when the observed difference is the true one
};

// `permute` is called only if there are enough permutations for a p-value of alpha.
template <class Permute>
void Judge(Effect& e, double alpha, double ways, const Permute& permute) {
  if (!(e.se > 0)) {  // exactly equal in all runs: a count or a size, not a time
    e.low = e.high = e.difference;
    e.p = e.difference == 0 ? 1 : 0;
    return;
  }
  TailStretch stretch{kFewRunsStretch, kFewRunsStretch};
  const double t = e.difference / e.se;
  if (ways < 2 / alpha) {
    e.p = StudentTwoSidedP(t / kFewRunsStretch, e.df);
  } else {
    const Permuted permuted = permute();
    stretch = MeasureTailStretch(permuted.residual, e.df);
    const double tail = StudentTwoSidedP(t / (t > 0 ? stretch.above : stretch.below), e.df);
    // Few permutations: both must agree. Sampled permutations resolve at least 2 in kPermutations; smaller
    // p-values come from the stretched tail of Student's t.
    e.p = permuted.drawn && permuted.p * kPermutations < 20 ? std::min(permuted.p, tail) : permuted.p;
    if (!permuted.drawn) e.p = std::max(permuted.p, tail);
  }
  const double reach = StudentQuantile(alpha, e.df) * e.se;
  e.low = e.difference - reach * stretch.above;
  e.high = e.difference + reach * stretch.below;
}

std::vector<double> Shifted(std::vector<double> v, double by) {
  for (double& x : v) x -= by;
  return v;
}

// Each side by itself, clipped with a common reach.
struct Sides {
  std::vector<double> a, b;
  double kept_a = 1, kept_b = 1;
};

Sides ClipSides(const std::vector<double>& a, const std::vector<double>& b) {
  Sides out{a, b};
  if (std::min(a.size(), b.size()) < kLeastToClip) return out;
  const double middle_a = Median(a);
  const double middle_b = Median(b);
  std::vector<double> residuals = Shifted(a, middle_a);
  const std::vector<double> rest = Shifted(b, middle_b);
  residuals.insert(residuals.end(), rest.begin(), rest.end());
  const double reach = kRunClip * RobustDeviation(residuals, 0);
  out.kept_a = Clip(out.a, middle_a, reach);
  out.kept_b = Clip(out.b, middle_b, reach);
  return out;
}

// Clipped by the pool, so that all permutations are treated alike.
Sides ClipPool(const std::vector<double>& a, const std::vector<double>& b) {
  Sides out{a, b};
  if (std::min(a.size(), b.size()) < kLeastToClip) return out;
  std::vector<double> pool(a);
  pool.insert(pool.end(), b.begin(), b.end());
  const double middle = Median(pool);
  const double reach = kRunClip * RobustDeviation(pool, middle);
  Clip(out.a, middle, reach);
  Clip(out.b, middle, reach);
  return out;
}

Effect TwoSided(const std::vector<double>& a, const std::vector<double>& b,
                const SignificanceOptions& options) {
  const Sides sides = ClipSides(a, b);
  const Location la = MeanOf(sides.a);
  const Location lb = MeanOf(sides.b);
  const double na = static_cast<double>(a.size());
  const double nb = static_cast<double>(b.size());
  Effect e;
  e.difference = lb.mean - la.mean;
  e.phi = RunCorrelation({&a, &b});
  const double inflation_a = VarianceInflation(e.phi, na);
  const double inflation_b = VarianceInflation(e.phi, nb);
  const double va = la.se2 / (sides.kept_a * sides.kept_a) * inflation_a;
  const double vb = lb.se2 / (sides.kept_b * sides.kept_b) * inflation_b;
  e.df = va + vb > 0 ? (va + vb) * (va + vb) / (va * va / (na - 1) + vb * vb / (nb - 1)) : na + nb - 2;
  const double wider = Widening(e.phi, na / inflation_a + nb / inflation_b - 2, na + nb - 2, options.alpha);
  e.se = std::sqrt(va + vb) * wider;
  Judge(e, options.alpha, Ways(a.size(), b.size()), [&] {
    Permuted out;
    out.drawn = Ways(a.size(), b.size()) > kPermutations;
    out.residual = Deal(Shifted(sides.a, la.mean), Shifted(sides.b, lb.mean), options.seed);
    const Sides pool = ClipPool(a, b);
    const Location pa = MeanOf(pool.a);
    const Location pb = MeanOf(pool.b);
    const double se = std::sqrt(pa.se2 * inflation_a + pb.se2 * inflation_b) * wider;
    const double t = Studentised(pb.mean - pa.mean, se * se);
    out.p = PermutationP(Deal(pool.a, pool.b, options.seed + 1), t, out.drawn);
    return out;
  });
  return e;
}

Effect Paired(const std::vector<double>& a, const std::vector<double>& b,
              const SignificanceOptions& options) {
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) differences[i] = b[i] - a[i];
  const double n = static_cast<double>(a.size());
  Effect e;
  e.phi = RunCorrelation({&differences});
  double kept = 1;
  if (differences.size() >= kLeastToClip) {
    const double middle = Median(differences);
    kept = Clip(differences, middle, kRunClip * RobustDeviation(differences, middle));
  }
  const Location l = MeanOf(differences);
  e.difference = l.mean;
  const double inflation = VarianceInflation(e.phi, n);
  e.se = std::sqrt(l.se2 * inflation) / kept * Widening(e.phi, n / inflation - 1, n - 1, options.alpha);
  e.df = n - 1;
  Judge(e, options.alpha, std::exp2(n), [&] {
    Permuted out;
    out.drawn = true;
    out.residual = FlipSigns(Shifted(differences, l.mean), options.seed);
    out.p = PermutationP(FlipSigns(differences, options.seed + 1), e.difference / e.se, true);
    return out;
  });
  return e;
}

// Runs on each side until an interval at level 1 - alpha excludes zero, or lies inside the margin, with
// probability kPower, for a variance `variance` of one run of both sides together.
int64_t RunsNeeded(double difference, double margin, double variance, double alpha) {
  const double target = std::max(std::fabs(difference), margin - std::fabs(difference));
  if (!(target > 0)) return kMostRunsNeeded;
  const double z = NormalQuantile(kPower);
  const auto enough = [&](int64_t n) {
    const double runs = static_cast<double>(n);
    return (StudentQuantile(alpha, 2 * runs - 2) + z) * std::sqrt(variance / runs) <= target;
  };
  int64_t high = 2;
  while (high < kMostRunsNeeded && !enough(high)) high *= 2;
  int64_t low = high / 2;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return std::min(high, kMostRunsNeeded);
}

// The samples on the scale of the comparison: logarithms if all values are above zero, so that a
// change is a ratio and right skew is reduced.
struct Working {
  std::vector<double> a, b;
  bool log = true;
  double base = 1;  // divisor of a difference on the linear scale

  double Relative(double difference) const {
    if (log) return std::expm1(difference);
    return base > 0 ? difference / base : kNan;
  }
  double Margin(double relative) const { return log ? std::log1p(relative) : relative * base; }
};

Working MakeWorking(const std::vector<double>& a, const std::vector<double>& b) {
  Working w{a, b};
  const auto positive = [](double v) { return v > 0; };
  w.log = std::all_of(a.begin(), a.end(), positive) && std::all_of(b.begin(), b.end(), positive);
  if (!w.log) {
    w.base = std::fabs(MeanOf(a).mean);
    return w;
  }
  // Around a common centre, so that the sums of squares keep their precision.
  const double middle = std::log(a[a.size() / 2]);
  for (double& v : w.a) v = std::log(v) - middle;
  for (double& v : w.b) v = std::log(v) - middle;
  return w;
}

void TakeFinite(std::span<const double> a, std::span<const double> b, bool paired, Significance& out,
                std::vector<double>& to_a, std::vector<double>& to_b) {
  const auto finite = [](double v) { return std::isfinite(v); };
  if (paired) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (!finite(a[i]) || !finite(b[i])) continue;
      to_a.push_back(a[i]);
      to_b.push_back(b[i]);
    }
  } else {
    std::copy_if(a.begin(), a.end(), std::back_inserter(to_a), finite);
    std::copy_if(b.begin(), b.end(), std::back_inserter(to_b), finite);
  }
  out.count_a = static_cast<int64_t>(to_a.size());
  out.count_b = static_cast<int64_t>(to_b.size());
  const size_t lost = a.size() + b.size() - to_a.size() - to_b.size();
  if (lost > 0)
    out.reason = fmt::format("left out: {} not finite", Counted(static_cast<int64_t>(lost), "value"));
}

// A side with one run or none: no spread, no verdict.
Significance TooFew(Significance out, const std::vector<double>& a, const std::vector<double>& b,
                    const SignificanceOptions& options) {
  out.ratio = a.empty() || b.empty() || Median(a) == 0 ? kNan : Median(b) / Median(a);
  out.ci_low = out.ci_high = kNan;
  const char* text =
      a.empty() || b.empty() ? "a side has no value" : "one run on a side has no run-to-run spread";
  out.reason = out.reason.empty() ? text : fmt::format("{}; {}", text, out.reason);
  const std::vector<double>& larger = a.size() > b.size() ? a : b;
  int64_t needed = kRunsWithoutSpread;
  if (larger.size() >= 2 && !a.empty() && !b.empty()) {
    const Working w = MakeWorking(a, b);
    const std::vector<double>& spread = a.size() > b.size() ? w.a : w.b;
    const double variance = 2 * MeanOf(spread).se2 * static_cast<double>(spread.size());
    needed =
        RunsNeeded(Median(w.b) - Median(w.a), w.Margin(options.equivalence_margin), variance, options.alpha);
  }
  out.more_runs_needed = std::max<int64_t>(1, needed - static_cast<int64_t>(std::min(a.size(), b.size())));
  return out;
}

}  // namespace

Significance TestSignificance(std::span<const double> a_in, std::span<const double> b_in,
                              const SignificanceOptions& options) {
  Significance out;
  const bool paired = options.paired && a_in.size() == b_in.size();
  std::vector<double> a, b;
  TakeFinite(a_in, b_in, paired, out, a, b);
  if (options.paired && !paired)
    out.reason = "the sides have different numbers of runs: not compared as pairs";
  if (a.size() < 2 || b.size() < 2) return TooFew(std::move(out), a, b, options);

  const Working w = MakeWorking(a, b);
  const Effect e = paired ? Paired(w.a, w.b, options) : TwoSided(w.a, w.b, options);
  out.ratio = 1 + w.Relative(e.difference);
  out.ci_low = w.Relative(e.low);
  out.ci_high = w.Relative(e.high);
  out.p_value = e.p;
  out.autocorrelation = e.phi;
  out.confidence = 1 - e.p;
  const double margin = w.Margin(options.equivalence_margin);
  const double margin_below = w.log ? -std::log1p(-std::min(options.equivalence_margin, 0.999)) : margin;
  if (std::isnan(out.ratio) && e.difference != 0)
    out.reason = "the baseline is zero: the relative change is undefined";
  // Two runs on a machine with two clock speeds can agree by chance, and so can the other two.
  const bool enough = std::min(a.size(), b.size()) >= kLeastRuns || !(e.se > 0);
  const bool exactly_same = !(e.se > 0) && e.difference == 0;
  if (exactly_same || (enough && e.low > -margin_below && e.high < margin)) {
    out.verdict = VerdictClass::kSame;
    const double room = std::min(margin - e.difference, e.difference + margin_below);
    out.confidence = 1 - (e.se > 0 ? StudentTwoSidedP(room / e.se, e.df) / 2 : 0);
  } else if (enough && e.p <= options.alpha && e.low > 0) {
    out.verdict = VerdictClass::kRegressed;
  } else if (enough && e.p <= options.alpha && e.high < 0) {
    out.verdict = VerdictClass::kImproved;
  } else {
    const int64_t smaller = static_cast<int64_t>(std::min(a.size(), b.size()));
    const double variance = e.se * e.se * static_cast<double>(smaller);
    // The spread of two runs is too uncertain to ask for dozens.
    const int64_t needed = std::clamp<int64_t>(RunsNeeded(e.difference, margin, variance, options.alpha),
                                               kLeastRuns, enough ? kMostRunsNeeded : kRunsWithoutSpread);
    out.more_runs_needed = std::max<int64_t>(1, needed - smaller);
    if (!enough && out.reason.empty()) out.reason = "two runs on a side are too few to estimate their spread";
  }
  return out;
}

}  // namespace nl
