// SPDX-License-Identifier: Apache-2.0
#pragma once
// FixSearch: what there is to fix in the steady steps, found by kind and by name instead of by a rule: waits,
// pageable copies, allocations, host code, operators and kernels.
// Names of operators and calls may contain * and ?; an empty name means all. A name that nothing in the steps
// has finds nothing; the lists of names are for hints.
// Thread rule: one thread. Ownership: refers to the steps.

#include <string>
#include <vector>

#include "analyze/program/per_name.h"
#include "analyze/replay/fix_targets.h"
#include "analyze/replay/gap_groups.h"
#include "analyze/replay/step_replay.h"
#include "base/near_names.h"

namespace nl::replay {

// Operators and calls by name, each name matched once.
class CallNames {
 public:
  CallNames(const StepReplay& steps, const std::string& pattern);
  bool Is(uint32_t node) { return matches_.Of(host_.name[node]); }
  // The outermost operator or call with the name around a node, itself included; kNone: there is none. With
  // an empty pattern, the outermost operator that calls it (program.h).
  uint32_t OutermostAround(uint32_t node);

 private:
  struct Ask {
    NameMatcher matcher;
    bool operator()(std::string_view name) const { return matcher.Matches(name); }
  };
  const HostTree& host_;
  const bool all_;
  program::PerName<Ask> matches_;
};

class FixSearch {
 public:
  explicit FixSearch(const StepReplay& steps);

  FixTargets Waits(const std::string& name) const;           // of threads that launch
  FixTargets PageableCopies(const std::string& name) const;  // the operators that make them
  FixTargets Allocations() const;                            // calls that allocate or free
  FixTargets Launches() const;                               // calls that launch one kernel
  FixTargets Calls(const std::string& name) const;          // operators, calls and ranges; the outermost ones
  FixTargets CallsWithWork(const std::string& name) const;  // and what operators inside them launch
  FixTargets Kernels(const std::string& name) const;        // by short or raw name
  FixTargets HostCode(const std::string& part) const;       // places that contain `part`
  const std::vector<GapGroup>& gaps() const { return gaps_; }

  std::vector<std::string> CallNamesOfSteps() const;
  std::vector<std::string> KernelNamesOfSteps() const;

 private:
  // fn(node) for everything in the window on threads that launch.
  template <class Fn>
  void ForEachNode(const Fn& fn) const;

  const StepReplay& steps_;
  const TimelineFacts& timeline_;
  const std::vector<GapGroup> gaps_;
};

}  // namespace nl::replay
