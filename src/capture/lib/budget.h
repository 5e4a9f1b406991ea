// SPDX-License-Identifier: Apache-2.0
#pragma once
// Budget: when recording pauses, so that what it costs the program stays below a share of the
// time. A purse fills with that share of the time that passes and pays for what was spent;
// when it is empty recording pauses, and goes on once it can pay for a window like the ones
// before. Windows are whole: everything is recorded in them, nothing between.
// Thread rule: one thread's (the writer's). Pure: time and cost are handed in.

#include <cstdint>

namespace nl::capture {

class Budget {
 public:
  // Shorter windows would cut the program into pieces nobody can read.
  static constexpr int64_t kLeastWindowNs = 1'000'000'000;
  // It saves up for this long at most, and has so much at the start.
  static constexpr int64_t kSavesNs = 10'000'000'000;

  // `share` 0: no limit.
  void Set(double share, int64_t now_ns);
  bool limited() const { return share_ > 0; }
  // `cost_ns`: spent in the program since its start. True: recording may be on.
  bool Update(int64_t now_ns, int64_t cost_ns);
  uint64_t pauses() const { return pauses_; }

 private:
  double WindowCostNs() const;

  double share_ = 0, purse_ns_ = 0;
  int64_t now_ns_ = 0, cost_ns_ = 0;
  bool on_ = true;
  int64_t switched_ns_ = 0;
  double on_ns_ = 0, spent_ns_ = 0;  // in all windows, older ones counting less
  uint64_t pauses_ = 0;
};

}  // namespace nl::capture
