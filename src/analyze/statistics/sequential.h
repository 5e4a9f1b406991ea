// SPDX-License-Identifier: Apache-2.0
#pragma once
// SequentialRatio: how much faster B is than A, from interleaved pairs of times, with an interval and a
// p-value that stay valid however often one looks and whenever one stops.
//
// A fair coin decides the order of every pair (AB or BA). If A and B are the same, the coin alone decides the
// sign of a pair's log ratio, whatever the load, the drift or the distribution of the times. So for odd
// scores y of the pairs, the product of exp(l * y) / cosh(l * y) is a martingale for every l, and so is a
// mixture over l: it ever exceeds 1 / alpha with probability alpha at most (Ville). The interval has every
// shift of the log ratio that this test does not reject. docs/bench.md has the measured error rates. Thread
// rule: one object, one thread. A function of the input alone.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nl {

// log(time of A / time of B): above 0, B is faster. Infinite bounds: not enough pairs.
struct SequentialEstimate {
  double log_ratio = 0, low = 0, high = 0;
  double p_value = 1;  // of no difference; at most alpha exactly when the interval leaves out 0
};

// Fewer pairs decide nothing at alpha 1 %, however large the difference: their coins could all fall alike by
// chance.
inline constexpr int64_t kLeastPairs = 10;

class SequentialRatio {
 public:
  // `expected_pairs`: the number of pairs at which the interval should be as narrow as possible.
  // `scale`: a first guess of the spread of the log ratios, from the warm-up.
  SequentialRatio(double alpha, double expected_pairs, double scale);

  // The log ratio of one pair; it must be finite.
  void Add(double log_ratio);
  size_t pairs() const { return pairs_.size(); }
  SequentialEstimate Now() const;
  double PValue() const;  // the same, without the interval, which takes most of the time

 private:
  struct Pair {
    double log_ratio = 0;
    double reach = 0;  // scores are clipped there; known before the pair was measured
    double Score(double shift) const;
  };
  // log of the mixture for "the true log ratio is `shift`".
  double LogEvidence(double shift) const;
  double SumOfScores(double shift) const;
  double Bound(double from, double step) const;
  void UpdateReach();

  struct Bet {
    double size = 0, weight = 0;
  };
  double alpha_, reach_;
  std::vector<Bet> bets_;
  size_t next_update_ = 4;
  std::vector<double> log_ratios_;
  std::vector<Pair> pairs_;
};

// 1.4826 x the median distance from the median; of fewer than two values 0.
double RobustSpread(std::vector<double> values);

}  // namespace nl
