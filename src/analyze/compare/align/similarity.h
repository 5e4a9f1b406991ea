// SPDX-License-Identifier: Apache-2.0
#pragma once
// Similarity of two runs by their fingerprints: one number for "is this the same thing".
// Ops are aligned by signature; what is left by type, name and order. Each feature is
// brought to 0..1, the cosine over the aligned ops is weighted by latency and multiplied by
// the share of latency that aligned at all: runs that share 10 % of their time are not
// similar, however alike that part is.
// Thread rule: pure functions. Ownership: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/fingerprint.h"
#include "base/json.h"

namespace nl {

struct Similarity {
  double similarity = 0;                            // 0..1: cosine times the aligned share
  double cosine = 0;                                // of what aligned, weighted by latency
  double plain = 0;                                 // unweighted, raw features, nulls as 0, over all ops
  double matched_share_a = 0, matched_share_b = 0;  // of each run's latency
  int64_t matched_ops = 0;
  int64_t substituted = 0;  // features of aligned ops that one run or both did not measure

  // How much latency behaves otherwise in one op: its own difference, and that of every other
  // feature weighted by it.
  struct Divergence {
    std::string name, type;
    std::optional<int64_t> index_a, index_b;  // null: no partner
    double distance = 0;
    std::optional<double> lat_a, lat_b;  // shares of the run
  };
  std::vector<Divergence> divergent;  // largest first, at most kMostDivergent
  static constexpr size_t kMostDivergent = 20;
};

// Features that only one run measured count as unknown, not as 0; how many is told.
Similarity CompareFingerprints(const FingerprintFacts& a, const FingerprintFacts& b);

Json ToJson(const Similarity& similarity);

}  // namespace nl
