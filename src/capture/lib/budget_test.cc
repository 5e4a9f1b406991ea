// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/budget.h"

#include <gtest/gtest.h>

namespace nl::capture {
namespace {

constexpr int64_t kMs = 1'000'000, kS = 1'000 * kMs;

struct Outcome {
  double share_spent = 0, share_on = 0;
  int64_t least_window_ns = INT64_MAX;
};

// A program in which recording costs `rate(t)` of the time while it is on; CUPTI's part is known `late_ns`
// later.
template <class Rate>
Outcome Simulate(double share, int64_t length_ns, const Rate& rate, int64_t late_ns = 0) {
  Budget budget;
  budget.Set(share, 0);
  const int64_t turn_ns = 20 * kMs;
  std::vector<double> spent(static_cast<size_t>(length_ns / turn_ns) + 1);
  double total_ns = 0;
  int64_t on_ns = 0, window_ns = 0;
  Outcome out;
  bool on = true;
  for (int64_t t = turn_ns; t <= length_ns; t += turn_ns) {
    if (on) {
      total_ns += rate(t) * static_cast<double>(turn_ns);
      on_ns += turn_ns;
      window_ns += turn_ns;
    }
    const auto at = static_cast<size_t>(t / turn_ns);
    spent[at] = total_ns;
    const auto known = static_cast<size_t>(std::max<int64_t>(0, t - late_ns) / turn_ns);
    const bool now_on = budget.Update(t, static_cast<int64_t>(spent[known]));
    if (on && !now_on) {
      out.least_window_ns = std::min(out.least_window_ns, window_ns);
      window_ns = 0;
    }
    on = now_on;
  }
  out.share_spent = total_ns / static_cast<double>(length_ns);
  out.share_on = static_cast<double>(on_ns) / static_cast<double>(length_ns);
  return out;
}

TEST(Budget, WithoutALimitNothingPauses) {
  Budget budget;
  EXPECT_TRUE(budget.Update(kS, kS));
  EXPECT_EQ(budget.pauses(), 0u);
}

TEST(Budget, WhatIsCheapIsRecordedWhole) {
  const Outcome o = Simulate(0.01, 600 * kS, [](int64_t) { return 0.009; });
  EXPECT_EQ(o.share_on, 1.0);
}

TEST(Budget, WhatIsDearIsRecordedInWholeWindowsWithinTheBudget) {
  for (const double rate : {0.02, 0.085, 0.6}) {
    for (const int64_t late_ns : {int64_t{0}, kS}) {
      const Outcome o = Simulate(
          0.01, 3600 * kS, [rate](int64_t) { return rate; }, late_ns);
      EXPECT_LE(o.share_spent, 0.0102) << rate;  // with what it had at the start
      EXPECT_GE(o.share_spent, 0.007) << rate;   // and it is used
      EXPECT_GE(o.least_window_ns, Budget::kLeastWindowNs) << rate;
    }
  }
}

TEST(Budget, AProgramThatBecomesDearIsHeldToo) {
  const Outcome o = Simulate(0.02, 3600 * kS, [](int64_t t) { return t < 1800 * kS ? 0.001 : 0.3; });
  EXPECT_LE(o.share_spent, 0.0205);
  EXPECT_GT(o.share_on, 0.5);
}

TEST(Budget, AProgramThatBecomesCheapIsRecordedWholeAgain) {
  const Outcome o = Simulate(0.02, 3600 * kS, [](int64_t t) { return t < 1800 * kS ? 0.3 : 0.001; });
  EXPECT_GT(o.share_on, 0.5);
}

}  // namespace
}  // namespace nl::capture
