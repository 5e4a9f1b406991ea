// SPDX-License-Identifier: Apache-2.0
// What rules may say of ranks: how long they wait for each other, and who is late.
#include <algorithm>

#include <fmt/format.h>

#include "analyze/facts/ranks.h"
#include "analyze/features/parts.h"

namespace nl {

void AddRankFeatures(const RanksFacts& facts, int64_t wall_ns, Features& out) {
  if (facts.collectives.empty()) return;
  auto& n = out.run.numbers;
  const auto members = static_cast<int64_t>(facts.members.size());
  n["run.ranks"] = static_cast<double>(members);
  n["run.collective_wait_ms"] = Ms(facts.waited_ns / members);
  n["run.collective_transfer_ms"] = Ms(facts.transfer_ns / members);
  if (wall_ns > 0) n["run.collective_wait_share"] = features::Ratio(facts.waited_ns / members, wall_ns);
  const auto worst =
      std::max_element(facts.members.begin(), facts.members.end(),
                       [](const auto& a, const auto& b) { return a.held_up_ns < b.held_up_ns; });
  out.run.texts["run.straggler"] =
      facts.by_rank ? fmt::format("rank {}", worst->rank) : fmt::format("device {}", worst->device);
  n["run.straggler_held_up_ms"] = Ms(worst->held_up_ns);
  if (worst->collectives > 0) {
    n["run.straggler_last_share"] = features::Ratio(worst->last, worst->collectives);
    n["run.straggler_mean_late_ms"] = Ms(worst->late_ns / worst->collectives);
  }
  // Arrivals of two members are compared, so that both clocks count.
  int64_t uncertain_ns = 0;
  for (const RanksFacts::Member& m : facts.members)
    uncertain_ns = std::max(uncertain_ns, m.UncertaintyNs().value_or(0));
  n["run.straggler_uncertainty_ms"] = Ms(uncertain_ns);
  out.available.push_back("ranks");
}

}  // namespace nl
