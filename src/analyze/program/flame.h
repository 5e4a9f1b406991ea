// SPDX-License-Identifier: Apache-2.0
#pragma once
// FlameTree: the calls of a run merged by path of names, with host and device time.
// Built on demand from the timeline and the attribution. Device time belongs to frames of
// kernels below the call that launched them. A run with sampled stacks and no calls gives
// the tree of its stacks.
// Thread rule: plain values.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/facts/attribution.h"
#include "analyze/facts/timeline.h"
#include "analyze/run_data.h"

namespace nl {

enum class FlameKind : uint8_t { kRoot, kHost, kDevice, kUnlinked, kOther };
std::span<const std::string_view> NamesOf(FlameKind);

struct FlameTree {
  struct Node {
    uint32_t parent = kNone;
    StringId name = StringId::kNull;
    FlameKind kind = FlameKind::kHost;
    int64_t calls = 0;
    int64_t host_self_ns = 0, host_total_ns = 0;
    int64_t device_self_ns = 0, device_total_ns = 0;
    std::string_view text;  // name of a sampled frame; empty: use `name`
  };
  std::vector<Node> nodes;  // the first is the root; parents before children
  int64_t folded = 0;       // paths merged into "(other)" frames
  // Unit of host weights in a profile without times ("samples", "bytes"); empty: ns.
  std::string unit;
  std::shared_ptr<std::deque<std::string>> frame_texts;  // of sampled stacks

  // Positions of the children of each node, heaviest first by the chosen time.
  std::vector<std::vector<uint32_t>> Children(bool device) const;
};

inline constexpr size_t kMaxFlameNodes = 50'000;

inline constexpr Reads kFlameReads =
    NL_READS(Range, category) | NL_READS(CpuSample, stack, weight_ns, weight, unit);

// At most `max_nodes` nodes plus "(other)" frames: the lightest are merged into one such
// frame per parent, so that sums stay exact.
FlameTree BuildFlame(const RunData& data, const TimelineFacts& timeline, const AttributionFacts& attribution,
                     size_t max_nodes = kMaxFlameNodes);

// The text of a frame.
std::string FlameName(const FlameTree::Node& node, const RunData& data, const TimelineFacts& timeline);

// The tree of a run and what names its frames, from columns and facts that are loaded here.
struct RunFlame {
  FlameTree tree;
  const TimelineFacts* timeline = nullptr;  // of the analysis
};
Result<RunFlame> FlameOfRun(Analysis& analysis);

}  // namespace nl
