// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bucket: one contribution while attribution sums it.
// Thread rule: one thread. Ownership: plain values; positions refer to the two sequences.

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "analyze/compare/compare.h"
#include "analyze/compare/sequence/call_sequence.h"
#include "base/flat_map.h"

namespace nl::compare {

struct Bucket {
  Cause cause = Cause::kNoise;
  std::string detail, module;
  bool structural = false, significant = false;
  Costs a, b;
  int64_t count_a = 0, count_b = 0;
  std::map<std::string, double> stages;  // affected time in each, ms
  double p_value = NAN;
  double hidden_ms = 0;  // part of the difference that the wall does not show
  struct Part {
    uint32_t a = kNone, b = kNone;  // its most expensive calls
    uint8_t change = 0;
    uint64_t key = 0;  // hash of the change and the calls' tokens; equal keys become one part
    std::string stage;
    double at_stake_ms = 0;
    Costs costs_a, costs_b;
    int64_t count_a = 0, count_b = 0;
  };
  std::vector<Part> pieces;  // by pair of types, while calls are added
  FlatMap piece_at;
  std::map<uint64_t, Part> parts;  // by key
  // Positions in Alignment::calls: calls of one run only, or made differently; calls with a different
  // device time; calls with a different host time.
  std::vector<uint32_t> made, timed, hosted;

  // Pieces become parts and stages.
  void Join(const CallSequence& sequence_a, const CallSequence& sequence_b);
};

Contribution MakeContribution(const CallSequence& a, const CallSequence& b, const Bucket& bucket);

}  // namespace nl::compare
