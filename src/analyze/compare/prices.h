// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prices: what each change does to the wall. Both runs are replayed without it (replay.h): what
// B is longer with than without, less what A is. Where a change replaces something, A is
// replayed at B's host speed, so that the drift between them is not part of the price.
// Thread rule: read-only once made; uses threads of its own. Ownership: owns the replays, which
// refer to the trails.

#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "analyze/compare/bucket.h"
#include "analyze/compare/changes.h"
#include "analyze/compare/replay.h"

namespace nl::compare {

class Prices {
 public:
  Prices() = default;  // of nothing
  // The replays are made beside what the caller goes on with.
  Prices(const Trail& a, const Trail& b, const GraphToCome& graph_a, const GraphToCome& graph_b);

  // False where a run cannot be replayed. Waits for the replays, as Of does.
  bool Known() const { return a_.valid() && a_.get() != nullptr && b_.get() != nullptr; }
  // In ms of the wall, by bucket; null where it was not worked out (in large runs, small changes).
  std::vector<std::optional<double>> Of(const std::vector<const Bucket*>& buckets, const Trail& a,
                                        const Trail& b, const Alignment& alignment, const Drift& drift) const;

 private:
  using ReplayToCome = std::shared_future<std::shared_ptr<const Replay>>;
  static ReplayToCome Make(const Trail& trail, const GraphToCome& graph);
  ReplayToCome a_, b_;
};

}  // namespace nl::compare
