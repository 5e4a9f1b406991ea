// SPDX-License-Identifier: Apache-2.0
// Decide: trimmed means of logarithms, studentised, held against their own permutation
// distribution; Student's t where there are too few runs to permute.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "analyze/compare/seeded_random.h"
#include "analyze/compare/stats.h"
#include "analyze/compare/student_t.h"

namespace nl {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTrim = 0.1;                // of the runs, off each end
constexpr int kPermutations = 4999;          // p-values down to 2/5000 from counting alone
constexpr double kPower = 0.9;               // what more_runs_needed aims at
constexpr int64_t kMostRuns = 100'000;       // beyond it, more runs are not the answer
constexpr int64_t kRunsWithoutSpread = 5;    // a side, when nothing is known of the spread
constexpr double kLeastForCorrelation = 10;  // neighbouring runs, to look for drift among them
constexpr double kCorrelationZ = 1.0;        // standard errors above 0 from which drift is believed

// Location of one sample with its squared standard error.
struct Location {
  double mean = 0, se2 = 0, df = 0;
};

// Yuen's trimmed mean and winsorised variance. `v` is sorted and has two values at least.
Location TrimmedLocation(const double* v, size_t n) {
  const size_t cut = static_cast<size_t>(kTrim * static_cast<double>(n));
  double sum = 0;
  double squares = 0;
  for (size_t i = cut; i < n - cut; ++i) {
    sum += v[i];
    squares += v[i] * v[i];
  }
  const double kept = static_cast<double>(n - 2 * cut);
  const double all = static_cast<double>(n);
  const double ends = static_cast<double>(cut);
  const double low = v[cut];
  const double high = v[n - cut - 1];
  const double winsorised_sum = sum + ends * (low + high);
  const double winsorised_squares = squares + ends * (low * low + high * high);
  const double deviations = std::max(0.0, winsorised_squares - winsorised_sum * winsorised_sum / all);
  return {sum / kept, deviations / (kept * (kept - 1)), kept - 1};
}

Location LocationOf(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return TrimmedLocation(v.data(), v.size());
}

// Difference over its standard error.
double Studentised(double difference, double se2) {
  if (se2 > 0) return difference / std::sqrt(se2);
  return difference == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), difference);
}

// What the statistic does when nothing has changed: sorted values from resampling.
using Reference = std::vector<double>;

// Both sides pooled and dealt out again, many times. The values are sorted once; each deal is a
// choice of places, so that both hands come out sorted.
Reference PermuteTwo(const std::vector<double>& a, const std::vector<double>& b, uint64_t seed) {
  std::vector<double> pool(a);
  pool.insert(pool.end(), b.begin(), b.end());
  std::sort(pool.begin(), pool.end());
  const size_t n = pool.size();
  std::vector<uint32_t> places(n);
  std::iota(places.begin(), places.end(), 0u);
  std::vector<uint8_t> in_a(n);
  std::vector<double> hand_a(a.size()), hand_b(b.size());
  SeededRandom random(seed);
  Reference out;
  out.reserve(kPermutations);
  for (int round = 0; round < kPermutations; ++round) {
    std::fill(in_a.begin(), in_a.end(), uint8_t{0});
    for (size_t i = 0; i < a.size(); ++i) {
      std::swap(places[i], places[i + random.Below(static_cast<uint32_t>(n - i))]);
      in_a[places[i]] = 1;
    }
    size_t at_a = 0;
    size_t at_b = 0;
    for (size_t i = 0; i < n; ++i) {
      if (in_a[i]) {
        hand_a[at_a++] = pool[i];
      } else {
        hand_b[at_b++] = pool[i];
      }
    }
    const Location la = TrimmedLocation(hand_a.data(), hand_a.size());
    const Location lb = TrimmedLocation(hand_b.data(), hand_b.size());
    out.push_back(Studentised(lb.mean - la.mean, la.se2 + lb.se2));
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Differences with their signs thrown anew.
Reference FlipSigns(const std::vector<double>& differences, uint64_t seed) {
  std::vector<double> flipped(differences.size());
  SeededRandom random(seed);
  Reference out;
  out.reserve(kPermutations);
  for (int round = 0; round < kPermutations; ++round) {
    for (size_t i = 0; i < flipped.size(); ++i) {
      flipped[i] = (random.Next() >> 63) != 0 ? differences[i] : -differences[i];
    }
    const Location l = LocationOf(flipped);
    out.push_back(Studentised(l.mean, l.se2));
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Equal-tailed: twice the share that lies at least as far out on the side of `t`.
double PermutationP(const Reference& reference, double t) {
  const double slack = 1e-9 * std::max(1.0, std::fabs(t));
  const auto above = reference.end() - std::lower_bound(reference.begin(), reference.end(), t - slack);
  const auto below = std::upper_bound(reference.begin(), reference.end(), t + slack) - reference.begin();
  const double count = static_cast<double>(std::min(above, below)) + 1;
  return std::min(1.0, 2 * count / static_cast<double>(reference.size() + 1));
}

double Quantile(const Reference& reference, double share) {
  const double at = share * static_cast<double>(reference.size() - 1);
  return reference[static_cast<size_t>(std::llround(at))];
}

// How many ways there are to deal: what bounds a permutation p-value from below.
double LogWays(size_t a, size_t b) {
  return std::lgamma(static_cast<double>(a + b + 1)) - std::lgamma(static_cast<double>(a + 1)) -
         std::lgamma(static_cast<double>(b + 1));
}

// Ranks around their middle: an outlier can neither hide nor make a correlation.
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

// Lag-1 correlation within the sides, freed of its bias toward -1/n; 0 when it may well be chance.
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
  if (squares <= 0 || pairs < kLeastForCorrelation) return 0;
  const double found = products / squares;
  const double per_side = count / static_cast<double>(sides.size());
  const double phi = found + (1 + 3 * found) / per_side;
  return phi * std::sqrt(pairs) > kCorrelationZ ? std::min(phi, 0.9) : 0;
}

// The factor on the squared standard error of a mean of n values of an AR(1) with this lag-1
// correlation, with the shortfall of their sample variance.
double VarianceInflation(double phi, double n) {
  double sum = 0;
  double power = phi;
  for (double k = 1; k < n && power > 1e-6; ++k, power *= phi) sum += (1 - k / n) * power;
  const double factor = 1 + 2 * sum;
  return factor / std::max(0.1, 1 - (factor - 1) / (n - 1));
}

// The difference of two sides on the working scale, with everything a verdict needs.
struct Effect {
  double difference = 0, low = 0, high = 0, se = 0, df = 0, p = 1, phi = 0;
};

// Beyond what counting can resolve, the tail of Student's t, stretched to meet the reference.
double TailP(const Reference& reference, double t, double df, double counted) {
  if (counted * static_cast<double>(reference.size()) > 20) return counted;
  const double edge = 0.01;
  const double seen = t > 0 ? Quantile(reference, 1 - edge / 2) : -Quantile(reference, edge / 2);
  const double stretch = std::max(1.0, seen / StudentQuantile(edge, df));
  return std::min(counted, StudentTwoSidedP(t / stretch, df));
}

// `deal` makes the reference of the samples as they are (no difference at all) or of their
// residuals (the difference seen is the true one).
template <class Deal>
void Judge(Effect& e, double alpha, double log_ways, const Deal& deal) {
  if (!(e.se > 0)) {  // equal to the last bit, run after run: a count or a size, not a time
    e.low = e.high = e.difference;
    e.p = e.difference == 0 ? 1 : 0;
    return;
  }
  const double t = e.difference / e.se;
  if (log_ways < std::log(4 / alpha)) {
    const double reach = StudentQuantile(alpha, e.df) * e.se;
    e.low = e.difference - reach;
    e.high = e.difference + reach;
    e.p = StudentTwoSidedP(t, e.df);
    return;
  }
  const Reference residual = deal(true);
  e.low = e.difference - Quantile(residual, 1 - alpha / 2) * e.se;
  e.high = e.difference - Quantile(residual, alpha / 2) * e.se;
  e.p = TailP(residual, t, e.df, PermutationP(deal(false), t));
}

std::vector<double> Shifted(const std::vector<double>& v, double by) {
  std::vector<double> out(v);
  for (double& x : out) x -= by;
  return out;
}

Effect TwoSided(const std::vector<double>& a, const std::vector<double>& b, const DecideOptions& options) {
  const Location la = LocationOf(a);
  const Location lb = LocationOf(b);
  Effect e;
  e.difference = lb.mean - la.mean;
  e.phi = RunCorrelation({&a, &b});
  const double va = la.se2 * VarianceInflation(e.phi, static_cast<double>(a.size()));
  const double vb = lb.se2 * VarianceInflation(e.phi, static_cast<double>(b.size()));
  e.se = std::sqrt(va + vb);
  e.df = e.se > 0 ? (va + vb) * (va + vb) / (va * va / la.df + vb * vb / lb.df) : la.df + lb.df;
  Judge(e, options.alpha, LogWays(a.size(), b.size()), [&](bool residual) {
    return residual ? PermuteTwo(Shifted(a, la.mean), Shifted(b, lb.mean), options.seed)
                    : PermuteTwo(a, b, options.seed + 1);
  });
  return e;
}

Effect Paired(const std::vector<double>& a, const std::vector<double>& b, const DecideOptions& options) {
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) differences[i] = b[i] - a[i];
  const Location l = LocationOf(differences);
  const double n = static_cast<double>(a.size());
  Effect e;
  e.difference = l.mean;
  e.phi = RunCorrelation({&differences});
  e.se = std::sqrt(l.se2 * VarianceInflation(e.phi, n));
  e.df = l.df;
  Judge(e, options.alpha, n * std::log(2.0), [&](bool residual) {
    return FlipSigns(residual ? Shifted(differences, l.mean) : differences, options.seed);
  });
  return e;
}

// Runs a side until an interval at level 1 - alpha lies clear of zero, or inside the margin, with
// probability kPower, when one run of both sides together varies by `variance`.
int64_t RunsNeeded(double difference, double margin, double variance, double alpha) {
  const double target = std::max(std::fabs(difference), margin - std::fabs(difference));
  if (!(target > 0)) return kMostRuns;
  const double z = NormalQuantile(kPower);
  const auto enough = [&](int64_t n) {
    const double runs = static_cast<double>(n);
    return (StudentQuantile(alpha, 2 * runs - 2) + z) * std::sqrt(variance / runs) <= target;
  };
  int64_t high = 2;
  while (high < kMostRuns && !enough(high)) high *= 2;
  int64_t low = high / 2;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return std::min(high, kMostRuns);
}

// The samples on the scale they are compared on: logarithms where every value is above zero, so
// that a change is a ratio and right skew shrinks.
struct Working {
  std::vector<double> a, b;
  bool log = true;
  double base = 1;  // what a difference is divided by on the plain scale

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
    w.base = std::fabs(LocationOf(a).mean);
    return w;
  }
  // Around a common middle: the sums of squares then keep their digits.
  const double middle = std::log(a[a.size() / 2]);
  for (double& v : w.a) v = std::log(v) - middle;
  for (double& v : w.b) v = std::log(v) - middle;
  return w;
}

void TakeFinite(std::span<const double> a, std::span<const double> b, bool paired, Decision& out,
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
  if (lost > 0) out.reason = fmt::format("{} values were not numbers and are left out", lost);
}

double Middle(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

// A side with one run or none: no spread, no verdict.
Decision TooFew(Decision out, const std::vector<double>& a, const std::vector<double>& b,
                const DecideOptions& options) {
  out.ratio = a.empty() || b.empty() || Middle(a) == 0 ? kNan : Middle(b) / Middle(a);
  out.ci_low = out.ci_high = kNan;
  const char* text =
      a.empty() || b.empty() ? "a side has no value" : "one run on a side shows no run-to-run spread";
  out.reason = out.reason.empty() ? text : fmt::format("{}; {}", text, out.reason);
  const std::vector<double>& larger = a.size() > b.size() ? a : b;
  int64_t needed = kRunsWithoutSpread;
  if (larger.size() >= 2 && !a.empty() && !b.empty()) {
    const Working w = MakeWorking(a, b);
    const std::vector<double>& spread = a.size() > b.size() ? w.a : w.b;
    const double variance = 2 * LocationOf(spread).se2 * static_cast<double>(spread.size());
    needed =
        RunsNeeded(Middle(w.b) - Middle(w.a), w.Margin(options.equivalence_margin), variance, options.alpha);
  }
  out.more_runs_needed = std::max<int64_t>(1, needed - static_cast<int64_t>(std::min(a.size(), b.size())));
  return out;
}

}  // namespace

Decision Decide(std::span<const double> a_in, std::span<const double> b_in, const DecideOptions& options) {
  Decision out;
  const bool paired = options.paired && a_in.size() == b_in.size();
  std::vector<double> a, b;
  TakeFinite(a_in, b_in, paired, out, a, b);
  if (options.paired && !paired) out.reason = "the sides differ in length: not compared as pairs";
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
  if (std::isnan(out.ratio)) out.reason = "the base is zero: there is no relative change";
  if (e.low > -margin_below && e.high < margin) {
    out.verdict = VerdictClass::kSame;
    const double room = std::min(margin - e.difference, e.difference + margin_below);
    out.confidence = 1 - (e.se > 0 ? StudentTwoSidedP(room / e.se, e.df) / 2 : 0);
  } else if (e.p <= options.alpha && e.low > 0) {
    out.verdict = VerdictClass::kRegressed;
  } else if (e.p <= options.alpha && e.high < 0) {
    out.verdict = VerdictClass::kImproved;
  } else {
    const double smaller = static_cast<double>(std::min(a.size(), b.size()));
    const int64_t needed = RunsNeeded(e.difference, margin, e.se * e.se * smaller, options.alpha);
    out.more_runs_needed = std::max<int64_t>(1, needed - static_cast<int64_t>(smaller));
  }
  return out;
}

}  // namespace nl
