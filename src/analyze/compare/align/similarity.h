// SPDX-License-Identifier: Apache-2.0
#pragma once
// Similarity of two runs by their fingerprints: one number for "is this the same workload".
// Ops are aligned by signature, the remaining ones by type, name and order. Each feature is
// scaled to 0..1. The cosine over the aligned ops is weighted by latency and multiplied by
// the share of latency that aligned: runs that share 10 % of their time are not similar,
// even if that part is identical.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/fingerprint.h"
#include "base/record.h"

namespace nl {

struct Similarity {
  double similarity = 0;                            // 0..1: cosine times the aligned share
  double cosine = 0;                                // of what aligned, weighted by latency
  double plain = 0;                                 // unweighted, raw features, nulls as 0, over all ops
  double matched_share_a = 0, matched_share_b = 0;  // of each run's latency
  int64_t matched_ops = 0;
  int64_t substituted = 0;  // features of aligned ops that one run or both did not measure

  // How different one op is: the difference in its latency share, and the differences of all other
  // features weighted by that share.
  struct Divergence {
    std::string name, type;
    std::optional<int64_t> index_a, index_b;  // null: no partner
    double distance = 0;
    std::optional<double> lat_norm_a, lat_norm_b;  // shares of the run
  };
  std::vector<Divergence> divergent;  // largest first, at most kMostDivergent
  static constexpr size_t kMostDivergent = 20;
};

// Features that only one run measured count as unknown, not as 0; `substituted` is their number.
Similarity CompareFingerprints(const FingerprintFacts& a, const FingerprintFacts& b);

void Describe(Record<Similarity::Divergence>& r);
void Describe(Record<Similarity>& r);

}  // namespace nl
