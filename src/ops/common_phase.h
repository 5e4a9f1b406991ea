// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of several runs that a comparison is about: of the steady phase the steps that every run has, so
// that runs of different length, and programs that start slowly, are compared by what they do again and
// again. Steps are the same by their place in the run: the tenth step of a decoder reads as much of its cache
// in every run.
// Thread rule: one request, one thread. Ownership: plain values.

#include <optional>
#include <string>
#include <vector>

#include "ops/open_analysis.h"
#include "report/compared_phase.h"

namespace nl {

class CommonPhase {
 public:
  // `asked` is the value of --phase.
  explicit CommonPhase(std::string asked) : asked_(std::move(asked)) {}

  // Whether whole runs were asked for.
  bool is_all() const { return asked_ == "all"; }
  // Each run of both sides, in any order.
  Status Add(Analysis& run, bool in_b);
  // After every run was added. An error when a phase was asked for that some run does not have.
  Status Choose();

  // None: whole runs.
  const std::optional<ComparedPhase>& chosen() const { return chosen_; }
  // Limits run `i`, counted in the order of Add, to the part of it; nothing for whole runs.
  void LookAt(size_t i, Analysis& run) const;

 private:
  struct Phases {
    PhasesFacts facts;
    int64_t wall_ns = 0;
    bool in_b = false, from_start = false;
    std::vector<size_t> steady;  // indices of the steady steps
  };
  bool IsSteady() const;
  int64_t AddSteadyParts();
  Status AddParts(PhaseKind& phase);
  double OtherMs(bool in_b) const;

  std::string asked_;
  std::vector<Phases> runs_;
  std::vector<Interval> parts_;  // by run; empty: whole runs
  std::optional<ComparedPhase> chosen_;
};

}  // namespace nl
