// SPDX-License-Identifier: Apache-2.0
// Walks the graph back from the last event to the first: what the run waited for at each instant.

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/facts/critical_path.h"
#include "analyze/pass.h"
#include "analyze/waits/path_graph.h"
#include "base/median.h"

namespace nl {

namespace passes::critical_path {

namespace {

// A piece of the path: time on one host thread, or one named event.
struct Stretch {
  int64_t start_ns, end_ns;
  uint32_t thread;  // position in threads; kNone: not a host thread's time
  StringId name;
  PathClass what;
};

class Walker {
 public:
  Walker(const TimelineFacts& timeline, const RunData& data, const PathGraph& graph, CriticalPathFacts& out)
      : timeline_(timeline),
        data_(data),
        host_(timeline.host),
        work_(timeline.work),
        graph_(graph),
        out_(out),
        kinds_(data.strings) {}

  void Run() {
    out_.wall_ns = timeline_.wall_ns();
    if (graph_.points() == 0) {
      out_.reason = "no host or device activity was recorded";
      AddStretch(
          {timeline_.first_start_ns, timeline_.last_end_ns, kNone, StringId::kNull, PathClass::kUnrecorded});
    } else {
      Walk();
      FindSlack();
    }
    out_.segments.reserve(stretches_.size() + host_.size());
    for (size_t i = stretches_.size(); i-- > 0;) Emit(stretches_[i]);
    Total();
  }

 private:
  void Walk() {
    uint32_t point = graph_.order[0];
    for (const uint32_t p : graph_.order) {
      if (graph_.TimeOf(work_, p) >= graph_.TimeOf(work_, point)) point = p;
    }
    last_ns_ = graph_.TimeOf(work_, point);
    AddUnrecorded(last_ns_, timeline_.last_end_ns);
    while (true) {
      uint32_t cause = kNone;
      int64_t bound_ns = 0;
      EdgeKind kind = EdgeKind::kThread;
      graph_.ForEachCause(work_, point, [&](uint32_t from, int64_t weight_ns, EdgeKind k, uint32_t) {
        const int64_t t = graph_.TimeOf(work_, from) + weight_ns;
        if (cause != kNone && t <= bound_ns) return;
        cause = from;
        bound_ns = t;
        kind = k;
      });
      if (cause == kNone) break;
      AddEdge(cause, point, kind);
      point = cause;
    }
    AddUnrecorded(timeline_.first_start_ns, graph_.TimeOf(work_, point));
  }

  void AddUnrecorded(int64_t start_ns, int64_t end_ns) {
    AddStretch({start_ns, end_ns, kNone, StringId::kNull, PathClass::kUnrecorded});
  }
  void AddStretch(const Stretch& s) {
    if (s.end_ns <= s.start_ns) return;
    if (!stretches_.empty() && s.thread != kNone && stretches_.back().thread == s.thread &&
        stretches_.back().start_ns == s.end_ns) {
      stretches_.back().start_ns = s.start_ns;
    } else {
      stretches_.push_back(s);
    }
  }

  void AddEdge(uint32_t from, uint32_t to, EdgeKind kind) {
    Stretch s{graph_.TimeOf(work_, from), graph_.TimeOf(work_, to), kNone, StringId::kNull,
              PathClass::kUnrecorded};
    switch (kind) {
      case EdgeKind::kThread: {
        const uint32_t h = to - 2 * graph_.works;
        if (graph_.host_kind[h] == PointKind::kReturn) {
          s.what = PathClass::kSyncWait;
          s.name = host_.name[graph_.host_node[h]];
        } else if (graph_.host_kind[h] != PointKind::kResume) {
          s.thread = graph_.host_thread[h];
        }
        break;
      }
      case EdgeKind::kReturn:
        s.what = PathClass::kSyncWait;
        s.name = host_.name[graph_.host_node[to - 2 * graph_.works]];
        break;
      case EdgeKind::kExecution: NameWork(s, to / 2); break;
      case EdgeKind::kOverlap: NameWork(s, from / 2); break;
      case EdgeKind::kCollective: NameWork(s, to / 2); break;
      case EdgeKind::kLaunch:
        if (!graph_.IsPlainLatency(s.end_ns - s.start_ns)) {
          AddUnrecorded(s.start_ns + graph_.launch_floor_ns, s.end_ns);
          s.end_ns = s.start_ns + graph_.launch_floor_ns;
        }
        s.what = PathClass::kLaunchLatency;
        s.name = host_.name[work_.launch[to / 2]];
        break;
      case EdgeKind::kEventWait: s.what = PathClass::kSyncWait; break;
      case EdgeKind::kStream:
      case EdgeKind::kGraph: s.what = PathClass::kDeviceGap; break;
      case EdgeKind::kHandover:
      case EdgeKind::kAssumed: break;
    }
    AddStretch(s);
  }
  void NameWork(Stretch& s, uint32_t i) const {
    s.name = work_.name[i];
    s.what = work_.kind[i] != WorkKind::kKernel           ? PathClass::kCopy
             : work_.work[i] == WorkClass::kCommunication ? PathClass::kCommunication
                                                          : PathClass::kKernel;
  }

  void Emit(const Stretch& s) {
    if (s.thread == kNone) {
      AddSegment(s.start_ns, s.end_ns, s.name, s.what);
    } else {
      EmitHost(timeline_.threads[s.thread], s.start_ns, s.end_ns);
    }
  }

  // Cuts a stretch of a thread where the innermost span changes.
  void EmitHost(const TimelineFacts::HostThread& thread, int64_t from_ns, int64_t to_ns) {
    const auto begin = host_.start_ns.begin();
    auto next =
        static_cast<uint32_t>(std::upper_bound(begin + thread.first, begin + thread.last, from_ns) - begin);
    uint32_t open = next == thread.first ? kNone : next - 1;
    open = Open(open, from_ns);
    int64_t now_ns = from_ns;
    while (now_ns < to_ns) {
      int64_t until_ns = to_ns;
      if (open != kNone) until_ns = std::min(until_ns, host_.end_ns[open]);
      if (next < thread.last) until_ns = std::min(until_ns, host_.start_ns[next]);
      if (until_ns > now_ns) AddHostSegment(now_ns, until_ns, open);
      now_ns = std::max(now_ns, until_ns);
      if (now_ns >= to_ns) return;
      if (next < thread.last && host_.start_ns[next] <= now_ns) {
        open = next++;
      } else {
        open = Open(open, now_ns);
      }
    }
  }
  // The innermost of a node and its ancestors that goes on after a time.
  uint32_t Open(uint32_t node, int64_t after_ns) const {
    while (node != kNone && host_.end_ns[node] <= after_ns) node = host_.parent[node];
    return node;
  }

  void AddHostSegment(int64_t start_ns, int64_t end_ns, uint32_t node) {
    if (node == kNone) return AddSegment(start_ns, end_ns, StringId::kNull, PathClass::kUnrecorded);
    PathClass what = PathClass::kApi;
    switch (host_.kind[node]) {
      case HostKind::kRange: what = PathClass::kHostRange; break;
      case HostKind::kPython: what = PathClass::kPython; break;
      case HostKind::kOp: what = PathClass::kHostOp; break;
      case HostKind::kApi: what = ClassOfCall(host_.name[node]); break;
    }
    AddSegment(start_ns, end_ns, host_.name[node], what);
  }
  PathClass ClassOfCall(StringId name) {
    const ApiKind kind = kinds_.Of(name);
    if (IsLaunch(kind) || IsCopy(kind)) return PathClass::kLaunch;
    return kind == ApiKind::kSync || kind == ApiKind::kBlockingFree ? PathClass::kSyncWait : PathClass::kApi;
  }

  void AddSegment(int64_t start_ns, int64_t end_ns, StringId name, PathClass what) {
    auto& segments = out_.segments;
    if (!segments.empty() && segments.back().what == what && segments.back().name == name &&
        segments.back().end_ns == start_ns) {
      segments.back().end_ns = end_ns;
    } else {
      segments.push_back({start_ns, end_ns, name, what});
    }
  }

  void FindSlack() {
    std::vector<int64_t> latest_ns(graph_.points(), last_ns_);
    for (size_t k = graph_.order.size(); k-- > 0;) {
      const uint32_t point = graph_.order[k];
      int64_t bound_ns = INT64_MIN;
      graph_.ForEachCause(work_, point, [&](uint32_t from, int64_t weight_ns, EdgeKind, uint32_t) {
        bound_ns = std::max(bound_ns, graph_.TimeOf(work_, from) + weight_ns);
      });
      if (bound_ns == INT64_MIN) continue;  // nothing to hand the slack to
      const int64_t late_ns = latest_ns[point] - (graph_.TimeOf(work_, point) - bound_ns);
      graph_.ForEachCause(work_, point, [&](uint32_t from, int64_t weight_ns, EdgeKind, uint32_t) {
        latest_ns[from] = std::min(latest_ns[from], late_ns - weight_ns);
      });
    }
    out_.work_slack_ns.resize(work_.size());
    for (uint32_t i = 0; i < work_.size(); ++i) {
      const int64_t slack_ns = latest_ns[2 * i + 1] - work_.end_ns[i];
      out_.work_slack_ns[i] = slack_ns;
      const auto& below = CriticalPathFacts::kSlackBelowNs;
      const auto bucket = std::upper_bound(below.begin(), below.end(), slack_ns) - below.begin();
      ++out_.slack_histogram[static_cast<size_t>(bucket)];
    }
  }

  struct Sum {
    int64_t ns = 0, segments = 0;
  };
  static uint64_t KeyOf(size_t slot, size_t path_class) { return slot * kPathClasses + path_class; }
  uint32_t SlotOf(StringId name) {
    const size_t id = IsNull(name) ? 0 : static_cast<size_t>(name) + 1;
    if (id >= slot_of_name_.size()) slot_of_name_.resize(id + 1, kNone);
    if (slot_of_name_[id] == kNone) {
      slot_of_name_[id] = static_cast<uint32_t>(names_.size());
      names_.push_back(name);
    }
    return slot_of_name_[id];
  }

  void Total() {
    for (const auto& s : out_.segments) {
      const auto c = static_cast<size_t>(s.what);
      const int64_t ns = s.end_ns - s.start_ns;
      Sum& sum = sums_[KeyOf(SlotOf(s.name), c)];
      sum.ns += ns;
      ++sum.segments;
      out_.ns_by_class[c] += ns;
      out_.path_ns += ns;
    }
    out_.contributors.reserve(sums_.size());
    for (const auto& [key, sum] : sums_) {
      out_.contributors.push_back(
          {static_cast<PathClass>(key % kPathClasses), names_[key / kPathClasses], sum.ns, sum.segments});
    }
    std::sort(out_.contributors.begin(), out_.contributors.end(), [](const auto& a, const auto& b) {
      return a.ns != b.ns ? a.ns > b.ns : std::tie(a.what, a.name) < std::tie(b.what, b.name);
    });
    TotalKernels();
  }

  void TotalKernels() {
    if (out_.work_slack_ns.empty()) return;
    std::vector<uint32_t> slots(work_.size());
    for (size_t i = 0; i < work_.size(); ++i) slots[i] = SlotOf(work_.name[i]);
    std::vector<uint32_t> first(names_.size() + 1, 0);
    for (const uint32_t s : slots) ++first[s + 1];
    for (size_t s = 0; s < names_.size(); ++s) first[s + 1] += first[s];
    std::vector<uint32_t> items(work_.size()), next(first.begin(), first.end() - 1);
    for (uint32_t i = 0; i < work_.size(); ++i) items[next[slots[i]]++] = i;
    std::vector<int64_t> slack;
    for (size_t s = 0; s < names_.size(); ++s) {
      if (first[s] == first[s + 1]) continue;
      CriticalPathFacts::KernelSlack k{names_[s], work_.kind[items[first[s]]], 0, 0, 0, 0, 0};
      slack.clear();
      for (uint32_t at = first[s]; at < first[s + 1]; ++at) {
        ++k.calls;
        k.total_ns += work_.end_ns[items[at]] - work_.start_ns[items[at]];
        slack.push_back(out_.work_slack_ns[items[at]]);
      }
      for (const PathClass c : {PathClass::kKernel, PathClass::kCopy, PathClass::kCommunication}) {
        const auto sum = sums_.find(KeyOf(s, static_cast<size_t>(c)));
        if (sum != sums_.end()) k.on_path_ns += sum->second.ns;
      }
      k.median_slack_ns = UpperMedian(slack);
      k.min_slack_ns = *std::min_element(slack.begin(), slack.end());
      out_.kernels.push_back(k);
    }
    std::sort(out_.kernels.begin(), out_.kernels.end(), [](const auto& a, const auto& b) {
      return std::tie(b.on_path_ns, b.total_ns, a.name) < std::tie(a.on_path_ns, a.total_ns, b.name);
    });
  }

  const TimelineFacts& timeline_;
  const RunData& data_;
  const HostTree& host_;
  const DeviceWork& work_;
  const PathGraph& graph_;
  CriticalPathFacts& out_;
  int64_t last_ns_ = 0;
  std::vector<Stretch> stretches_;  // last first
  ApiKinds kinds_;
  std::vector<uint32_t> slot_of_name_;  // by string + 1
  std::vector<StringId> names_;
  std::unordered_map<uint64_t, Sum> sums_;  // by name and class: most names have one class
};

// A gap or overlap in the path is a bug of this program.
Status CheckSums(const CriticalPathFacts& facts, const TimelineFacts& timeline) {
  int64_t at_ns = timeline.first_start_ns;
  for (const auto& s : facts.segments) {
    if (s.start_ns != at_ns || s.end_ns <= s.start_ns)
      return Internal(fmt::format(
          "critical path: a segment starts at {} ns, but the previous one ends at {} ns", s.start_ns, at_ns));
    at_ns = s.end_ns;
  }
  if (at_ns != timeline.last_end_ns || facts.path_ns != facts.wall_ns)
    return Internal(
        fmt::format("critical path: covers {} ns of {} ns wall time", facts.path_ns, facts.wall_ns));
  return {};
}

constexpr size_t kReportRows = 100;

class CriticalPathPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {CriticalPathFacts::kName,
            "What the run waited for, from its first event to its last",
            {TimelineFacts::kName},
            kPathGraphReads | NL_READS(Memcpy, kind),
            &RecordOf<CriticalPathSection>};
  }
  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    const auto& timeline = facts.Get<TimelineFacts>();
    const auto graph = std::make_shared<const PathGraph>(BuildGraph(timeline, data));
    CriticalPathFacts out;
    Walker(timeline, data, *graph, out).Run();
    NL_TRY(CheckSums(out, timeline));
    out.launch_floor_ns = graph->launch_floor_ns;
    out.inferred_waits = graph->inferred_waits;
    out.impossible_edges = graph->impossible_edges;
    out.graph = graph;
    facts.Put(std::move(out));
    return {};
  }
  Described Section(const RunData& data, const FactBoard& facts) const override {
    return Described::Of(SectionOf(facts.Get<CriticalPathFacts>(), data, kReportRows));
  }
};

}  // namespace

const Pass& Describe() {
  static const CriticalPathPass pass;
  return pass;
}

}  // namespace passes::critical_path
}  // namespace nl
