// SPDX-License-Identifier: Apache-2.0
// What if something had a different duration: the same graph, scheduled again with scaled weights.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyze/facts/critical_path.h"
#include "analyze/waits/path_graph.h"

namespace nl {

namespace {

// `*` stands for any run of characters.
bool Matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

class Scheduler {
 public:
  Scheduler(const TimelineFacts& timeline, const RunData& data, const PathGraph& graph, WhatIfResult& out)
      : timeline_(timeline),
        data_(data),
        host_(timeline.host),
        work_(timeline.work),
        graph_(graph),
        out_(out) {}

  Status Select() {
    const std::string_view selector = out_.selector;
    const size_t colon = selector.find(':');
    const std::string_view what = selector.substr(0, colon);
    const std::string_view name =
        colon == std::string_view::npos ? std::string_view() : selector.substr(colon + 1);
    const bool named = what == "kernel" || what == "op" || what == "copy" || what == "api";
    if ((!named && what != "host" && what != "launch") || named != !name.empty()) {
      return InvalidInput(fmt::format("what-if: unknown selector '{}'", selector))
          .Hint("use kernel:NAME, op:NAME, copy:KIND, api:NAME, host or launch");
    }
    host_ns_ = graph_.host_weight_ns;
    extra_ns_.resize(graph_.extras.size());
    for (size_t e = 0; e < extra_ns_.size(); ++e) extra_ns_[e] = graph_.extras[e].weight_ns;
    scaled_.assign(work_.size(), 0);
    if (what == "kernel" || what == "copy") {
      SelectWork(what == "kernel", name);
    } else if (what == "host") {
      SelectAllHost();
    } else {
      scale_launch_ = what == "launch";
      SelectHost(what == "op" ? HostKind::kOp : HostKind::kApi, what == "launch" ? "" : name);
    }
    return {};
  }

  // End of the last point, each as early as what it waits for allows.
  int64_t Schedule() {
    std::vector<int64_t> when_ns(graph_.points());
    int64_t old_end_ns = INT64_MIN, new_end_ns = INT64_MIN;
    for (const uint32_t point : graph_.order) {
      const int64_t time_ns = graph_.TimeOf(work_, point);
      int64_t bound_ns = INT64_MIN, new_bound_ns = INT64_MIN;
      int64_t latency_ns = INT64_MAX;  // of a launch that nothing else delayed
      graph_.ForEachCause(work_, point, [&](uint32_t from, int64_t weight_ns, EdgeKind kind, uint32_t extra) {
        const int64_t t = graph_.TimeOf(work_, from) + weight_ns;
        if (t > bound_ns) {
          bound_ns = t;
          latency_ns = kind == EdgeKind::kLaunch ? time_ns - t + weight_ns : INT64_MAX;
        }
        new_bound_ns = std::max(new_bound_ns, when_ns[from] + NewWeight(from, point, weight_ns, kind, extra));
      });
      if (bound_ns == INT64_MIN) {
        when_ns[point] = time_ns;
      } else {
        const int64_t gap_ns = time_ns - bound_ns;
        const bool shrinks = scale_launch_ && graph_.IsPlainLatency(latency_ns);
        when_ns[point] = new_bound_ns + (shrinks ? Scale(gap_ns) : gap_ns);
      }
      old_end_ns = std::max(old_end_ns, time_ns);
      new_end_ns = std::max(new_end_ns, when_ns[point]);
    }
    return new_end_ns - old_end_ns;
  }

 private:
  int64_t Scale(int64_t ns) const { return std::llround(static_cast<double>(ns) * out_.factor); }

  int64_t NewWeight(uint32_t from, uint32_t to, int64_t weight_ns, EdgeKind kind, uint32_t extra) const {
    switch (kind) {
      case EdgeKind::kThread: return host_ns_[to - 2 * graph_.works];
      case EdgeKind::kLaunch: return scale_launch_ ? Scale(weight_ns) : weight_ns;
      case EdgeKind::kExecution:
      case EdgeKind::kCollective: return scaled_[to / 2] != 0 ? Scale(weight_ns) : weight_ns;
      case EdgeKind::kOverlap: return scaled_[from / 2] != 0 ? Scale(weight_ns) : weight_ns;
      default: return extra == kNone ? weight_ns : extra_ns_[extra];
    }
  }

  void SelectWork(bool kernels, std::string_view pattern) {
    std::vector<int8_t> matches;  // by string; -1: not asked yet
    for (size_t i = 0; i < work_.size(); ++i) {
      if ((work_.kind[i] == WorkKind::kKernel) != kernels) continue;
      const StringId name = kernels ? work_.name[i] : KindOf(i);
      const size_t id = IsNull(name) ? 0 : static_cast<size_t>(name) + 1;
      if (id >= matches.size()) matches.resize(id + 1, -1);
      if (matches[id] < 0) matches[id] = NameMatches(kernels, pattern, name, i) ? 1 : 0;
      if (matches[id] == 0) continue;
      scaled_[i] = 1;
      ++out_.matched;
      out_.matched_ns += work_.end_ns[i] - work_.start_ns[i];
    }
  }
  StringId KindOf(size_t i) const {
    return work_.kind[i] == WorkKind::kMemcpy ? data_.memcpy.kind[work_.row[i]] : StringId::kNull;
  }
  bool NameMatches(bool kernel, std::string_view pattern, StringId name, size_t i) const {
    if (!kernel) return Matches(pattern, work_.kind[i] == WorkKind::kMemset ? "memset" : data_.Text(name));
    return Matches(pattern, data_.Text(name)) || Matches(pattern, timeline_.KernelNameOf(name).short_name);
  }

  void SelectAllHost() {
    for (size_t h = 0; h < host_ns_.size(); ++h) {
      out_.matched_ns += host_ns_[h];
      host_ns_[h] = Scale(host_ns_[h]);
    }
    out_.matched = static_cast<int64_t>(host_.size());
    for (size_t e = 0; e < extra_ns_.size(); ++e) {
      if (graph_.extras[e].kind == EdgeKind::kReturn) extra_ns_[e] = Scale(extra_ns_[e]);
    }
  }

  // Scales the outermost matching spans of each thread within the host's edges. An empty pattern matches
  // calls that launch.
  void SelectHost(HostKind kind, std::string_view pattern) {
    std::vector<int8_t> matches;
    std::vector<uint32_t> first_point(timeline_.threads.size() + 1, 0);
    for (const uint32_t t : graph_.host_thread) ++first_point[t + 1];
    for (size_t t = 0; t + 1 < first_point.size(); ++t) first_point[t + 1] += first_point[t];
    for (size_t t = 0; t < timeline_.threads.size(); ++t) {
      if (first_point[t] == first_point[t + 1]) continue;
      std::vector<uint32_t> nodes;
      for (uint32_t node = timeline_.threads[t].first; node < timeline_.threads[t].last;) {
        const auto id = static_cast<size_t>(host_.name[node]);
        bool hit = false;
        if (host_.kind[node] == kind && !IsNull(host_.name[node])) {
          if (id >= matches.size()) matches.resize(id + 1, -1);
          if (matches[id] < 0) matches[id] = HostMatches(pattern, data_.Text(host_.name[node])) ? 1 : 0;
          hit = matches[id] == 1;
        }
        if (hit) {
          nodes.push_back(node);
          ++out_.matched;
          out_.matched_ns += host_.end_ns[node] - host_.start_ns[node];
        }
        node = hit ? host_.last[node] : node + 1;
      }
      Cut(nodes, first_point[t], first_point[t + 1]);
    }
  }
  static bool HostMatches(std::string_view pattern, std::string_view name) {
    if (!pattern.empty()) return Matches(pattern, name);
    const ApiKind kind = ClassifyApi(name);
    return IsLaunch(kind) || kind == ApiKind::kCopy;
  }

  // Time inside the spans is scaled; time that an edge does not count (a wait) stays as recorded.
  void Cut(const std::vector<uint32_t>& nodes, uint32_t first, uint32_t last) {
    size_t from = 0;
    for (uint32_t h = first; h < last; ++h) {
      const int64_t end_ns = graph_.host_time_ns[h];
      const int64_t before_ns = h == first ? INT64_MIN : graph_.host_time_ns[h - 1];
      host_ns_[h] = Shrunk(nodes, from, end_ns, graph_.host_weight_ns[h]);
      for (uint32_t e = graph_.first_extra[graph_.HostPoint(h)];
           e < graph_.extras.size() && graph_.extras[e].to == graph_.HostPoint(h); ++e) {
        if (graph_.extras[e].kind == EdgeKind::kReturn)
          extra_ns_[e] = Shrunk(nodes, from, end_ns, graph_.extras[e].weight_ns);
      }
      // The return of a call may reach back past the previous point, so spans are dropped one point late.
      while (from < nodes.size() && host_.end_ns[nodes[from]] <= before_ns) ++from;
    }
  }
  int64_t Shrunk(const std::vector<uint32_t>& nodes, size_t from, int64_t end_ns, int64_t weight_ns) const {
    int64_t inside_ns = 0;
    for (size_t k = from; k < nodes.size() && host_.start_ns[nodes[k]] < end_ns; ++k) {
      inside_ns += std::max<int64_t>(0, std::min(end_ns, host_.end_ns[nodes[k]]) -
                                            std::max(end_ns - weight_ns, host_.start_ns[nodes[k]]));
    }
    inside_ns = std::min(inside_ns, weight_ns);
    return weight_ns - inside_ns + Scale(inside_ns);
  }

  const TimelineFacts& timeline_;
  const RunData& data_;
  const HostTree& host_;
  const DeviceWork& work_;
  const PathGraph& graph_;
  WhatIfResult& out_;
  std::vector<int64_t> host_ns_, extra_ns_;
  std::vector<uint8_t> scaled_;  // by work
  bool scale_launch_ = false;
};

}  // namespace

Result<WhatIfResult> WhatIf(const CriticalPathFacts& facts, const TimelineFacts& timeline,
                            const RunData& data, std::string_view selector, double factor) {
  if (!std::isfinite(factor) || factor < 0 || factor > 1e6)
    return InvalidInput("what-if: the factor must be a number from 0 to 1,000,000");
  WhatIfResult out;
  out.selector = selector;
  out.factor = factor;
  out.old_wall_ns = out.new_wall_ns = facts.wall_ns;
  Scheduler scheduler(timeline, data, *facts.graph, out);
  NL_TRY(scheduler.Select());
  if (facts.graph->points() > 0) out.new_wall_ns += scheduler.Schedule();
  return out;
}

}  // namespace nl
