// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/flame_diff.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/program/flame.h"
#include "base/terminal.h"

namespace nl {

namespace {

constexpr int kMaxFlameDepth = 200;  // a level is two of JSON's (kMaxJsonDepth)
constexpr int kMaxFrameColumns = 160;

struct Frame {
  std::string name;
  int depth = 0;
  int64_t device_ns[2] = {0, 0}, host_ns[2] = {0, 0};  // by run
  std::vector<uint32_t> children;
  std::unordered_map<std::string, uint32_t> by_name;
};

class Overlay {
 public:
  Overlay() { frames_.emplace_back().name = "(run)"; }

  Status Add(Analysis& run, size_t side) {
    NL_ASSIGN(const RunFlame flame, FlameOfRun(run));
    const auto& [tree, timeline] = flame;
    if (!tree.unit.empty()) return {};                     // values are not times
    std::vector<uint32_t> frame_of(tree.nodes.size(), 0);  // parents come before children
    for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
      const FlameTree::Node& node = tree.nodes[i];
      const uint32_t parent = i == 0 ? kNone : frame_of[node.parent];
      const bool too_deep = parent != kNone && frames_[parent].depth >= kMaxFlameDepth;
      if (i != 0) frame_of[i] = too_deep ? parent : Child(parent, FlameName(node, run.data(), *timeline));
      if (too_deep) continue;  // its time is in the totals above
      frames_[frame_of[i]].device_ns[side] += node.device_total_ns;
      frames_[frame_of[i]].host_ns[side] += node.host_total_ns;
    }
    return {};
  }

  std::optional<FlameDiffFrame> Tree(bool device, double least_share) const {
    const auto& root = Of(frames_[0], device);
    if (std::max(root[0], root[1]) <= 0) return std::nullopt;
    const auto least_ns = static_cast<double>(std::max(root[0], root[1])) * least_share;
    return FrameOf(0, device, std::max(1.0, least_ns));
  }

 private:
  static const int64_t (&Of(const Frame& frame, bool device))[2] {
    return device ? frame.device_ns : frame.host_ns;
  }

  uint32_t Child(uint32_t parent, std::string name) {
    name = PrintableName(name, kMaxFrameColumns);
    const auto [it, added] = frames_[parent].by_name.try_emplace(name, static_cast<uint32_t>(frames_.size()));
    const uint32_t child = it->second;
    if (!added) return child;
    frames_[parent].children.push_back(child);
    Frame frame;
    frame.name = std::move(name);
    frame.depth = frames_[parent].depth + 1;
    frames_.push_back(std::move(frame));
    return child;
  }

  FlameDiffFrame FrameOf(uint32_t at, bool device, double least_ns) const {
    const Frame& frame = frames_[at];
    const auto& ns = Of(frame, device);
    std::vector<uint32_t> shown;
    for (const uint32_t child : frame.children) {
      const auto& time = Of(frames_[child], device);
      if (static_cast<double>(std::max(time[0], time[1])) >= least_ns) shown.push_back(child);
    }
    const auto change = [&](uint32_t i) {
      const auto& time = Of(frames_[i], device);
      return std::abs(time[1] - time[0]);
    };
    std::stable_sort(shown.begin(), shown.end(),
                     [&](uint32_t x, uint32_t y) { return change(x) > change(y); });
    FlameDiffFrame out{frame.name, static_cast<double>(ns[0]) / 1e6, static_cast<double>(ns[1]) / 1e6, {}};
    out.children.reserve(shown.size());
    for (const uint32_t child : shown) out.children.push_back(FrameOf(child, device, least_ns));
    return out;
  }

  std::vector<Frame> frames_;
};

}  // namespace

void Describe(Record<FlameDiffFrame>& r) {
  r.Name("FlameFrame", "One frame of the flame graph of two runs");
  r.Field("name", &FlameDiffFrame::name, "Operator, function, range or kernel");
  r.Field("a_ms", &FlameDiffFrame::a_ms, Unit::kMs, "Inclusive time in run A");
  r.Field("b_ms", &FlameDiffFrame::b_ms, Unit::kMs, "Inclusive time in run B");
  r.Field("children", &FlameDiffFrame::children, "Frames below it, largest difference first");
}

void Describe(Record<FlameDiff>& r) {
  r.Name("CompareFlame", "Flame graphs of two runs merged by path of names");
  r.Field("device", &FlameDiff::device, "Device time; null: neither run has any");
  r.Field("host", &FlameDiff::host, "Host time; null: neither run has any");
}

Result<FlameDiff> DiffFlames(Analysis& a, Analysis& b, double least_share) {
  Overlay overlay;
  NL_TRY(overlay.Add(a, 0));
  NL_TRY(overlay.Add(b, 1));
  return FlameDiff{overlay.Tree(true, least_share), overlay.Tree(false, least_share)};
}

}  // namespace nl
