// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/attribute/replay.h"

#include <algorithm>
#include <cmath>

#include "analyze/compare/sequence/call_costs.h"
#include "analyze/waits/path_graph.h"

namespace nl::compare {

// Durations of edges that differ from the recorded ones.
struct Replay::Weights {
  double host_speed = 1;
  std::vector<int64_t> host_ns;   // by host point: of the edge from the previous point
  std::vector<int64_t> extra_ns;  // by extra edge
  std::vector<float> device;      // by work item: factor; below 0: removed
  std::vector<bool> gone;         // by host point: a removed wait
};

namespace {

int64_t Scaled(int64_t ns, double factor) {
  return factor == 1 ? ns : std::llround(static_cast<double>(ns) * std::max(factor, 0.0));
}

}  // namespace

std::shared_ptr<const PathGraph> GraphOf(const RunData& data, const TimelineFacts& timeline) {
  return std::make_shared<const PathGraph>(BuildGraph(timeline, data));
}

std::unique_ptr<Replay> Replay::Make(const CallSequence& sequence, std::shared_ptr<const PathGraph> graph) {
  if (sequence.on_host || sequence.call_of_work.empty() || sequence.call_of_work.size() != graph->works)
    return nullptr;
  const auto* timeline = sequence.run->facts().Find<TimelineFacts>();
  return std::unique_ptr<Replay>(new Replay(sequence, *timeline, std::move(graph)));
}

Replay::Replay(const CallSequence& sequence, const TimelineFacts& timeline,
               std::shared_ptr<const PathGraph> graph)
    : sequence_(sequence), t_(timeline), graph_(std::move(graph)), device_ns_(sequence.calls.size(), 0) {
  for (size_t i = 0; i < t_.work.size(); ++i)
    device_ns_[sequence_.call_of_work[i]] += t_.work.end_ns[i] - t_.work.start_ns[i];
  for (uint32_t point = 0; point < graph_->points(); ++point)
    end_ns_ = std::max(end_ns_, graph_->TimeOf(t_.work, point));
  first_point_.assign(t_.threads.size() + 1, 0);
  for (const uint32_t thread : graph_->host_thread) ++first_point_[thread + 1];
  for (size_t i = 0; i + 1 < first_point_.size(); ++i) first_point_[i + 1] += first_point_[i];
}

size_t Replay::points() const { return graph_->points(); }

Replay::Weights Replay::Plain(double host_speed) const {
  Weights out;
  out.host_speed = host_speed;
  out.host_ns = graph_->host_weight_ns;
  for (int64_t& ns : out.host_ns) ns = Scaled(ns, host_speed);
  out.extra_ns.reserve(graph_->extras.size());
  for (const PathGraph::Extra& e : graph_->extras)
    out.extra_ns.push_back(e.kind == EdgeKind::kReturn ? Scaled(e.weight_ns, host_speed) : e.weight_ns);
  return out;
}

void Replay::Apply(const std::vector<CallEdit>& edits, Weights& to) const {
  // The host time of a call starts where the previous call ended.
  struct HostInterval {
    int64_t from_ns, to_ns;
    double factor;
  };
  std::vector<std::vector<HostInterval>> intervals(t_.threads.size());
  std::vector<float> device_of_call;
  ThreadFinder threads(t_.threads);
  for (const CallEdit& edit : edits) {
    if (edit.device != 1) {
      if (device_of_call.empty()) device_of_call.assign(sequence_.calls.size(), 1);
      device_of_call[edit.call] = static_cast<float>(edit.device);
    }
    const uint32_t node = sequence_.calls[edit.call].node;
    if (edit.host == 1 || node == kNone || sequence_.elapsed_ns[edit.call] <= 0) continue;
    const int64_t end_ns = t_.host.end_ns[node];
    // An API call has only its own duration: the time before it belongs to the program around it.
    const CallKind kind = sequence_.Type(edit.call).kind;
    const bool own = kind == CallKind::kSync || kind == CallKind::kAlloc;
    const int64_t from_ns = end_ns - sequence_.elapsed_ns[edit.call];
    intervals[threads.Of(node)].push_back(
        {own ? std::max(from_ns, t_.host.start_ns[node]) : from_ns, end_ns, edit.host});
  }
  if (!device_of_call.empty()) {
    to.device.resize(t_.work.size());
    for (size_t i = 0; i < to.device.size(); ++i) to.device[i] = device_of_call[sequence_.call_of_work[i]];
  }
  to.gone.assign(graph_->host_time_ns.size(), false);
  for (size_t thread = 0; thread < intervals.size(); ++thread) {
    std::vector<HostInterval>& mine = intervals[thread];
    if (mine.empty()) continue;
    std::sort(mine.begin(), mine.end(),
              [](const HostInterval& x, const HostInterval& y) { return x.from_ns < y.from_ns; });
    size_t at = 0;
    // Scale the part of the last `weight_ns` before `end_ns` that lies in the intervals.
    const auto edited = [&](int64_t end_ns, int64_t weight_ns, int64_t now_ns) {
      if (weight_ns <= 0) return now_ns;
      double less = 0;
      for (size_t k = at; k < mine.size() && mine[k].from_ns < end_ns; ++k) {
        const int64_t inside =
            std::min(mine[k].to_ns, end_ns) - std::max(mine[k].from_ns, end_ns - weight_ns);
        if (inside > 0) less += (1 - std::max(mine[k].factor, 0.0)) * static_cast<double>(inside);
      }
      return std::max<int64_t>(0, now_ns - std::llround(less * to.host_speed));
    };
    for (uint32_t h = first_point_[thread]; h < first_point_[thread + 1]; ++h) {
      const int64_t time_ns = graph_->host_time_ns[h];
      // At most one point lies after its call; the return of a call may reach back over the previous one.
      const int64_t back_ns = h < first_point_[thread] + 2 ? INT64_MIN : graph_->host_time_ns[h - 2];
      while (at < mine.size() && mine[at].to_ns <= back_ns) ++at;
      to.host_ns[h] = edited(time_ns, graph_->host_weight_ns[h], to.host_ns[h]);
      const uint32_t point = graph_->HostPoint(h);
      if (graph_->host_kind[h] == PointKind::kReturn) {
        for (size_t k = at; k < mine.size() && mine[k].from_ns < time_ns; ++k)
          to.gone[h] = to.gone[h] || (mine[k].factor < 0 && time_ns <= mine[k].to_ns);
      }
      for (uint32_t e = graph_->first_extra[point];
           e < graph_->extras.size() && graph_->extras[e].to == point; ++e) {
        if (graph_->extras[e].kind == EdgeKind::kReturn)
          to.extra_ns[e] = edited(time_ns, graph_->extras[e].weight_ns, to.extra_ns[e]);
      }
    }
  }
}

// Each point is as early as its dependencies allow, plus the slack it had in the recording.
int64_t Replay::EndNs(const Weights& w) const {
  const PathGraph& g = *graph_;
  std::vector<int64_t> when_ns(g.points());
  int64_t end_ns = INT64_MIN;
  const auto factor = [&](uint32_t work) { return w.device.empty() ? 1.0f : w.device[work]; };
  for (const uint32_t point : g.order) {
    const int64_t time_ns = g.TimeOf(t_.work, point);
    const bool work = g.IsWork(point);
    const bool gone = work ? factor(point / 2) < 0 : !w.gone.empty() && w.gone[point - 2 * g.works];
    const bool first = work && (point & 1) == 0 && g.before[point / 2] == kNone;
    int64_t bound_ns = INT64_MIN, new_ns = INT64_MIN;
    g.ForEachCause(t_.work, point, [&](uint32_t from, int64_t weight_ns, EdgeKind kind, uint32_t extra) {
      bound_ns = std::max(bound_ns, g.TimeOf(t_.work, from) + weight_ns);
      int64_t weight = extra == kNone ? weight_ns : w.extra_ns[extra];
      switch (kind) {
        case EdgeKind::kThread: weight = w.host_ns[point - 2 * g.works]; break;
        case EdgeKind::kExecution:
        case EdgeKind::kCollective: weight = Scaled(weight, factor(point / 2)); break;
        case EdgeKind::kOverlap: weight = Scaled(weight, factor(from / 2)); break;
        default: break;
      }
      if (gone) {
        // A removed point keeps its position in its thread or stream, and has no other dependencies.
        const bool order = kind == EdgeKind::kThread || kind == EdgeKind::kExecution ||
                           kind == EdgeKind::kStream || kind == EdgeKind::kOverlap ||
                           (first && kind == EdgeKind::kLaunch);
        if (!order) return;
        if (kind != EdgeKind::kThread) weight = 0;
      }
      new_ns = std::max(new_ns, when_ns[from] + weight);
    });
    if (bound_ns == INT64_MIN) {
      when_ns[point] = time_ns;
    } else if (gone && new_ns != INT64_MIN) {
      when_ns[point] = new_ns;
    } else {
      when_ns[point] = (new_ns == INT64_MIN ? bound_ns : new_ns) + time_ns - bound_ns;
    }
    end_ns = std::max(end_ns, when_ns[point]);
  }
  return end_ns;
}

int64_t Replay::CostNs(const std::vector<CallEdit>& edits, double host_speed) const {
  if (edits.empty()) return 0;
  Weights weights = Plain(host_speed);
  const int64_t before_ns = host_speed == 1 ? end_ns_ : EndNs(weights);
  Apply(edits, weights);
  return before_ns - EndNs(weights);
}

}  // namespace nl::compare
