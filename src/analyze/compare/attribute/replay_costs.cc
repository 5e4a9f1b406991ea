// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute/replay_costs.h"

#include <algorithm>
#include <cmath>

#include "analyze/async_policy.h"

namespace nl::compare {

namespace {

constexpr size_t kMostPoints = 24'000'000;  // replayed for one comparison: a second of one core

struct Edits {
  std::vector<CallEdit> a, b;
  double speed_a = 1;
};

Edits EditsOf(const Bucket& bucket, const CallSequence& a, const CallSequence& b, const Replay& in_a,
              const Replay& in_b, const Alignment& al, const Drift& drift) {
  Edits out;
  bool made_b = false;
  for (const uint32_t i : bucket.made) {
    const Match& m = al.calls[i];
    if (m.a != kNone) out.a.push_back({m.a, kRemoved, kRemoved});
    if (m.b != kNone) out.b.push_back({m.b, kRemoved, kRemoved});
    made_b = made_b || m.b != kNone;
  }
  if (made_b) out.speed_a = drift.all;
  for (const uint32_t i : bucket.timed) {
    const Match& m = al.calls[i];
    if (m.a == kNone || m.b == kNone) continue;
    const auto was = static_cast<double>(in_a.DeviceNs(m.a)), is = static_cast<double>(in_b.DeviceNs(m.b));
    if (is > 0) out.b.push_back({m.b, was / is, 1});
  }
  for (const uint32_t i : bucket.hosted) {
    const Match& m = al.calls[i];
    const auto was = static_cast<double>(a.elapsed_ns[m.a]) * drift.by_segment[al.segment_of[i]],
               is = static_cast<double>(b.elapsed_ns[m.b]);
    if (is > 0) out.b.push_back({m.b, 1, was / is});
  }
  return out;
}

}  // namespace

ReplayCosts::ReplayFuture ReplayCosts::Make(const CallSequence& sequence, const GraphFuture& graph) {
  return std::async(kAsyncOrDeferred, [&sequence, graph]() -> std::shared_ptr<const Replay> {
    return Replay::Make(sequence, graph.get());
  });
}

ReplayCosts::ReplayCosts(const CallSequence& a, const CallSequence& b, const GraphFuture& graph_a,
                         const GraphFuture& graph_b)
    : a_(Make(a, graph_a)), b_(Make(b, graph_b)) {}

std::vector<std::optional<double>> ReplayCosts::Of(const std::vector<const Bucket*>& buckets,
                                                   const CallSequence& a, const CallSequence& b,
                                                   const Alignment& al, const Drift& drift) const {
  const Replay &replay_a = *a_.get(), &replay_b = *b_.get();
  std::vector<std::optional<double>> out(buckets.size());
  std::vector<size_t> order(buckets.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto stake = [&](size_t i) {
    return std::max(a.Ms(buckets[i]->a.total_ns()), b.Ms(buckets[i]->b.total_ns()));
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return stake(x) > stake(y); });
  const size_t most =
      std::max<size_t>(2, kMostPoints / std::max<size_t>(1, replay_a.points() + replay_b.points()));
  order.resize(std::min(order.size(), most));
  std::vector<Edits> edits;
  edits.reserve(order.size());
  for (const size_t i : order) edits.push_back(EditsOf(*buckets[i], a, b, replay_a, replay_b, al, drift));
  std::vector<int64_t> in_a(order.size()), in_b(order.size());
  auto other = std::async(kAsyncOrDeferred, [&] {
    for (size_t k = 0; k < edits.size(); ++k) in_b[k] = replay_b.CostNs(edits[k].b);
  });
  for (size_t k = 0; k < edits.size(); ++k) in_a[k] = replay_a.CostNs(edits[k].a, edits[k].speed_a);
  other.get();
  for (size_t k = 0; k < order.size(); ++k) out[order[k]] = static_cast<double>(in_b[k] - in_a[k]) / 1e6;
  return out;
}

}  // namespace nl::compare
