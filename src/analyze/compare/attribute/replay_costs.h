// SPDX-License-Identifier: Apache-2.0
#pragma once
// ReplayCosts: the effect of each change on the wall. Both runs are replayed without it (replay.h):
// the effect is what the change adds to B minus what it adds to A. Where a change replaces calls,
// A is replayed at B's host speed, so that the drift is not part of the effect.
// Thread rule: read-only once made; uses threads of its own. Ownership: owns the replays, which
// refer to the sequences.

#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "analyze/compare/attribute/bucket.h"
#include "analyze/compare/attribute/changes.h"
#include "analyze/compare/attribute/replay.h"

namespace nl::compare {

class ReplayCosts {
 public:
  ReplayCosts() = default;  // knows no effects
  // Builds the replays on other threads while the caller continues.
  ReplayCosts(const CallSequence& a, const CallSequence& b, const GraphFuture& graph_a,
              const GraphFuture& graph_b);

  // False if a run cannot be replayed. Waits for the replays, as Of does.
  bool Known() const { return a_.valid() && a_.get() != nullptr && b_.get() != nullptr; }
  // Effect in ms by bucket; null where it was not computed (small changes in large runs).
  std::vector<std::optional<double>> Of(const std::vector<const Bucket*>& buckets, const CallSequence& a,
                                        const CallSequence& b, const Alignment& alignment,
                                        const Drift& drift) const;

 private:
  using ReplayFuture = std::shared_future<std::shared_ptr<const Replay>>;
  static ReplayFuture Make(const CallSequence& sequence, const GraphFuture& graph);
  ReplayFuture a_, b_;
};

}  // namespace nl::compare
