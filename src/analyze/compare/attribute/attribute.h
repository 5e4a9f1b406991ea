// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attribution: every cost of every call of both runs goes into exactly one contribution, so
// that their differences sum to the difference of the walls.
// - A cluster of structural changes goes to its cause at its place: all of the cost of what
//   came, went or was rewritten; the device time of what only got other types or kernels.
// - Calls with other shapes: their device time is the work's doing.
// - Unchanged calls: device time that is consistently different is a slower kernel (or the
//   clock, or contention); host time that is consistently different at one place, beyond
//   the drift of the whole, is a slower host there; all the rest is one contribution, noise.
// Thread rule: pure functions.

#include <string>
#include <vector>

#include "analyze/compare/attribute/cause.h"
#include "analyze/compare/attribute/changes.h"
#include "analyze/compare/attribute/replay_costs.h"
#include "analyze/compare/compare.h"

namespace nl::compare {

struct WorkChange {     // what comparability found
  bool work = false;    // batch, length, steps, dims: shapes follow from it
  bool layers = false;  // another number of layers
};

struct Attribution {
  std::vector<Contribution> contributions;     // not ranked yet; the last is noise
  std::vector<double> hidden_ms;               // of each one's difference: device time the wall does not show
  std::vector<uint32_t> of_call_a, of_call_b;  // contribution of each call; that of its device time
};
// `only`: positions of Alignment::calls that count; empty: all. `prices`: of changes, where they are known by
// replay; else the costs of their calls are taken as measured.
Attribution Attribute(const CallSequence& a, const CallSequence& b, const Alignment& alignment,
                      const Changes& changes, const WorkChange& work, const CompareOptions& options,
                      const std::vector<bool>& only, const ReplayCosts& prices = {});

// Where a call is: its stage, else the label of its segment.
std::string StageOf(const CallSequence& sequence, const CallType& type);
std::string ModuleOf(const CallSequence& sequence, const CallType& type);
std::string OpOf(const CallSequence& sequence,
                 const CallType& type);  // operator or API function; "" for bare work
std::string KernelOf(const CallSequence& sequence,
                     const CallType& type);  // short name; "" without device work

}  // namespace nl::compare
