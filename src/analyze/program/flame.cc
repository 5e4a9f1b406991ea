// SPDX-License-Identifier: Apache-2.0
#include "analyze/program/flame.h"

#include <algorithm>
#include <unordered_map>

namespace nl {

namespace {

constexpr std::string_view kStepLabel = "ProfilerStep#";
// Above this, paths differ too much to merge; new ones go to "(other)" at once.
constexpr size_t kMaxPaths = 4'000'000;

// Children of merged nodes by (parent, name): open addressing, because every span looks one up.
class ChildTable {
 public:
  ChildTable() : slots_(1 << 12) {}
  uint32_t& Find(uint32_t parent, uint32_t name) {
    if (2 * used_ >= slots_.size()) Grow();
    const uint64_t key = uint64_t{parent} << 32 | name;
    size_t at = Hash(key) & (slots_.size() - 1);
    while (slots_[at].child != kNone && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].child == kNone) {
      slots_[at].key = key;
      ++used_;
    }
    return slots_[at].child;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t child = kNone;
  };
  static uint64_t Hash(uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    return key ^ (key >> 29);
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& s : old) {
      if (s.child == kNone) continue;
      size_t at = Hash(s.key) & (slots_.size() - 1);
      while (slots_[at].child != kNone) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = s;
    }
  }
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

class Merger {
 public:
  Merger(const RunData& data, const TimelineFacts& timeline, const AttributionFacts& attribution)
      : data_(data), t_(timeline), a_(attribution) {
    tree_.nodes.emplace_back().kind = FlameKind::kRoot;
  }

  FlameTree Merge() {
    for (uint32_t k = 0; k < a_.node.size(); ++k) {
      if (a_.node[k] == kNone) {
        AddWork(Child(0, StringId::kNull, FlameKind::kUnlinked), k);
      } else {
        by_node_.push_back(uint64_t{a_.node[k]} << 32 | k);
      }
    }
    std::sort(by_node_.begin(), by_node_.end());
    Sweep();
    if (tree_.nodes.size() == 1) AddSamples();
    // Children come after their parents.
    for (size_t i = tree_.nodes.size(); i-- > 0;) {
      FlameTree::Node& n = tree_.nodes[i];
      n.host_total_ns += n.host_self_ns;
      n.device_total_ns += n.device_self_ns;
      if (n.parent == kNone) continue;
      tree_.nodes[n.parent].host_total_ns += n.host_total_ns;
      tree_.nodes[n.parent].device_total_ns += n.device_total_ns;
    }
    return std::move(tree_);
  }

 private:
  struct Open {
    uint32_t last, merged;
    int64_t covered_ns;
  };

  void Sweep() {
    std::vector<Open> stack;
    size_t next = 0;
    for (uint32_t i = 0; i < t_.host.size(); ++i) {
      while (!stack.empty() && stack.back().last <= i) stack.pop_back();
      if (IsFrame(i)) continue;
      const int64_t start_ns = t_.host.start_ns[i], end_ns = t_.host.end_ns[i];
      if (!stack.empty()) {
        Open& up = stack.back();
        tree_.nodes[up.merged].host_self_ns -=
            std::max<int64_t>(0, end_ns - std::max(start_ns, up.covered_ns));
        up.covered_ns = std::max(up.covered_ns, end_ns);
      }
      const uint32_t merged =
          Child(stack.empty() ? 0 : stack.back().merged, NameOf(t_.host.name[i]), FlameKind::kHost);
      tree_.nodes[merged].host_self_ns += end_ns - start_ns;
      ++tree_.nodes[merged].calls;
      stack.push_back({t_.host.last[i], merged, INT64_MIN});
      for (; next < by_node_.size() && by_node_[next] >> 32 == i; ++next)
        AddWork(merged, static_cast<uint32_t>(by_node_[next]));
    }
  }

  // A run with sampled stacks only: weights are times, or counts of the recorded unit.
  void AddSamples() {
    const CpuSampleView& samples = data_.cpu_sample;
    tree_.frame_texts = std::make_shared<std::deque<std::string>>();
    // Samples of different units have no common sum: use time if present, otherwise the first unit.
    StringId unit = StringId::kNull;
    bool timed = false;
    for (size_t i = 0; i < samples.stack.size() && !timed; ++i) {
      timed = !IsNull(samples.weight_ns[i]);
      if (IsNull(unit)) unit = samples.unit[i];
    }
    for (size_t i = 0; i < samples.stack.size(); ++i) {
      const int64_t weight = timed ? samples.weight_ns[i] : samples.weight[i];
      if (IsNull(weight) || weight < 0 || (!timed && samples.unit[i] != unit)) continue;
      uint32_t at = 0;
      for (const size_t frame : FramesOf(samples.stack[i])) {
        at = Child(at, static_cast<StringId>(frame), FlameKind::kHost);
        if (tree_.nodes[at].kind == FlameKind::kHost) tree_.nodes[at].text = (*tree_.frame_texts)[frame];
      }
      tree_.nodes[at].host_self_ns += weight;
      ++tree_.nodes[at].calls;
    }
    if (!timed && !IsNull(unit)) tree_.unit = data_.Text(unit);
  }

  // The frames of a stack, by places in frame_texts.
  const std::vector<size_t>& FramesOf(StringId stack) {
    const auto [it, added] = frames_of_.try_emplace(static_cast<uint32_t>(stack));
    if (!added) return it->second;
    std::string_view text = data_.Text(stack);
    while (!text.empty()) {
      const size_t end = std::min(text.find(';'), text.size());
      const auto [frame, fresh] =
          frame_of_.try_emplace(std::string(text.substr(0, end)), tree_.frame_texts->size());
      if (fresh) tree_.frame_texts->push_back(frame->first);
      it->second.push_back(frame->second);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return it->second;
  }

  // Kineto writes the whole recording as one span of category Trace on its own lane.
  bool IsFrame(uint32_t i) const {
    return t_.host.kind[i] == HostKind::kRange && t_.host.last[i] == i + 1 &&
           data_.Text(data_.range.category[t_.host.row[i]]) == "Trace";
  }

  void AddWork(uint32_t below, uint32_t k) {
    FlameTree::Node& n = tree_.nodes[Child(below, t_.work.name[k], FlameKind::kDevice)];
    n.device_self_ns += t_.work.end_ns[k] - t_.work.start_ns[k];
    ++n.calls;
  }

  uint32_t Child(uint32_t parent, StringId name, FlameKind kind) {
    if (tree_.nodes[parent].kind == FlameKind::kOther) return parent;
    ChildTable& table = kind == FlameKind::kHost ? host_ : device_;
    uint32_t& child = table.Find(parent, static_cast<uint32_t>(name));
    if (child != kNone) return child;
    if (tree_.nodes.size() >= kMaxPaths) {
      ++tree_.folded;
      return child = OtherOf(parent);
    }
    child = static_cast<uint32_t>(tree_.nodes.size());
    FlameTree::Node node;
    node.parent = parent;
    node.name = name;
    node.kind = kind;
    tree_.nodes.push_back(node);
    return child;
  }
  uint32_t OtherOf(uint32_t parent) {
    const auto [it, added] = others_.try_emplace(parent, static_cast<uint32_t>(tree_.nodes.size()));
    if (added) {
      FlameTree::Node node;
      node.parent = parent;
      node.kind = FlameKind::kOther;
      tree_.nodes.push_back(node);
    }
    return it->second;
  }

  // Steps differ only in their number and merge into one frame.
  StringId NameOf(StringId name) {
    if (IsNull(name)) return name;
    const auto id = static_cast<uint32_t>(name);
    if (id >= is_step_.size()) is_step_.resize(std::max<size_t>(id + 1, 2 * is_step_.size()), 0);
    if (is_step_[id] == 0) is_step_[id] = data_.Text(name).starts_with(kStepLabel) ? 2 : 1;
    if (is_step_[id] == 1) return name;
    if (IsNull(step_)) step_ = name;
    return step_;
  }

  const RunData& data_;
  const TimelineFacts& t_;
  const AttributionFacts& a_;
  FlameTree tree_;
  ChildTable host_, device_;
  std::unordered_map<uint32_t, uint32_t> others_;
  std::unordered_map<uint32_t, std::vector<size_t>> frames_of_;
  std::unordered_map<std::string, size_t> frame_of_;
  std::vector<uint64_t> by_node_;
  std::vector<uint8_t> is_step_;
  StringId step_ = StringId::kNull;
};

// Keeps the heaviest nodes; a parent weighs at least what its children weigh and comes before them.
FlameTree Prune(const FlameTree& full, size_t max_nodes) {
  const auto share = [&](uint32_t i) {
    const FlameTree::Node &n = full.nodes[i], &root = full.nodes[0];
    const auto part = [](int64_t x, int64_t all) {
      return all > 0 ? static_cast<double>(x) / static_cast<double>(all) : 0;
    };
    return std::max(part(n.host_total_ns, root.host_total_ns), part(n.device_total_ns, root.device_total_ns));
  };
  std::vector<std::pair<double, uint32_t>> order;
  for (uint32_t i = 0; i < full.nodes.size(); ++i) order.emplace_back(-share(i), i);
  std::nth_element(order.begin(), order.begin() + static_cast<ptrdiff_t>(max_nodes), order.end());
  std::vector<uint8_t> kept(full.nodes.size(), 0);
  for (size_t i = 0; i < max_nodes; ++i) kept[order[i].second] = 1;
  kept[0] = 1;
  FlameTree out;
  out.folded = full.folded;
  out.unit = full.unit;
  out.frame_texts = full.frame_texts;
  std::vector<uint32_t> place(full.nodes.size(), kNone), other(full.nodes.size(), kNone);
  for (uint32_t i = 0; i < full.nodes.size(); ++i) {
    const FlameTree::Node& n = full.nodes[i];
    const bool below_kept = i == 0 || kept[n.parent];
    kept[i] = kept[i] && below_kept;
    if (kept[i]) {
      place[i] = static_cast<uint32_t>(out.nodes.size());
      out.nodes.push_back(n);
      if (i != 0) out.nodes.back().parent = place[n.parent];
      continue;
    }
    ++out.folded;
    if (!below_kept) {
      place[i] = place[n.parent];
    } else if (other[n.parent] == kNone) {
      place[i] = other[n.parent] = static_cast<uint32_t>(out.nodes.size());
      FlameTree::Node rest;
      rest.parent = place[n.parent];
      rest.kind = FlameKind::kOther;
      out.nodes.push_back(rest);
    } else {
      place[i] = other[n.parent];
    }
    FlameTree::Node& rest = out.nodes[place[i]];
    rest.calls += n.calls;
    rest.host_self_ns += n.host_self_ns;
    rest.host_total_ns += n.host_self_ns;
    rest.device_self_ns += n.device_self_ns;
    rest.device_total_ns += n.device_self_ns;
  }
  return out;
}

}  // namespace

std::span<const std::string_view> NamesOf(FlameKind) {
  static constexpr std::string_view kNames[] = {"root", "host", "device", "unlinked", "other"};
  return kNames;
}

std::vector<std::vector<uint32_t>> FlameTree::Children(bool device) const {
  std::vector<std::vector<uint32_t>> out(nodes.size());
  for (uint32_t i = 1; i < nodes.size(); ++i) out[nodes[i].parent].push_back(i);
  const auto weight = [&](uint32_t i) { return device ? nodes[i].device_total_ns : nodes[i].host_total_ns; };
  for (auto& list : out) {
    std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) { return weight(a) > weight(b); });
  }
  return out;
}

FlameTree BuildFlame(const RunData& data, const TimelineFacts& timeline, const AttributionFacts& attribution,
                     size_t max_nodes) {
  FlameTree full = Merger(data, timeline, attribution).Merge();
  return full.nodes.size() <= max_nodes ? full : Prune(full, max_nodes);
}

Result<RunFlame> FlameOfRun(Analysis& analysis) {
  NL_TRY(analysis.Load(kFlameReads, {AttributionFacts::kName}));
  NL_ASSIGN(const TimelineFacts* timeline, analysis.Need<TimelineFacts>());
  NL_ASSIGN(const AttributionFacts* attribution, analysis.Need<AttributionFacts>());
  return RunFlame{BuildFlame(analysis.data(), *timeline, *attribution), timeline};
}

std::string FlameName(const FlameTree::Node& node, const RunData& data, const TimelineFacts& timeline) {
  switch (node.kind) {
    case FlameKind::kRoot: return "(run)";
    case FlameKind::kUnlinked: return "(no launch recorded)";
    case FlameKind::kOther: return "(other)";
    case FlameKind::kHost: {
      const std::string_view text = node.text.empty() ? data.Text(node.name) : node.text;
      return text.starts_with(kStepLabel) ? "ProfilerStep" : std::string(text);
    }
    case FlameKind::kDevice: break;
  }
  const auto it = timeline.kernel_names.find(static_cast<uint32_t>(node.name));
  return it == timeline.kernel_names.end() ? std::string(data.Text(node.name)) : it->second.short_name;
}

}  // namespace nl
