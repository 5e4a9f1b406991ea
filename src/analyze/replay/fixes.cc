// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/fixes.h"

#include <algorithm>
#include <array>

#include "analyze/copies.h"
#include "model/api_kind.h"

namespace nl::replay {

namespace {

// One graph launch takes this long on the host, and its nodes follow each other this closely.
constexpr double kGraphLaunchNs = 12'000, kGraphNodeNs = 700;
// Bytes per ns that copies from and to pinned memory reach where the run has none to measure (PCIe 5).
constexpr double kPinnedBytesPerNs = 50;
constexpr double kEnqueueNs = 5'000;
constexpr int64_t kCallerNs = 8'000;
// More than Python takes from one call to the next.
constexpr int64_t kBetweenNs = 20'000;

bool IsBlockingCall(const RunData& data, const HostTree& h, uint32_t node) {
  if (h.kind[node] != HostKind::kApi || IsNull(h.name[node])) return false;
  const ApiKind kind = ClassifyApi(data.Text(h.name[node]));
  return kind == ApiKind::kSync || kind == ApiKind::kBlockingFree || IsCopy(kind);
}

void DropWaitsIn(const StepReplay& s, uint32_t node, Plan& plan) {
  const HostTree& h = s.timeline().host;
  for (uint32_t inner = node; inner < h.last[node]; ++inner) {
    if (IsBlockingCall(s.data(), h, inner)) s.DropWait(plan, inner);
  }
}

uint64_t ChangeKey(FixKind kind, uint32_t node) { return static_cast<uint64_t>(kind) << 32 | node; }

bool IsGone(const StepReplay& s, const Plan& plan, uint32_t node) {
  for (uint32_t up = node; up != kNone; up = s.timeline().host.parent[up]) {
    if (plan.nodes_gone.count(up) > 0) return true;
  }
  return false;
}

// The nodes that this fix is the first of its kind to change.
std::vector<uint32_t> Claim(const StepReplay& s, FixKind kind, const FixTargets& targets, Plan& plan) {
  std::vector<uint32_t> out;
  for (const uint32_t node : targets.nodes) {
    if (!s.HasNode(node) || IsGone(s, plan, node)) continue;
    if (kind == FixKind::kKernels || plan.nodes_changed.insert(ChangeKey(kind, node)).second)
      out.push_back(node);
  }
  return out;
}

// The host's time in operators and calls; a graph leaves none of it.
void ScaleCall(const StepReplay& s, Plan& plan, uint32_t node, double factor) {
  if (!plan.graphs) s.ScaleNode(plan, node, factor);
}

// Operators and calls cost nothing, host code stays. Work starts as soon as what it depends on has ended.
void Graphs(const StepReplay& s, Plan& plan) {
  if (plan.graphs) return;
  Plan host_only = plan;
  host_only.graphs = true;
  std::fill(host_only.host_ns.begin(), host_only.host_ns.end(), 0.0);
  std::fill(host_only.tail_ns.begin(), host_only.tail_ns.end(), 0.0);
  const PathGraph& graph = s.graph();
  const std::vector<uint32_t>& hosts = s.host_points();
  for (size_t i = 0; i < hosts.size(); ++i) {
    const bool waits = graph.host_kind[hosts[i]] == PointKind::kReturn;
    if (waits || !s.Launches(graph.host_thread[hosts[i]])) host_only.host_ns[i] = plan.host_ns[i];
  }
  // What the gaps take of each stretch is the difference that removing them makes.
  Plan without = plan;
  for (const HostGap& gap : s.gaps()) s.ScaleHost(without, gap.thread, gap.start_ns, gap.end_ns, 0);
  for (size_t i = 0; i < hosts.size(); ++i)
    host_only.host_ns[i] = std::max(host_only.host_ns[i], plan.host_ns[i] - without.host_ns[i]);
  for (size_t t = 0; t < plan.tail_ns.size(); ++t) {
    host_only.tail_ns[t] = plan.tail_ns[t] - without.tail_ns[t];
    if (s.Launches(static_cast<uint32_t>(t)))
      host_only.tail_ns[t] += kGraphLaunchNs * static_cast<double>(s.steps());
  }
  for (size_t i = 0; i < host_only.work_ns.size(); ++i) {
    host_only.work_ns[i] += kGraphNodeNs;
    host_only.no_gap[i] = 1;
  }
  plan = std::move(host_only);
}

// Values that the host reads. What it sends is still needed when nobody waits for it.
bool OnlyFetches(const StepReplay& s, uint32_t node) {
  bool only = true;
  const DeviceWork& work = s.timeline().work;
  s.ForEachWorkOf(node, [&](uint32_t w) {
    only = only && work.kind[w] == WorkKind::kMemcpy && !IsCopyToDevice(s.data(), work.row[w]);
  });
  return only;
}

// The values that an operator fetches to decide what it does next, inside it: without the wait they are not
// fetched either.
void DropFetchesIn(const StepReplay& s, uint32_t node, Plan& plan) {
  const DeviceWork& work = s.timeline().work;
  constexpr int64_t kMostBytes = 64;
  s.ForEachWorkOf(node, [&](uint32_t w) {
    if (work.kind[w] != WorkKind::kMemcpy || work.launch[w] == kNone) return;
    const int64_t bytes = s.data().memcpy.bytes[work.row[w]];
    if (!IsCopyToHost(s.data(), work.row[w]) || IsNull(bytes) || bytes > kMostBytes) return;
    ScaleCall(s, plan, work.launch[w], 0);
    s.DropWork(plan, w);
  });
}

void Remove(const StepReplay& s, uint32_t node, Plan& plan) {
  plan.nodes_gone.insert(node);
  DropWaitsIn(s, node, plan);
  ScaleCall(s, plan, node, 0);
  const HostTree& h = s.timeline().host;
  if (h.kind[node] == HostKind::kApi && !plan.graphs) {
    // A call outside of operators is made by code of its own (torch.cuda.synchronize), before and after it.
    const int64_t around_ns = std::min<int64_t>(kCallerNs, h.start_ns[node]);
    s.ScaleHost(plan, s.ThreadOf(node), h.start_ns[node] - around_ns, h.start_ns[node], 0);
  }
  s.ForEachWorkOf(node, [&](uint32_t w) { s.DropWork(plan, w); });
}

bool IsOp(const StepReplay& s, uint32_t node, std::string_view name) {
  const HostTree& h = s.timeline().host;
  return h.kind[node] == HostKind::kOp && !IsNull(h.name[node]) && s.data().Text(h.name[node]) == name;
}

// What an operator does only to learn how many elements its result has: nonzero, and the tests whose outcome
// it fetches. With a size that the host knows, none of that happens.
void DropSizing(const StepReplay& s, uint32_t node, Plan& plan) {
  static constexpr std::array<std::string_view, 12> kTests = {
      "aten::all", "aten::any", "aten::select", "aten::max", "aten::min", "aten::sum",
      "aten::ge",  "aten::gt",  "aten::le",     "aten::lt",  "aten::eq",  "aten::ne"};
  const HostTree& h = s.timeline().host;
  for (uint32_t inner = node; inner < h.last[node]; ++inner) {
    if (IsOp(s, inner, "aten::nonzero")) Remove(s, inner, plan);
    const uint32_t parent = h.parent[inner];
    if (inner == node || parent == kNone || !IsOp(s, inner, "aten::item")) continue;
    std::vector<uint32_t> before;
    for (uint32_t child = parent + 1; child < inner; child = h.last[child]) before.push_back(child);
    const auto is_test = [&](uint32_t child) {
      return std::any_of(kTests.begin(), kTests.end(),
                         [&](std::string_view name) { return IsOp(s, child, name); });
    };
    while (!before.empty() && is_test(before.back())) {
      Remove(s, before.back(), plan);
      before.pop_back();
    }
    Remove(s, inner, plan);
  }
}

std::string_view ApiName(const StepReplay& s, uint32_t node) {
  const HostTree& h = s.timeline().host;
  return h.kind[node] == HostKind::kApi && !IsNull(h.name[node]) ? s.data().Text(h.name[node]) : "";
}

// A wait for an event, closely between calls that record it and ask it for its time: all of that serves the
// wait.
void DropEventsAround(const StepReplay& s, uint32_t node, Plan& plan) {
  const HostTree& h = s.timeline().host;
  if (h.parent[node] != kNone && h.kind[h.parent[node]] == HostKind::kOp) return;
  const TimelineFacts::HostThread& t = s.timeline().threads[s.ThreadOf(node)];
  uint32_t first = node, last = node;
  const auto passes = [&](uint32_t other) {
    return !IsCallNode(h.kind[other]) || IsEventCall(ApiName(s, other));
  };
  while (first > t.first && passes(first - 1) && h.start_ns[first] - h.start_ns[first - 1] < kBetweenNs)
    --first;
  while (last + 1 < t.last && passes(last + 1) && h.start_ns[last + 1] - h.start_ns[last] < kBetweenNs)
    ++last;
  int64_t from_ns = h.start_ns[first] - kBetweenNs, to_ns = h.end_ns[last] + kBetweenNs;
  if (first > t.first) {
    uint32_t up = first - 1;
    while (h.parent[up] != kNone && h.end_ns[h.parent[up]] <= h.start_ns[first]) up = h.parent[up];
    from_ns = std::max(from_ns, std::min(h.start_ns[first], h.end_ns[up]));
  }
  if (last + 1 < t.last) to_ns = std::min(to_ns, h.start_ns[last + 1]);
  s.ScaleHost(plan, s.ThreadOf(node), from_ns, std::max(from_ns, to_ns), 0);
}

void Pinned(const StepReplay& s, const FixTargets& targets, Plan& plan) {
  const MemcpyView& m = s.data().memcpy;
  double copies_ns = 0;
  for (const uint32_t node : Claim(s, FixKind::kPinned, targets, plan)) {
    DropWaitsIn(s, node, plan);
    const HostTree& h = s.timeline().host;
    const auto host_ns = static_cast<double>(h.end_ns[node] - h.start_ns[node]);
    ScaleCall(s, plan, node, std::min(1.0, kEnqueueNs / std::max(1.0, host_ns)));
    s.ForEachWorkOf(node, [&](uint32_t w) {
      if (s.timeline().work.kind[w] != WorkKind::kMemcpy) return;
      const uint32_t row = s.timeline().work.row[w];
      const auto bytes = static_cast<double>(IsNull(m.bytes[row]) ? 0 : m.bytes[row]);
      const auto was_ns = static_cast<double>(s.timeline().work.end_ns[w] - s.timeline().work.start_ns[w]);
      copies_ns += std::min(was_ns, bytes / kPinnedBytesPerNs);
      s.DropWork(plan, w);
    });
  }
  // The copies still take the link's time, those of several fixes one after the other.
  plan.floor_ns += copies_ns;
}

// One call in place of many: from the first of those that follow each other to the last.
void Loop(const StepReplay& s, const FixTargets& targets, double left, Plan& plan) {
  const HostTree& h = s.timeline().host;
  const std::vector<uint32_t> nodes = Claim(s, FixKind::kLoop, targets, plan);
  for (size_t first = 0; first < nodes.size();) {
    size_t last = first;
    while (last + 1 < nodes.size() && h.thread[nodes[last + 1]] == h.thread[nodes[first]] &&
           h.start_ns[nodes[last + 1]] - h.end_ns[nodes[last]] < kBetweenNs)
      ++last;
    if (!plan.graphs)
      s.ScaleHost(plan, s.ThreadOf(nodes[first]), h.start_ns[nodes[first]], h.end_ns[nodes[last]], left);
    first = last + 1;
  }
  for (const uint32_t node : nodes) s.ForEachWorkOf(node, [&](uint32_t w) { s.ScaleWork(plan, w, left); });
}

void Streams(double fill, Plan& plan) {
  plan.streams_free = true;
  double kernels_ns = 0;
  for (const double ns : plan.work_ns) kernels_ns += ns;
  plan.floor_ns = std::max(plan.floor_ns, fill * kernels_ns);
}

}  // namespace

std::span<const std::string_view> FixNames() {
  static constexpr std::array<std::string_view, 10> kNames = {
      "graphs", "sync", "remove", "pinned", "host", "kernels", "fuse", "batch", "loop", "streams"};
  return kNames;
}

std::optional<FixKind> ParseFix(std::string_view name) {
  const auto names = FixNames();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<FixKind>(at - names.begin());
}

bool IsFixed(const StepReplay& s, const Plan& plan, uint32_t node) {
  if (IsGone(s, plan, node)) return true;
  for (const FixKind kind : {FixKind::kSync, FixKind::kPinned}) {
    if (plan.nodes_changed.count(ChangeKey(kind, node)) > 0) return true;
  }
  return false;
}

void ApplyFix(const StepReplay& s, FixKind kind, const FixTargets& targets, double left, Plan& plan) {
  left = std::clamp(left, 0.0, 1.0);
  switch (kind) {
    case FixKind::kGraphs: Graphs(s, plan); return;
    case FixKind::kPinned: Pinned(s, targets, plan); return;
    case FixKind::kBatch: plan.scale *= left; return;
    case FixKind::kStreams: Streams(left, plan); return;
    case FixKind::kLoop: Loop(s, targets, left, plan); return;
    case FixKind::kHost:
      for (const uint32_t g : targets.gaps) {
        if (!plan.gaps_gone.insert(g).second) continue;
        const HostGap& gap = s.gaps()[g];
        s.ScaleHost(plan, gap.thread, gap.start_ns, gap.end_ns, left);
      }
      for (const uint32_t node : Claim(s, kind, targets, plan)) Remove(s, node, plan);
      return;
    default: break;
  }
  const std::vector<uint32_t> nodes = Claim(s, kind, targets, plan);
  if (nodes.empty() && !targets.nodes.empty()) return;  // nor is the work inside them changed again
  for (const uint32_t node : nodes) {
    const bool gone = kind == FixKind::kRemove || (kind == FixKind::kSync && OnlyFetches(s, node));
    if (gone) Remove(s, node, plan);
    if (kind == FixKind::kSync) DropWaitsIn(s, node, plan);
    if (kind == FixKind::kSync && !gone) DropFetchesIn(s, node, plan);
    if (kind == FixKind::kSync) DropSizing(s, node, plan);
    if (kind == FixKind::kSync && WaitOf(ApiName(s, node)) == WaitKind::kEvent)
      DropEventsAround(s, node, plan);
    if (kind == FixKind::kFuse) ScaleCall(s, plan, node, left);
    if (kind != FixKind::kFuse && kind != FixKind::kKernels) continue;
    // Of an operator, what it launched itself: operators inside it have their own place.
    const bool own = s.timeline().host.kind[node] == HostKind::kOp;
    s.ForEachWorkOf(node, [&](uint32_t w) {
      if (!own || s.timeline().work.op[w] == node) s.ScaleWork(plan, w, left);
    });
  }
  for (const uint32_t work : targets.works) s.ScaleWork(plan, work, left);
}

}  // namespace nl::replay
