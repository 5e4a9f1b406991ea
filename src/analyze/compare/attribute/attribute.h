// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attribution: every cost of every call of both runs goes into exactly one contribution, so
// that their differences sum to the difference of the walls.
// - A cluster of structural changes: its cause gets the whole cost of calls that were added,
//   removed or rewritten, and the device time of calls with other types or kernels.
// - Calls with other shapes: their device time is attributed to the changed work.
// - Unchanged calls: device time that differs consistently is a slower kernel (or the clock,
//   or contention); host time that differs consistently at one place, beyond the drift of
//   the whole run, is a slower host there; the rest is one contribution, noise.
// Thread rule: pure functions.

#include <string>
#include <vector>

#include "analyze/compare/attribute/cause.h"
#include "analyze/compare/attribute/changes.h"
#include "analyze/compare/attribute/replay_costs.h"
#include "analyze/compare/compare.h"

namespace nl::compare {

// Differences of the input, the model and the setup, from comparable.h.
struct WorkChange {
  bool work = false;    // batch size, lengths, steps, dimensions: different shapes follow from it
  bool layers = false;  // the number of layers
  bool other_device = false;
  bool no_host =
      false;  // a side has no host activity, or another tool recorded it: no statement about the host
};

struct Attribution {
  std::vector<Contribution> contributions;     // not ranked yet; the last is noise
  std::vector<uint32_t> of_call_a, of_call_b;  // contribution of each call's device time
};
// `only`: positions of Alignment::calls to include; empty: all. `replay_costs`: effects of changes on the
// wall; where it has none, the measured costs of their calls are used.
Attribution Attribute(const CallSequence& a, const CallSequence& b, const Alignment& alignment,
                      const Changes& changes, const WorkChange& work, const CompareOptions& options,
                      const std::vector<bool>& only, const ReplayCosts& replay_costs = {});

// Place of a call: its stage, else the label of its segment.
std::string StageOf(const CallSequence& sequence, const CallType& type);
std::string ModuleOf(const CallSequence& sequence, const CallType& type);
std::string OpOf(const CallSequence& sequence,
                 const CallType& type);  // operator or API function; "" for bare work
std::string KernelOf(const CallSequence& sequence,
                     const CallType& type);  // short name; "" without device work

}  // namespace nl::compare
