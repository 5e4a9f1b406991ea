// SPDX-License-Identifier: Apache-2.0
#pragma once
// Differences between the setups of two runs: model, input, device, software. Separates changed
// work from a changed program, and finds the unit (step or token) in which the walls can be
// compared.
// Thread rule: pure functions.

#include "analyze/compare/attribute/attribute.h"

namespace nl::compare {

struct Comparable {
  std::vector<Comparability> differences;
  WorkChange work;
  std::string work_text;      // "prompt 512 -> 1024 tokens"; "": the work is the same
  std::string normalised_by;  // "step" or "token"; "": not normalised
  double units_a = 1, units_b = 1;
  bool no_verdict() const { return !reason.empty(); }
  std::string reason;              // why no verdict about the program is possible; "": one is
  bool other_program = false;      // hardly anything is common to both runs
  std::string device_a, device_b;  // names; "": not named
  bool across = false;             // different device, software or recording tool: see across.h
};
Result<Comparable> FindComparable(Analysis& run_a, Analysis& run_b, const CallSequence& a,
                                  const CallSequence& b, const Alignment& alignment, const Changes& changes);

}  // namespace nl::compare
