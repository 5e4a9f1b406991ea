// SPDX-License-Identifier: Apache-2.0
#pragma once
// Can the two runs be compared at all: the same model, input, device and software? What is
// not the same is told first; changed work is told apart from a changed program, and the
// walls are given per step or token where that makes them comparable.
// Thread rule: pure functions.

#include "analyze/compare/attribute/attribute.h"

namespace nl::compare {

struct Comparable {
  std::vector<Comparability> differences;
  WorkChange work;
  std::string work_text;      // "prompt 512 -> 1024 tokens"; "": the work is the same
  std::string normalised_by;  // "step" or "token"; "": not
  double units_a = 1, units_b = 1;
  bool no_verdict = false;  // another model or device: faster or slower says nothing
};
Result<Comparable> FindComparable(Analysis& run_a, Analysis& run_b, const CallSequence& a,
                                  const CallSequence& b, const Alignment& alignment, const Changes& changes);

}  // namespace nl::compare
