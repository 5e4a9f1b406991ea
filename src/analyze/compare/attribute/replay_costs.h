// SPDX-License-Identifier: Apache-2.0
#pragma once
// ReplayCosts: what each change does to the wall. Both runs are replayed without it (replay.h): what
// B is longer with than without, less what A is. Where a change replaces something, A is
// replayed at B's host speed, so that the drift between them is not part of the price.
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
  ReplayCosts() = default;  // of nothing
  // The replays are made beside what the caller goes on with.
  ReplayCosts(const CallSequence& a, const CallSequence& b, const GraphToCome& graph_a,
              const GraphToCome& graph_b);

  // False where a run cannot be replayed. Waits for the replays, as Of does.
  bool Known() const { return a_.valid() && a_.get() != nullptr && b_.get() != nullptr; }
  // In ms of the wall, by bucket; null where it was not worked out (in large runs, small changes).
  std::vector<std::optional<double>> Of(const std::vector<const Bucket*>& buckets, const CallSequence& a,
                                        const CallSequence& b, const Alignment& alignment,
                                        const Drift& drift) const;

 private:
  using ReplayToCome = std::shared_future<std::shared_ptr<const Replay>>;
  static ReplayToCome Make(const CallSequence& sequence, const GraphToCome& graph);
  ReplayToCome a_, b_;
};

}  // namespace nl::compare
