// SPDX-License-Identifier: Apache-2.0
// Loops over tensors: a few operators that a step runs many times in a row, for one tensor after the other.
// Rows that were taken apart can be handled in one call, parameters by a function for lists of tensors.
#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "analyze/features/pattern_items.h"
#include "analyze/program/per_name.h"
#include "base/has_any.h"

namespace nl::features {

namespace {

constexpr size_t kMostBody = 12;      // operators of a body
constexpr size_t kFewestRepeats = 8;  // of a body in a row
constexpr size_t kStepsLookedAt = 3;
constexpr double kLeastShare = 0.05;  // of the step, that a loop must take to be named
constexpr double kStartNs = 5'000;    // of a kernel's time, what several of them in one need only once

struct Run {  // places in the list of one step
  size_t first = 0, body = 0, repeats = 0;
  size_t End() const { return first + body * repeats; }
};

// The repetitions in a list of names, the longest at each place.
std::vector<Run> FindRuns(const std::vector<StringId>& names) {
  const size_t count = names.size();
  // same[body][i]: so many names from i on equal those `body` places further.
  std::vector<std::vector<uint32_t>> same(kMostBody + 1, std::vector<uint32_t>(count + 1, 0));
  for (size_t body = 1; body <= kMostBody; ++body) {
    for (size_t i = count; i-- > 0;) {
      if (i + body < count && names[i] == names[i + body]) same[body][i] = same[body][i + 1] + 1;
    }
  }
  std::vector<Run> out;
  for (size_t i = 0; i < count;) {
    Run best;
    for (size_t body = 1; body <= kMostBody; ++body) {
      const size_t repeats = same[body][i] / body + 1;
      if (repeats >= kFewestRepeats && repeats * body > best.body * best.repeats) best = {i, body, repeats};
    }
    if (best.repeats > 0) out.push_back(best);
    i = best.repeats > 0 ? best.End() : i + 1;
  }
  return out;
}

class LoopFinder {
 public:
  LoopFinder(const Program& p, const PatternItems& items, Features& out)
      : p_(p), items_(items), list_(items.list()), out_(out) {}

  void Find() {
    out_.run.numbers["run.loop_repeats"] = 0;
    out_.run.numbers["run.loop_is_rows"] = 0;
    if (p_.steps.empty()) return;
    const size_t middle = p_.steps.size() / 2;
    Loop most;
    for (size_t s = middle; s < std::min(middle + kStepsLookedAt, p_.steps.size()); ++s) {
      const Loop found = LongestIn(p_.steps[s]);
      if (found.share > most.share) most = found;
    }
    if (most.share < kLeastShare) return;
    Report(most);
  }

 private:
  struct Loop {
    Run run;
    double share = 0;             // of the step
    bool rows = false;            // of a tensor that is taken apart; else tensors of several sizes
    std::vector<StringId> names;  // of the body
    std::vector<size_t> places;   // of the step it was found in, in list_
    int64_t from_ns = 0, to_ns = 0;
  };

  uint32_t NodeAt(size_t place) const { return p_.leaves[list_[place].leaf].node; }
  int64_t StartOf(size_t place) const { return p_.timeline.host.start_ns[NodeAt(place)]; }
  int64_t EndOf(size_t place) const { return p_.timeline.host.end_ns[p_.CallerOf(NodeAt(place))]; }

  // Places in list_ of the thread that runs most operators of a step, in order.
  std::vector<size_t> PlacesIn(const Step& step) const {
    const auto before = [](const Item& item, uint32_t leaf) { return item.leaf < leaf; };
    const std::vector<LeafOp>& leaves = p_.leaves;
    std::vector<size_t> out;
    for (const auto& thread : p_.timeline.threads) {
      const auto leaf = std::partition_point(leaves.begin(), leaves.end(), [&](const LeafOp& l) {
        return l.node < thread.first ||
               (l.node < thread.last && p_.timeline.host.start_ns[l.node] < step.start_ns);
      });
      auto at =
          std::lower_bound(list_.begin(), list_.end(), static_cast<uint32_t>(leaf - leaves.begin()), before);
      std::vector<size_t> places;
      for (; at != list_.end(); ++at) {
        const auto place = static_cast<size_t>(at - list_.begin());
        if (NodeAt(place) >= thread.last || StartOf(place) >= step.end_ns) break;
        places.push_back(place);
      }
      if (places.size() > out.size()) out = std::move(places);
    }
    return out;
  }

  std::vector<StringId> NamesOf(const std::vector<size_t>& places) const {
    std::vector<StringId> out;
    out.reserve(places.size());
    for (const size_t place : places) out.push_back(p_.timeline.host.name[NodeAt(place)]);
    return out;
  }

  Loop LongestIn(const Step& step) const {
    const std::vector<size_t> places = PlacesIn(step);
    const std::vector<StringId> names = NamesOf(places);
    Loop best;
    for (const Run& run : FindRuns(names)) {
      Loop loop;
      loop.run = run;
      loop.from_ns = StartOf(places[run.first]);
      loop.to_ns = EndOf(places[run.End() - 1]);
      loop.share = Ratio(loop.to_ns - loop.from_ns, std::max<int64_t>(1, step.end_ns - step.start_ns));
      if (loop.share <= best.share || !CanBeOne(places, run) || InOptimizer(NodeAt(places[run.first])))
        continue;
      loop.rows = TakesRowsApart(step, loop, places);
      if (!loop.rows && !SizesDiffer(places, run)) continue;
      loop.names.assign(names.begin() + static_cast<std::ptrdiff_t>(run.first),
                        names.begin() + static_cast<std::ptrdiff_t>(run.first + run.body));
      loop.places.assign(places.begin() + static_cast<std::ptrdiff_t>(run.first),
                         places.begin() + static_cast<std::ptrdiff_t>(run.End()));
      best = std::move(loop);
    }
    return best;
  }

  // Products and attention come from layers, one after the other; what the host reads or sends has findings
  // of its own.
  bool CanBeOne(const std::vector<size_t>& places, const Run& run) const {
    for (size_t i = run.first; i < run.first + run.body; ++i) {
      const Item& item = list_[places[i]];
      const KernelFamily family = p_.leaves[item.leaf].family;
      if (item.role == Role::kGemm || family == KernelFamily::kGemm || family == KernelFamily::kConv ||
          family == KernelFamily::kNorm || family == KernelFamily::kAttention ||
          !items_.Name(item).starts_with("aten::") || items_.IsHostCopy(item))
        return false;
    }
    return true;
  }

  // An optimizer of torch.optim has a finding of its own.
  bool InOptimizer(uint32_t node) const {
    const auto calls = out_.run.targets.find("optimizer");
    if (calls == out_.run.targets.end()) return false;
    const std::vector<uint32_t>& nodes = calls->second.nodes;
    const auto after = std::upper_bound(nodes.begin(), nodes.end(), node);
    return after != nodes.begin() && node < p_.timeline.host.last[*(after - 1)];
  }

  // As many views of single rows as there are repetitions: each takes its own, or all were taken before the
  // first.
  bool TakesRowsApart(const Step& step, const Loop& loop, const std::vector<size_t>& places) const {
    const HostTree& h = p_.timeline.host;
    const auto repeats = static_cast<int64_t>(loop.run.repeats);
    PerName select(p_.data, [](std::string_view name) { return name == "aten::select"; });
    PerName unbind(p_.data, [](std::string_view name) { return name == "aten::unbind"; });
    int64_t inside = 0;
    bool before = false;
    uint32_t node = NodeAt(places.front());
    while (node > 0 && h.thread[node - 1] == h.thread[node] && h.start_ns[node - 1] >= step.start_ns) --node;
    for (; node < h.size() && h.start_ns[node] < loop.to_ns &&
           h.thread[node] == h.thread[NodeAt(places.front())];
         ++node) {
      if (h.kind[node] != HostKind::kOp) continue;
      inside += h.start_ns[node] >= loop.from_ns && select.Of(h.name[node]);
      if (h.start_ns[node] >= loop.from_ns || !unbind.Of(h.name[node])) continue;
      int64_t rows = 0;
      for (uint32_t child = node + 1; child < h.last[node]; ++child)
        rows += h.kind[child] == HostKind::kOp && select.Of(h.name[child]);
      before = before || (rows >= repeats && rows <= repeats + 1);
    }
    return before || inside >= repeats - 1;
  }

  // Kernels for tensors of one size may be steps of one computation; those of several sizes are not.
  bool SizesDiffer(const std::vector<size_t>& places, const Run& run) const {
    constexpr size_t kFewestSizes = 2, kFewestTensors = 16;
    if (run.repeats < kFewestTensors) return false;
    std::set<int32_t> sizes;
    for (size_t i = run.first; i < run.End(); i += run.body) {
      const Item& item = list_[places[i]];
      const uint32_t work = p_.leaves[item.leaf].work;
      if (item.role != Role::kPointwise && item.role != Role::kReduction) return false;
      if (p_.timeline.work.kind[work] != WorkKind::kKernel) return false;
      const uint32_t row = p_.timeline.work.row[work];
      if (row < p_.data.kernel.grid_x.size()) sizes.insert(p_.data.kernel.grid_x[row]);
    }
    return sizes.size() >= kFewestSizes;
  }

  void Report(const Loop& loop) {
    auto& n = out_.run.numbers;
    const auto repeats = static_cast<double>(loop.run.repeats);
    n["run.loop_repeats"] = repeats;
    n["run.loop_is_rows"] = loop.rows;
    n["run.loop_kernels"] = repeats * static_cast<double>(loop.run.body);
    n["run.loop_share"] = loop.share;
    n["run.loop_ms"] = Ms(loop.to_ns - loop.from_ns);
    // Work on lists of tensors still takes some launches and its time on the device.
    constexpr double kOfLists = 0.1;
    n["run.loop_left"] = std::max({1 / repeats, DeviceLeft(loop), loop.rows ? 0.0 : kOfLists});
    n["run.loop_is_reset"] = std::all_of(loop.names.begin(), loop.names.end(),
                                         [&](StringId name) { return IsFill(p_.data.Text(name)); });
    n["run.loop_is_update"] = Has(loop, "sqrt") && (Has(loop, "::mul_") || Has(loop, "::lerp_"));
    out_.run.texts["run.loop_ops"] = OpsText(loop);
    out_.run.texts["run.loop_caller"] = p_.PythonAround(NodeAt(loop.places.front()));
    out_.run.targets["loop"].nodes = NodesEverywhere(loop);
  }

  bool Has(const Loop& loop, std::string_view part) const {
    return std::any_of(loop.names.begin(), loop.names.end(), [&](StringId name) {
      return p_.data.Text(name).find(part) != std::string_view::npos;
    });
  }

  // The share of its device time that one call for all keeps.
  double DeviceLeft(const Loop& loop) const {
    double ns = 0, work_ns = 0;
    for (const size_t place : loop.places) {
      const auto each = static_cast<double>(items_.Ns(list_[place]));
      ns += each;
      work_ns += std::max(0.0, each - kStartNs);
    }
    return ns > 0 ? work_ns / ns : 0;
  }

  std::string OpsText(const Loop& loop) const {
    constexpr size_t kNamed = 4;
    std::string out;
    for (size_t i = 0; i < std::min(kNamed, loop.names.size()); ++i)
      out += (i > 0 ? ", " : "") + std::string(p_.data.Text(loop.names[i]).substr(0, 60));
    return loop.names.size() > kNamed ? out + ", ..." : out;
  }

  // The operators of this loop in every step.
  std::vector<uint32_t> NodesEverywhere(const Loop& loop) const {
    std::vector<uint32_t> out;
    // A step found by what repeats may begin in the middle of a body.
    std::vector<StringId> twice(loop.names);
    twice.insert(twice.end(), loop.names.begin(), loop.names.end());
    for (const Step& step : p_.steps) {
      const std::vector<size_t> places = PlacesIn(step);
      const std::vector<StringId> names = NamesOf(places);
      for (const Run& run : FindRuns(names)) {
        const auto first = names.begin() + static_cast<std::ptrdiff_t>(run.first);
        const auto last = first + static_cast<std::ptrdiff_t>(run.body);
        if (run.body != loop.run.body || std::search(twice.begin(), twice.end(), first, last) == twice.end())
          continue;
        for (size_t i = run.first; i < run.End(); ++i) out.push_back(p_.CallerOf(NodeAt(places[i])));
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  const Program& p_;
  const PatternItems& items_;
  const std::vector<Item>& list_;
  Features& out_;
};

}  // namespace

void AddLoops(const Program& program, const PatternItems& items, Features& out) {
  LoopFinder(program, items, out).Find();
}

}  // namespace nl::features
