// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/step_replay.h"

#include <algorithm>

#include "analyze/program/observed.h"
#include "base/median.h"

namespace nl::replay {

namespace {

constexpr size_t kMostPoints = 60'000;       // of the window: replays are repeated for every fix
constexpr int64_t kShortestGapNs = 150'000;  // Python needs less to get to the next operator
constexpr int64_t kHeavyOpNs = 100'000;      // an operator without device work computes on the host
constexpr int64_t kBridgeNs = 30'000;
constexpr double kLaunchDelayNs = 10'000;
// Of a stretch, whatever the price of its events. Calls of Python are many and alike, and their price is
// better known.
constexpr double kLeastLeft = 0.2, kLeastLeftOfPython = 0.1;

}  // namespace

StepReplay::StepReplay(const PathGraph& graph, const TimelineFacts& timeline, const RunData& data,
                       const PhasesFacts& phases)
    : graph_(graph), timeline_(timeline), data_(data), price_(PriceOf(data, timeline)) {
  if (graph.points() == 0 || timeline.work.size() == 0) return;
  ChooseWindow(phases);
  if (steps_ == 0) return;
  CollectPoints();
  if (works_.empty() || hosts_.empty()) {
    steps_ = 0;
    return;
  }
  FindGaps();
  RemovePrice();
  recorded_step_ns_ = StepNs(recorded_);
  step_ns_ = StepNs(unchanged_);
}

// Whole steady steps, as many as the limit on points allows. Without any, the run.
void StepReplay::ChooseWindow(const PhasesFacts& phases) {
  std::vector<const PhasesFacts::Step*> steady;
  for (const PhasesFacts::Step& step : phases.steps) {
    if (step.steady) steady.push_back(&step);
  }
  steady_ = static_cast<int64_t>(steady.size());
  if (steady.empty()) {
    whole_ = graph_.points() <= kMostPoints && timeline_.wall_ns() > 0;
    if (!whole_) return;
    start_ns_ = timeline_.first_start_ns;
    host_end_ns_ = timeline_.last_end_ns + 1;
    steps_ = 1;
    return;
  }
  const double points_per_ns =
      static_cast<double>(graph_.points()) / static_cast<double>(std::max<int64_t>(1, timeline_.wall_ns()));
  const auto [first, many] = ObservedSteady(steady);
  size_t count = 0;
  for (; count < many; ++count) {
    const auto length_ns = static_cast<double>(steady[first + count]->end_ns - steady[first]->start_ns);
    if (count >= 2 && length_ns * points_per_ns > static_cast<double>(kMostPoints)) break;
  }
  start_ns_ = steady[first]->start_ns;
  host_end_ns_ = steady[first + count - 1]->end_ns;
  // Steps of other kinds in between are part of the time and count as steps do.
  steps_ = 0;
  for (const PhasesFacts::Step& step : phases.steps)
    steps_ += step.group == 0 && step.start_ns >= start_ns_ && step.end_ns <= host_end_ns_;
}

// The steady steps to choose from: of runs in which operators were observed in some steps only, the longest
// row of those, since what lies between two operators is known there. Fewer than two in a row: any step.
std::pair<size_t, size_t> StepReplay::ObservedSteady(
    const std::vector<const PhasesFacts::Step*>& steady) const {
  const program::ObservedSteps observed(data_);
  std::pair<size_t, size_t> best{0, 0};
  if (observed.all()) return {0, steady.size()};
  for (size_t first = 0; first < steady.size();) {
    size_t last = first;
    while (last < steady.size() && observed.Observed(steady[first]->start_ns, steady[last]->end_ns)) ++last;
    if (last - first > best.second) best = {first, last - first};
    first = std::max(last, first + 1);
  }
  return best.second >= 2 ? best : std::pair<size_t, size_t>(0, steady.size());
}

void StepReplay::CollectPoints() {
  const DeviceWork& w = timeline_.work;
  local_work_.assign(w.size(), kNone);
  local_host_.assign(graph_.host_time_ns.size(), kNone);
  launches_.assign(timeline_.threads.size(), 0);
  device_start_ns_ = start_ns_;
  for (uint32_t h = 0; h < local_host_.size(); ++h) {
    if (graph_.host_time_ns[h] <= start_ns_ || graph_.host_time_ns[h] > host_end_ns_) continue;
    local_host_[h] = static_cast<uint32_t>(hosts_.size());
    hosts_.push_back(h);
  }
  // Work without a recorded launch was launched before the recording began, unless no launches were recorded.
  const auto linked = std::count_if(w.launch.begin(), w.launch.end(), [](uint32_t l) { return l != kNone; });
  const bool by_launch = 2 * static_cast<size_t>(linked) > w.size();
  int64_t first_ns = INT64_MAX;
  for (uint32_t i = 0; i < w.size(); ++i) {
    const uint32_t launch = w.launch[i];
    if (launch == kNone && by_launch) continue;
    const int64_t at_ns = launch != kNone ? timeline_.host.start_ns[launch] : w.start_ns[i];
    if (at_ns < start_ns_ || at_ns >= host_end_ns_) continue;
    local_work_[i] = static_cast<uint32_t>(works_.size());
    works_.push_back(i);
    first_ns = std::min(first_ns, w.start_ns[i]);
    if (graph_.launch[i] != kNone) launches_[graph_.host_thread[graph_.launch[i]]] = 1;
  }
  for (uint32_t i = 0; i < w.size() && w.start_ns[i] < first_ns; ++i) {  // what was queued before
    if (local_work_[i] == kNone)
      device_start_ns_ = std::max(device_start_ns_, std::min(w.end_ns[i], first_ns));
  }
  thread_first_.assign(timeline_.threads.size() + 1, 0);
  for (const uint32_t h : hosts_) ++thread_first_[graph_.host_thread[h] + 1];
  for (size_t t = 0; t + 1 < thread_first_.size(); ++t) thread_first_[t + 1] += thread_first_[t];
  for (const uint32_t point : graph_.order) {
    const bool in = graph_.IsWork(point) ? local_work_[point / 2] != kNone
                                         : local_host_[point - 2 * graph_.works] != kNone;
    if (in) order_.push_back(point);
  }
  for (const uint32_t h : hosts_) recorded_.host_ns.push_back(static_cast<double>(graph_.host_weight_ns[h]));
  for (const uint32_t i : works_)
    recorded_.work_ns.push_back(static_cast<double>(w.end_ns[i] - w.start_ns[i]));
  for (uint32_t t = 0; t < timeline_.threads.size(); ++t)
    recorded_.tail_ns.push_back(
        launches_[t] != 0 && !whole_ ? static_cast<double>(host_end_ns_ - LastPointNs(t)) : 0);
  for (const uint32_t i : works_) {
    const uint32_t from = w.launch[i] != kNone ? w.launch[i] : w.op[i];
    if (from != kNone) by_node_.emplace_back(from, i);
  }
  std::sort(by_node_.begin(), by_node_.end());
  recorded_.no_wait.assign(hosts_.size(), 0);
  recorded_.no_gap.assign(works_.size(), 0);
}

// hosts_ is by thread and time, as the graph's points are.
size_t StepReplay::PointAfter(uint32_t thread, int64_t time_ns) const {
  const auto first = hosts_.begin() + thread_first_[thread],
             last = hosts_.begin() + thread_first_[thread + 1];
  const auto at =
      std::partition_point(first, last, [&](uint32_t h) { return graph_.host_time_ns[h] <= time_ns; });
  return static_cast<size_t>(at - hosts_.begin());
}

int64_t StepReplay::LastPointNs(uint32_t thread) const {
  if (thread_first_[thread] == thread_first_[thread + 1]) return start_ns_;
  return graph_.host_time_ns[hosts_[thread_first_[thread + 1] - 1]];
}

uint32_t StepReplay::ThreadOf(uint32_t node) const {
  const auto at = std::partition_point(timeline_.threads.begin(), timeline_.threads.end(),
                                       [node](const TimelineFacts::HostThread& t) { return t.last <= node; });
  return static_cast<uint32_t>(at - timeline_.threads.begin());
}

void StepReplay::FindGaps() {
  least_gap_ns_ = kShortestGapNs;
  for (uint32_t t = 0; t < timeline_.threads.size(); ++t) {
    if (launches_[t] != 0) FindGapsOf(t);
  }
}

// The outermost range around a call in which nothing was launched: what the program calls this host code.
uint32_t StepReplay::RangeAround(uint32_t node) const {
  const HostTree& h = timeline_.host;
  uint32_t found = kNone;
  for (uint32_t at = node; at != kNone; at = h.parent[at]) {
    if (h.kind[at] != HostKind::kRange) continue;
    const auto first = std::lower_bound(by_node_.begin(), by_node_.end(), std::pair(at, 0u));
    if (first != by_node_.end() && first->first < h.last[at]) break;
    found = at;
  }
  return found;
}

// Walks the outermost operators and calls of the thread. What lies between them is a gap; an operator on the
// way that is short and starts nothing on the device does not end it. A range around most of a gap names it.
void StepReplay::FindGapsOf(uint32_t thread) {
  const HostTree& h = timeline_.host;
  const auto& t = timeline_.threads[thread];
  int64_t since_ns = start_ns_, bridged_ns = 0;
  uint32_t before = kNone, range = kNone;
  const auto close = [&](int64_t until_ns, uint32_t after) {
    until_ns = std::min(until_ns, host_end_ns_);
    if (until_ns - since_ns - bridged_ns < least_gap_ns_) return;
    const int64_t middle_ns = since_ns + (until_ns - since_ns) / 2;
    uint32_t inside = kNone;
    for (const uint32_t around : {range, after == kNone ? kNone : RangeAround(after)}) {
      if (around != kNone && h.start_ns[around] <= middle_ns && h.end_ns[around] >= middle_ns)
        inside = around;
    }
    gaps_.push_back({thread, since_ns, until_ns, before, after, inside, kNone});
  };
  for (uint32_t node = t.first; node < t.last && h.start_ns[node] < host_end_ns_;) {
    if (h.end_ns[node] <= start_ns_ || !IsCallNode(h.kind[node])) {
      const bool longer =
          range == kNone || h.end_ns[node] - h.start_ns[node] > h.end_ns[range] - h.start_ns[range];
      if (h.start_ns[node] >= since_ns && longer && RangeAround(node) == node) range = node;
      node = h.end_ns[node] <= start_ns_ ? h.last[node] : node + 1;
      continue;
    }
    bool calls = h.kind[node] == HostKind::kApi;
    for (uint32_t inner = node + 1; inner < h.last[node] && !calls; ++inner)
      calls = h.kind[inner] == HostKind::kApi;
    const int64_t ns = h.end_ns[node] - h.start_ns[node];
    const bool bridge = !calls && ns < kBridgeNs && h.start_ns[node] - since_ns >= least_gap_ns_ / 2;
    if (bridge) {
      bridged_ns += ns;
    } else {
      close(h.start_ns[node], node);
      since_ns = std::max(since_ns, h.end_ns[node]);
      bridged_ns = 0;
      before = node;
      range = kNone;
    }
    if (!calls && ns >= kHeavyOpNs) {
      gaps_.push_back({thread, h.start_ns[node], h.end_ns[node], kNone, kNone, RangeAround(node), node});
    }
    node = h.last[node];
  }
  close(host_end_ns_, kNone);
}

double StepReplay::PriceOfNode(uint32_t node) const {
  if (timeline_.host.kind[node] == HostKind::kOp)
    return program::IsInferred(timeline_, node) ? 0 : price_.op_ns;
  if (timeline_.host.kind[node] == HostKind::kPython) return price_.python_ns;
  const auto at = std::lower_bound(by_node_.begin(), by_node_.end(), std::pair(node, 0u));
  if (at == by_node_.end() || at->first != node) return price_.api_ns;
  return timeline_.work.kind[at->second] == WorkKind::kKernel ? price_.launch_ns : price_.copy_ns;
}

void StepReplay::RemovePrice() {
  unchanged_ = recorded_;
  if (price_.recorder.empty()) return;
  const HostTree& h = timeline_.host;
  std::vector<double> price(hosts_.size(), 0), python(hosts_.size(), 0);
  for (uint32_t t = 0; t < timeline_.threads.size(); ++t) {
    size_t at = thread_first_[t];
    const size_t last = thread_first_[t + 1];
    for (uint32_t node = timeline_.threads[t].first; node < timeline_.threads[t].last && at < last; ++node) {
      const bool is_python = h.kind[node] == HostKind::kPython;
      if ((!is_python && !IsCallNode(h.kind[node])) || h.start_ns[node] < start_ns_) continue;
      while (at < last && graph_.host_time_ns[hosts_[at]] <= h.start_ns[node]) ++at;
      if (at < last) (is_python ? python : price)[at] += PriceOfNode(node);
    }
  }
  for (size_t i = 0; i < hosts_.size(); ++i) {
    const double called_ns = recorded_.host_ns[i];
    const double ns = std::max(kLeastLeftOfPython * called_ns, called_ns - python[i]);
    unchanged_.host_ns[i] = std::max(kLeastLeft * ns, ns - price[i]);
  }
}

double StepReplay::StepNs(const Plan& plan) const {
  const DeviceWork& w = timeline_.work;
  std::vector<double> host_when(hosts_.size()), start_when(works_.size()), end_when(works_.size());
  const auto when = [&](uint32_t point) -> double {
    if (graph_.IsWork(point)) {
      const uint32_t i = local_work_[point / 2];
      if (i != kNone) return (point & 1) != 0 ? end_when[i] : start_when[i];
    } else if (const uint32_t i = local_host_[point - 2 * graph_.works]; i != kNone) {
      return host_when[i];
    }
    return static_cast<double>(graph_.TimeOf(w, point) - start_ns_);
  };
  // Work that was queued before the window delays the device; where the fixes let the work of the window
  // start before that has ended, it does not.
  auto lead = static_cast<double>(device_start_ns_ - start_ns_);
  double host_end = 0, device_end = 0;
  for (const uint32_t point : order_) {
    const bool work = graph_.IsWork(point);
    const uint32_t i = work ? local_work_[point / 2] : local_host_[point - 2 * graph_.works];
    const int64_t time_ns = graph_.TimeOf(w, point);
    int64_t bound_ns = INT64_MIN;
    bool by_launch = false;
    double new_bound = -1e300;
    graph_.ForEachCause(w, point, [&](uint32_t from, int64_t weight_ns, EdgeKind kind, uint32_t) {
      const int64_t t = graph_.TimeOf(w, from) + weight_ns;
      if (t > bound_ns) {
        bound_ns = t;
        by_launch = kind == EdgeKind::kLaunch;
      }
      if (kind == EdgeKind::kReturn && plan.no_wait[i] != 0) return;
      if (kind == EdgeKind::kEventWait && plan.streams_free) return;
      double weight = static_cast<double>(weight_ns);
      if (kind == EdgeKind::kThread) weight = plan.host_ns[i];
      if (kind == EdgeKind::kReturn) weight = std::min(weight, plan.host_ns[i]);
      if (kind == EdgeKind::kExecution) weight = plan.work_ns[i];
      // What lies between two works of a stream is a launch on its way where none was ever queued; a graph
      // has its own distance.
      if (kind == EdgeKind::kStream && plan.no_gap[i] != 0) weight = 0;
      new_bound = std::max(new_bound, when(from) + weight);
    });
    double at = static_cast<double>(time_ns - start_ns_);
    if (bound_ns != INT64_MIN) {
      auto gap = static_cast<double>(time_ns - bound_ns);
      // A launch that came while the work before it ran shows as a short gap after that.
      if (work && plan.no_gap[i] != 0 && (by_launch || gap < kLaunchDelayNs)) gap = 0;
      if (!work && plan.no_wait[i] != 0) gap = 0;
      // A thread's first stretch may begin before the window: what a fix takes of that is not gained in it.
      at = std::max(new_bound + gap, std::min(at, 0.0));
    }
    if (!work) {
      host_when[i] = at;
      host_end = std::max(host_end, at);
    } else if ((point & 1) != 0) {
      end_when[i] = at;
      device_end = std::max(device_end, at);
    } else {
      start_when[i] = at;
      lead = std::min(lead, at);
    }
  }
  for (uint32_t t = 0; t < plan.tail_ns.size(); ++t) {
    if (launches_[t] == 0 || thread_first_[t] == thread_first_[t + 1]) continue;
    host_end = std::max(host_end, host_when[thread_first_[t + 1] - 1] + plan.tail_ns[t]);
  }
  const double time_ns = std::max({host_end, device_end - lead, plan.floor_ns});
  return plan.scale * time_ns / static_cast<double>(steps_);
}

double StepReplay::ScaleHost(Plan& plan, uint32_t thread, int64_t from_ns, int64_t to_ns,
                             double factor) const {
  double taken_ns = 0;
  const auto take = [&taken_ns](double& of_ns, double ns) {
    const double left_ns = std::max(0.0, of_ns - ns);
    taken_ns += of_ns - left_ns;
    of_ns = left_ns;
  };
  for (size_t i = PointAfter(thread, from_ns); i < thread_first_[thread + 1]; ++i) {
    const int64_t end_ns = graph_.host_time_ns[hosts_[i]];
    const int64_t begin_ns = hosts_[i] == 0 || graph_.host_kind[hosts_[i]] == PointKind::kThreadStart
                                 ? end_ns
                                 : graph_.host_time_ns[hosts_[i] - 1];
    if (begin_ns >= to_ns) break;
    const int64_t inside_ns = std::min(end_ns, to_ns) - std::max(begin_ns, from_ns);
    if (inside_ns <= 0 || end_ns <= begin_ns) continue;
    const double share = static_cast<double>(inside_ns) / static_cast<double>(end_ns - begin_ns);
    take(plan.host_ns[i], unchanged_.host_ns[i] * share * (1 - factor));
  }
  if (launches_[thread] == 0) return taken_ns;
  const int64_t tail_from_ns = LastPointNs(thread);
  const int64_t inside_ns = std::min(host_end_ns_, to_ns) - std::max(tail_from_ns, from_ns);
  if (inside_ns > 0) take(plan.tail_ns[thread], static_cast<double>(inside_ns) * (1 - factor));
  return taken_ns;
}

void StepReplay::ScaleNode(Plan& plan, uint32_t node, double factor) const {
  ScaleHost(plan, ThreadOf(node), timeline_.host.start_ns[node], timeline_.host.end_ns[node], factor);
}

void StepReplay::DropWait(Plan& plan, uint32_t node) const {
  const uint32_t thread = ThreadOf(node);
  const int64_t end_ns = timeline_.host.end_ns[node];
  for (size_t i = PointAfter(thread, timeline_.host.start_ns[node]);
       i < thread_first_[thread + 1] && graph_.host_time_ns[hosts_[i]] <= end_ns; ++i) {
    if (graph_.host_kind[hosts_[i]] != PointKind::kReturn) continue;
    plan.no_wait[i] = 1;
    plan.host_ns[i] = 0;
  }
}

void StepReplay::ScaleWork(Plan& plan, uint32_t work, double factor) const {
  if (const uint32_t i = local_work_[work]; i != kNone) plan.work_ns[i] *= factor;
}

void StepReplay::DropWork(Plan& plan, uint32_t work) const {
  const uint32_t i = local_work_[work];
  if (i == kNone) return;
  plan.work_ns[i] = 0;
  plan.no_gap[i] = 1;
}

void StepReplay::LimitWork(Plan& plan, uint32_t work, double most_ns) const {
  if (const uint32_t i = local_work_[work]; i != kNone) plan.work_ns[i] = std::min(plan.work_ns[i], most_ns);
}

}  // namespace nl::replay
