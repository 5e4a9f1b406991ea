// SPDX-License-Identifier: Apache-2.0
#include "analyze/statistics/stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "analyze/statistics/seeded_random.h"

namespace nl {
namespace {

const double kInf = std::numeric_limits<double>::infinity();
using Values = std::vector<double>;

Values Times(Values v, double factor) {
  for (double& x : v) x *= factor;
  return v;
}

// Runs around 100 with a relative spread, right-skewed when asked.
Values Runs(SeededRandom& random, int n, double spread, bool skewed = false) {
  Values v;
  for (int i = 0; i < n; ++i) {
    v.push_back(100 * (1 + spread * (skewed ? random.Exponential() : random.Normal())));
  }
  return v;
}

bool IsChange(const Significance& d) {
  return d.verdict == VerdictClass::kRegressed || d.verdict == VerdictClass::kImproved;
}

TEST(BenjaminiHochberg, AgreesWithAWorkedExample) {
  // q_i = min over j >= i of p_j n / j, by hand.
  const Values p = {0.01, 0.04, 0.03, 0.005, 0.55};
  const Values expected = {0.025, 0.05, 0.05, 0.025, 0.55};
  const Values q = BenjaminiHochberg(p);
  ASSERT_EQ(q.size(), p.size());
  for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(q[i], expected[i], 1e-12) << i;
}

TEST(BenjaminiHochberg, NanIsNotATest) {
  const Values q = BenjaminiHochberg(Values{0.01, kNan, 0.02});
  EXPECT_NEAR(q[0], 0.02, 1e-12);
  EXPECT_TRUE(std::isnan(q[1]));
  EXPECT_NEAR(q[2], 0.02, 1e-12);
  EXPECT_TRUE(BenjaminiHochberg({}).empty());
  EXPECT_EQ(BenjaminiHochberg(Values{1, 1, 1}), (Values{1, 1, 1}));
}

TEST(TestSignificance, OneRunOnASideIsNeverAVerdict) {
  const Significance single = TestSignificance(Values{100}, Values{200});
  EXPECT_EQ(single.verdict, VerdictClass::kUndecided);
  EXPECT_DOUBLE_EQ(single.ratio, 2);
  EXPECT_TRUE(std::isnan(single.ci_low));
  EXPECT_EQ(single.more_runs_needed, 4);
  EXPECT_FALSE(single.reason.empty());
  const Significance uneven = TestSignificance(Values{100, 101, 99, 100.5, 99.5}, Values{200});
  EXPECT_EQ(uneven.verdict, VerdictClass::kUndecided);
  EXPECT_GE(uneven.more_runs_needed.value(), 1);
  EXPECT_LE(uneven.more_runs_needed.value(), 3);  // a doubling, with a spread of 1 %
}

TEST(TestSignificance, FindsAChangeAndItsSize) {
  SeededRandom random(1);
  const Values a = Runs(random, 20, 0.005);
  const Values b = Times(Runs(random, 20, 0.005), 1.03);
  const Significance worse = TestSignificance(a, b);
  EXPECT_EQ(worse.verdict, VerdictClass::kRegressed);
  EXPECT_NEAR(worse.ratio, 1.03, 0.004);
  EXPECT_LT(worse.ci_low, 0.03);
  EXPECT_GT(worse.ci_high, 0.03);
  EXPECT_LT(worse.p_value, 1e-4);
  EXPECT_GT(worse.confidence, 0.999);
  EXPECT_FALSE(worse.more_runs_needed.has_value());
  const Significance better = TestSignificance(b, a);
  EXPECT_EQ(better.verdict, VerdictClass::kImproved);
  EXPECT_NEAR(better.ratio * worse.ratio, 1, 1e-12);
}

TEST(TestSignificance, SameNeedsEquivalenceNotTheAbsenceOfEvidence) {
  SeededRandom random(2);
  EXPECT_EQ(TestSignificance(Runs(random, 20, 0.004), Runs(random, 20, 0.004)).verdict, VerdictClass::kSame);
  const Significance noisy = TestSignificance(Runs(random, 5, 0.05), Runs(random, 5, 0.05));
  EXPECT_EQ(noisy.verdict, VerdictClass::kUndecided);
  EXPECT_GT(noisy.more_runs_needed.value(), 100);  // 5 % of spread, 1 % of margin
}

TEST(TestSignificance, TheRequestedRunsMostlyDecide) {
  int decided = 0;
  int asked = 0;
  for (int round = 0; round < 60; ++round) {
    SeededRandom random(1000 + static_cast<uint64_t>(round));
    Values a = Runs(random, 6, 0.02);
    Values b = Times(Runs(random, 6, 0.02), 1.02);
    const Significance first = TestSignificance(a, b);
    if (!first.more_runs_needed || *first.more_runs_needed > 200) continue;
    ++asked;
    // The true change stays 2 %; what was seen first need not be.
    const int more = static_cast<int>(*first.more_runs_needed);
    for (const double v : Runs(random, more, 0.02)) a.push_back(v);
    for (const double v : Times(Runs(random, more, 0.02), 1.02)) b.push_back(v);
    decided += TestSignificance(a, b).verdict != VerdictClass::kUndecided;
  }
  ASSERT_GT(asked, 30);
  EXPECT_GT(decided, asked / 2);
}

// The claim of the whole file, small: bench/decide_marks measures it properly.
TEST(TestSignificance, RarelySeesAChangeWhereThereIsNone) {
  int false_verdicts = 0;
  for (int round = 0; round < 300; ++round) {
    SeededRandom random(static_cast<uint64_t>(round));
    const int n_a = 3 + round % 18;
    const int n_b = 3 + round % 7;
    false_verdicts +=
        IsChange(TestSignificance(Runs(random, n_a, 0.05, true), Runs(random, n_b, 0.05, true)));
  }
  EXPECT_LE(false_verdicts, 9);  // 3 expected at 1 %; more than 9 has a chance of 1 in 1,000
}

TEST(TestSignificance, OutliersNeitherMakeNorHideAChange) {
  SeededRandom random(3);
  Values a = Runs(random, 20, 0.004);
  Values b = Runs(random, 20, 0.004);
  b[7] *= 4;
  EXPECT_FALSE(IsChange(TestSignificance(a, b)));
  Values slower = Times(b, 1.02);
  a[3] *= 3;
  const Significance d = TestSignificance(a, slower);
  EXPECT_EQ(d.verdict, VerdictClass::kRegressed);
  EXPECT_NEAR(d.ratio, 1.02, 0.006);
}

TEST(TestSignificance, TwoRunsOfAMachineWithTwoSpeedsAreTooFew) {
  const Significance d = TestSignificance(Values{100, 100.01}, Values{120, 120.01});
  EXPECT_EQ(d.verdict, VerdictClass::kUndecided);
  EXPECT_EQ(d.more_runs_needed, 1);
  EXPECT_EQ(TestSignificance(Values{100, 140}, Values{101, 139}).more_runs_needed, 3);
}

TEST(TestSignificance, ExactNumbersAreDecidedExactly) {
  EXPECT_EQ(TestSignificance(Values{7, 7, 7}, Values{7, 7, 7}).verdict, VerdictClass::kSame);
  const Significance more = TestSignificance(Values{7, 7}, Values{8, 8});
  EXPECT_EQ(more.verdict, VerdictClass::kRegressed);
  EXPECT_NEAR(more.ratio, 8.0 / 7, 1e-12);
  EXPECT_EQ(TestSignificance(Values{0, 0}, Values{0, 0}).verdict, VerdictClass::kSame);
}

TEST(TestSignificance, PairingRemovesCommonDrift) {
  SeededRandom random(4);
  Values a;
  Values b;
  for (int i = 0; i < 12; ++i) {
    const double host = 100 * (0.8 + 0.22 * random.Unit());
    a.push_back(host * (1 + 0.003 * random.Normal()));
    b.push_back(host * 1.02 * (1 + 0.003 * random.Normal()));
  }
  EXPECT_EQ(TestSignificance(a, b).verdict, VerdictClass::kUndecided);
  SignificanceOptions options;
  options.paired = true;
  const Significance d = TestSignificance(a, b, options);
  EXPECT_EQ(d.verdict, VerdictClass::kRegressed);
  EXPECT_NEAR(d.ratio, 1.02, 0.005);
  const Significance uneven = TestSignificance(a, Values(b.begin(), b.end() - 1), options);
  EXPECT_NE(uneven.reason.find("not compared as pairs"), std::string::npos);
}

TEST(TestSignificance, RunsThatDriftWidenTheInterval) {
  // Two slow waves, half a turn apart in level: the means differ, the runs are anything but independent.
  Values a;
  Values b;
  for (int i = 0; i < 24; ++i) {
    a.push_back(100 + 4 * std::sin(i / 4.0));
    b.push_back(101.5 + 4 * std::sin(i / 4.0 + 1));
  }
  const Significance d = TestSignificance(a, b);
  EXPECT_GT(d.autocorrelation, 0.5);
  EXPECT_EQ(d.verdict, VerdictClass::kUndecided);
}

TEST(TestSignificance, HostileInputIsUndecidedWithAReason) {
  const Values good = {100, 101, 99, 100, 102, 98};
  for (const Values& bad : {Values{}, Values{kNan}, Values{kNan, kInf, -kInf}}) {
    const Significance d = TestSignificance(good, bad);
    EXPECT_EQ(d.verdict, VerdictClass::kUndecided);
    EXPECT_FALSE(d.reason.empty());
    EXPECT_TRUE(d.more_runs_needed.has_value());
    EXPECT_EQ(TestSignificance(bad, good).verdict, VerdictClass::kUndecided);
    EXPECT_EQ(TestSignificance(bad, bad).verdict, VerdictClass::kUndecided);
  }
  Values with_nan = good;
  with_nan.push_back(kNan);
  const Significance d = TestSignificance(good, with_nan);
  EXPECT_EQ(d.count_b, 6);
  EXPECT_NE(d.reason.find("not finite"), std::string::npos);
}

TEST(TestSignificance, AZeroBaseHasNoRatio) {
  const Significance d = TestSignificance(Values{0, 0, 0}, Values{5, 5, 5});
  EXPECT_EQ(d.verdict, VerdictClass::kRegressed);
  EXPECT_TRUE(std::isnan(d.ratio));
  EXPECT_FALSE(d.reason.empty());
  const Significance some_zero = TestSignificance(Values{0, 1, 2, 1, 0, 1}, Values{9, 10, 11, 9, 10, 11});
  EXPECT_EQ(some_zero.verdict, VerdictClass::kRegressed);
}

TEST(TestSignificance, HugeAndTinyNumbersKeepTheirDigits) {
  SeededRandom random(5);
  const Values a = Runs(random, 20, 0.002);
  const Values b = Times(Runs(random, 20, 0.002), 1.01);
  for (const double unit : {1e-12, 1e15}) {
    const Significance d = TestSignificance(Times(a, unit), Times(b, unit));
    EXPECT_EQ(d.verdict, VerdictClass::kRegressed) << unit;
    EXPECT_NEAR(d.ratio, 1.01, 0.003) << unit;
  }
}

TEST(TestSignificance, IsAFunctionOfItsInput) {
  SeededRandom random(6);
  const Values a = Runs(random, 20, 0.02);
  const Values b = Runs(random, 20, 0.02);
  const Significance first = TestSignificance(a, b);
  const Significance second = TestSignificance(a, b);
  EXPECT_EQ(first.p_value, second.p_value);
  EXPECT_EQ(first.ci_low, second.ci_low);
  SignificanceOptions other;
  other.seed = 99;
  EXPECT_NEAR(TestSignificance(a, b, other).p_value, first.p_value, 0.03);
}

TEST(PairedSteps, FindsAShiftAndBoundsIt) {
  SeededRandom random(7);
  const Values a = Runs(random, 40, 0.02, true);
  Values b = Runs(random, 40, 0.02, true);
  for (double& v : b) v += 5;
  const GroupDelta d = PairedSteps(a, b);
  EXPECT_TRUE(d.assessed);
  EXPECT_TRUE(d.paired);
  EXPECT_LT(d.ci_low, 5);
  EXPECT_GT(d.ci_high, 5);
  EXPECT_GT(d.ci_low, 3);
  EXPECT_LT(d.p_value, 1e-5);
}

TEST(PairedSteps, PairingRemovesGrowthOverSteps) {
  Values a;
  Values b;
  for (int i = 0; i < 12; ++i) {
    a.push_back(10 + i);
    b.push_back(10.5 + i + (i % 2 == 0 ? 0.05 : -0.05));
  }
  EXPECT_LT(PairedSteps(a, b).p_value, 1e-6);
  b.push_back(22.5);
  const GroupDelta unpaired = PairedSteps(a, b);
  EXPECT_FALSE(unpaired.paired);
  EXPECT_GT(unpaired.p_value, 0.01);
}

TEST(PairedSteps, AutocorrelatedStepsAreNotTakenForIndependent) {
  // Phases of twelve steps: 120 steps are ten facts, not a hundred and twenty.
  SeededRandom random(8);
  int false_alarms = 0;
  for (int round = 0; round < 200; ++round) {
    Values a;
    Values b;
    double phase_a = 0;
    double phase_b = 0;
    for (int i = 0; i < 120; ++i) {
      if (i % 12 == 0) {
        phase_a = random.Exponential();
        phase_b = random.Exponential();
      }
      a.push_back(10 + phase_a);
      b.push_back(10 + phase_b);
    }
    const GroupDelta d = PairedSteps(a, b, static_cast<uint64_t>(round));
    EXPECT_GT(d.block_length, 5);
    false_alarms += d.p_value <= 0.01;
  }
  EXPECT_LE(false_alarms, 8);  // a test that takes steps as independent gives more than 80
}

TEST(PairedSteps, HostileInputIsNotAssessed) {
  const Values good = {1, 2, 3, 4, 5};
  for (const Values& bad : {Values{}, Values{1}, Values{1, kNan, 2, kInf}}) {
    const GroupDelta d = PairedSteps(good, bad);
    EXPECT_FALSE(d.assessed);
    EXPECT_EQ(d.p_value, 1);
    EXPECT_TRUE(std::isnan(d.ci_low));
  }
  const GroupDelta equal = PairedSteps(Values{3, 3, 3, 3, 3}, Values{3, 3, 3, 3, 3});
  EXPECT_TRUE(equal.assessed);
  EXPECT_EQ(equal.p_value, 1);
  const GroupDelta shifted = PairedSteps(Values{3, 3, 3, 3, 3}, Values{4, 4, 4, 4, 4});
  EXPECT_EQ(shifted.p_value, 0);
  EXPECT_EQ(shifted.ci_low, 1);
}

TEST(RobustScale, FindsTheDriftDespiteChangedAndTinyPieces) {
  SeededRandom random(9);
  Values a;
  Values b;
  for (int i = 0; i < 300; ++i) {
    const double cost = 1 + 10 * random.Unit();
    a.push_back(cost);
    b.push_back(cost * 1.1 * (1 + 0.01 * random.Normal()));
  }
  for (int i = 0; i < 60; ++i) b[static_cast<size_t>(i)] *= 3;  // a fifth of the work changed
  for (int i = 0; i < 2000; ++i) {                              // and many pieces too small to matter
    a.push_back(1e-4);
    b.push_back(5e-4);
  }
  const ScaleEstimate s = RobustScale(a, b);
  EXPECT_NEAR(s.scale, 1.1, 0.01);  // where a mean would say 1.5
  EXPECT_NEAR(s.spread, 0.013, 0.006);
  EXPECT_LT(s.ci_high - s.ci_low, 0.02);
  EXPECT_EQ(s.pairs, 2300);
}

TEST(RobustScale, TheIntervalHoldsTheScale) {
  SeededRandom random(10);
  int held = 0;
  for (int round = 0; round < 200; ++round) {
    Values a;
    Values b;
    for (int i = 0; i < 60; ++i) {
      a.push_back(random.Exponential());
      b.push_back(a.back() * 0.9 * std::exp(0.05 * random.Normal()));
    }
    const ScaleEstimate s = RobustScale(a, b);
    held += s.ci_low <= 0.9 && s.ci_high >= 0.9;
  }
  EXPECT_GE(held, 192);
}

TEST(RobustScale, WithoutPairsTheScaleIsOne) {
  const ScaleEstimate none = RobustScale(Values{0, kNan, -1, 2}, Values{1, 1, 1, 0});
  EXPECT_EQ(none.pairs, 0);
  EXPECT_EQ(none.scale, 1);
  const ScaleEstimate one = RobustScale(Values{2}, Values{3});
  EXPECT_NEAR(one.scale, 1.5, 1e-12);
  EXPECT_EQ(one.spread, 0);
  const ScaleEstimate two = RobustScale(Values{1, 4}, Values{4, 1});  // equal weights: their middle
  EXPECT_NEAR(two.scale, 1, 1e-12);
}

}  // namespace
}  // namespace nl
