// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/budget.h"

namespace nl::capture {

void Budget::Set(double share, int64_t now_ns) {
  share_ = share;
  now_ns_ = switched_ns_ = now_ns;
  purse_ns_ = share * static_cast<double>(kSavesNs);
}

// What the least window will cost, going by those there were.
double Budget::WindowCostNs() const {
  return on_ns_ > 0 ? spent_ns_ / on_ns_ * static_cast<double>(kLeastWindowNs) : 0;
}

bool Budget::Update(int64_t now_ns, int64_t cost_ns) {
  if (!limited()) return true;
  const auto passed_ns = static_cast<double>(now_ns - now_ns_),
             spent_ns = static_cast<double>(cost_ns - cost_ns_);
  now_ns_ = now_ns;
  cost_ns_ = cost_ns;
  const double most_ns = share_ * static_cast<double>(kSavesNs);
  purse_ns_ += share_ * passed_ns - spent_ns;
  if (purse_ns_ > most_ns) purse_ns_ = most_ns;
  // CUPTI hands its records over late: what is found to be spent in a pause was spent in the window before.
  spent_ns_ += spent_ns;
  if (on_) on_ns_ += passed_ns;
  const bool long_enough = now_ns - switched_ns_ >= kLeastWindowNs;
  const bool can_pay = purse_ns_ >= most_ns || purse_ns_ > WindowCostNs();
  if (on_ ? purse_ns_ > 0 || !long_enough : !can_pay || !long_enough) return on_;
  on_ = !on_;
  switched_ns_ = now_ns;
  if (on_) {
    on_ns_ /= 2;
    spent_ns_ /= 2;
  } else {
    ++pauses_;
  }
  return on_;
}

}  // namespace nl::capture
