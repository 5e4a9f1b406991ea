// SPDX-License-Identifier: Apache-2.0
// Builds the graph of what waited for what.

#include "analyze/waits/path_graph.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analyze/copies.h"
#include "base/median.h"

namespace nl {

namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr int64_t kNever = INT64_MIN;

class Builder {
 public:
  Builder(const TimelineFacts& timeline, const RunData& data, PathGraph& out)
      : timeline_(timeline),
        data_(data),
        host_(timeline.host),
        work_(timeline.work),
        out_(out),
        kinds_(data.strings) {}

  void Build() {
    out_.works = static_cast<uint32_t>(work_.size());
    FindActors();
    IndexStreams();
    FindFirstWork();
    for (const uint32_t thread : actors_) ScanThread(thread);
    AddHandovers();
    PlacePoints();
    LinkWork();
    AddRecordedWaits();
    for (const PathGraph::Extra& e : FindCollectives(timeline_, data_, out_.impossible_edges))
      raw_extras_.push_back({e.from, kNone, e.to, kNone, e.weight_ns, e.kind});
    Calibrate();
    InferDeviceWaits();
    PlaceExtras();
    Order();
  }

 private:
  // A point before it has its number: host points are numbered once each thread's are sorted.
  struct RawPoint {
    int64_t time_ns;
    PointKind kind;
    int8_t tie;     // resumes come first, ends of activity last
    uint32_t node;  // call of a return
    uint32_t mark;  // place in point_of_mark_, or kNone
  };
  struct RawExtra {
    uint32_t from_point, from_mark, to_point, to_mark;  // one of each pair
    int64_t weight_ns;
    EdgeKind kind;
  };

  int32_t RankOfThread(ThreadId thread) const {
    const auto t = static_cast<size_t>(thread);
    if (IsNull(thread) || t >= data_.thread.process_id.size()) return NullOf<int32_t>::value;
    const ProcessId process = data_.thread.process_id[t];
    const auto p = static_cast<size_t>(process);
    return IsNull(process) || p >= data_.process.rank.size() ? NullOf<int32_t>::value : data_.process.rank[p];
  }

  // Who calls ops or the API acts. Lanes of Python frames alone (a thread that waits) or ranges alone (the
  // profiler's own span, overhead) do so only when there is nothing better.
  void FindActors() {
    std::vector<uint32_t> by_kind[3];
    for (uint32_t t = 0; t < timeline_.threads.size(); ++t) {
      const auto& thread = timeline_.threads[t];
      size_t best = 2;
      for (uint32_t node = thread.first; node < thread.last && best > 0; ++node) {
        if (host_.kind[node] == HostKind::kRange) continue;
        best = host_.kind[node] == HostKind::kPython ? 1 : 0;
      }
      by_kind[best].push_back(t);
    }
    for (size_t k = 0; k < 3 && actors_.empty(); ++k) {
      if (k < 2 || work_.size() == 0) actors_ = by_kind[k];
    }
    points_.resize(timeline_.threads.size());
  }

  void IndexStreams() {
    const size_t n = work_.size();
    stream_first_.assign(timeline_.streams.size() + 1, 0);
    for (const uint32_t s : work_.stream) ++stream_first_[s + 1];
    for (size_t s = 0; s < timeline_.streams.size(); ++s) stream_first_[s + 1] += stream_first_[s];
    on_stream_.resize(n);
    out_.before.assign(n, kNone);
    std::vector<uint32_t> next(stream_first_.begin(), stream_first_.end() - 1);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t& at = next[work_.stream[i]];
      if (at > stream_first_[work_.stream[i]]) out_.before[i] = on_stream_[at - 1];
      on_stream_[at++] = i;
    }
    for (uint32_t s = 0; s < timeline_.streams.size(); ++s)
      streams_of_rank_[timeline_.devices[timeline_.streams[s].device].rank].push_back(s);
  }

  void FindFirstWork() {
    first_work_.assign(data_.api_call.start_ns.size(), kNone);
    mark_of_call_.assign(first_work_.size(), kNone);
    for (uint32_t i = 0; i < work_.size(); ++i) {
      if (work_.launch[i] == kNone) continue;
      uint32_t& first = first_work_[host_.row[work_.launch[i]]];
      if (first == kNone) first = i;
    }
  }

  // ---- host points ----
  void ScanThread(uint32_t thread) {
    const auto& t = timeline_.threads[thread];
    const int32_t rank = RankOfThread(t.thread);
    int64_t last_end_ns = host_.start_ns[t.first];
    points_[thread].push_back({host_.start_ns[t.first], PointKind::kThreadStart, -1, kNone, kNone});
    uint32_t launched = kNone,
             recorded = kNone;  // last work launched here; what the last event record covers
    bool waits = false;         // a stream wait since the last launch
    for (uint32_t node = t.first; node < t.last; ++node) {
      last_end_ns = std::max(last_end_ns, host_.end_ns[node]);
      if (host_.kind[node] != HostKind::kApi) continue;
      const ApiKind kind = kinds_.Of(host_.name[node]);
      const uint32_t first = first_work_[host_.row[node]];
      if (kind == ApiKind::kEventRecord) recorded = launched;
      if (kind == ApiKind::kStreamWait) waits = !SaysWhatFor(node);
      if (kind == ApiKind::kSync || kind == ApiKind::kBlockingFree)
        AddBlockingCall(thread, node, WaitedFor(rank, node));
      if (first == kNone) continue;
      AddLaunch(thread, node, first, kind);
      if (waits && recorded != kNone) InferWait(recorded, first);
      launched = first;
      waits = false;
    }
    points_[thread].push_back({last_end_ns, PointKind::kPlain, 3, kNone, kNone});
  }

  void AddLaunch(uint32_t thread, uint32_t node, uint32_t first, ApiKind kind) {
    const int64_t call_ns = host_.start_ns[node], return_ns = host_.end_ns[node];
    const int64_t start_ns = work_.start_ns[first];
    if (start_ns < call_ns) {
      ++out_.impossible_edges;  // the clocks of host and device disagree
    } else {
      // Work that began before the call returned: the launch was done by then, or, when the stream was
      // busy, by some time before that nobody recorded.
      const uint32_t before = out_.before[first];
      const bool was_busy = before != kNone && work_.end_ns[before] > call_ns;
      const int64_t time_ns = start_ns >= return_ns ? return_ns : was_busy ? call_ns : start_ns;
      mark_of_call_[host_.row[node]] = NewMark();
      points_[thread].push_back({time_ns, PointKind::kPlain, 1, kNone, mark_of_call_[host_.row[node]]});
    }
    const bool copies = kind == ApiKind::kBlockingCopy || (kind == ApiKind::kCopy && IsPageable(first));
    if (copies && work_.end_ns[first] <= return_ns && work_.end_ns[first] > call_ns)
      AddBlockingCall(thread, node, {first});
  }

  // Async copies from or to pageable memory block all the same.
  bool IsPageable(uint32_t i) const {
    return work_.kind[i] == WorkKind::kMemcpy && IsPageableCopy(data_, work_.row[i]);
  }

  // The call returned some time after it was made and all of this work had ended: that time is its own.
  void AddBlockingCall(uint32_t thread, uint32_t node, const std::vector<uint32_t>& waited_for) {
    auto& points = points_[thread];
    points.push_back({host_.start_ns[node], PointKind::kPlain, 1, kNone, kNone});
    const uint32_t mark = waited_for.empty() ? kNone : NewMark();
    points.push_back({host_.end_ns[node], PointKind::kReturn, 1, node, mark});
    int64_t ready_ns = host_.start_ns[node];
    for (const uint32_t i : waited_for) ready_ns = std::max(ready_ns, work_.end_ns[i]);
    for (const uint32_t i : waited_for)
      raw_extras_.push_back(
          {2 * i + 1, kNone, kNone, mark, host_.end_ns[node] - ready_ns, EdgeKind::kReturn});
  }

  // The last work of the stream the driver names; else of every stream of the rank when the call waits for
  // the device, and the one that ended last when nobody says which stream it was.
  std::vector<uint32_t> WaitedFor(int32_t rank, uint32_t node) {
    if (!sync_of_call_ready_) IndexSyncs();
    const auto found = sync_of_call_.find(host_.row[node]);
    if (found != sync_of_call_.end()) {
      const size_t row = found->second;
      const bool by_event = !IsNull(data_.sync.wait_on_stream[row]);
      const int64_t stream = by_event ? data_.sync.wait_on_stream[row] : data_.sync.stream[row];
      const uint32_t s = FindStream(rank, data_.sync.device[row], stream);
      if (s != kNone) {
        const int64_t record_ns = by_event ? RecordTime(rank, data_.sync.wait_on_correlation[row]) : kNever;
        const uint32_t i = LastEnded(s, node, record_ns == kNever ? host_.start_ns[node] : record_ns);
        return i == kNone ? std::vector<uint32_t>{} : std::vector<uint32_t>{i};
      }
    }
    std::vector<uint32_t> out;
    const auto streams = streams_of_rank_.find(rank);
    if (streams == streams_of_rank_.end()) return out;
    for (const uint32_t s : streams->second) {
      const uint32_t i = LastEnded(s, node, host_.start_ns[node]);
      if (i != kNone) out.push_back(i);
    }
    const std::string_view name = data_.Text(host_.name[node]);
    if (Contains(name, "Device") || Contains(name, "Ctx") || Contains(name, "Free") || out.empty())
      return out;
    return {*std::max_element(out.begin(), out.end(), [&](uint32_t a, uint32_t b) {
      return std::tie(work_.end_ns[a], a) < std::tie(work_.end_ns[b], b);
    })};
  }

  // The last work of a stream launched before `launched_ns` that had ended when the call returned.
  uint32_t LastEnded(uint32_t stream, uint32_t node, int64_t launched_ns) const {
    const int64_t to_ns = host_.end_ns[node];
    const auto first = on_stream_.begin() + stream_first_[stream];
    auto at = std::lower_bound(first, on_stream_.begin() + stream_first_[stream + 1], to_ns,
                               [&](uint32_t i, int64_t t) { return work_.start_ns[i] < t; });
    constexpr int kMaxSteps = 256;  // other threads may have launched onto the stream meanwhile
    for (int step = 0; at != first && step < kMaxSteps; ++step) {
      const uint32_t i = *--at;
      if (work_.end_ns[i] <= to_ns && LaunchedAt(i) < launched_ns) return i;
    }
    return kNone;
  }
  int64_t LaunchedAt(uint32_t i) const {
    return work_.launch[i] == kNone ? kNever : host_.start_ns[work_.launch[i]];
  }

  // Whether the source says what a stream wait waits for, or would have said it.
  bool SaysWhatFor(uint32_t node) {
    if (data_.sync.start_ns.empty()) return false;
    if (!sync_of_call_ready_) IndexSyncs();
    const auto found = sync_of_call_.find(host_.row[node]);
    return found == sync_of_call_.end() || !IsNull(data_.sync.wait_on_correlation[found->second]);
  }

  // Sources that do not say it: a thread that records an event, makes a stream wait and then launches
  // onto another stream than before has most likely ordered these two streams.
  void InferWait(uint32_t recorded, uint32_t launched) {
    if (work_.stream[recorded] == work_.stream[launched] || work_.end_ns[recorded] > work_.start_ns[launched])
      return;
    ++out_.inferred_waits;
    raw_extras_.push_back({2 * recorded + 1, kNone, 2 * launched, kNone, 0, EdgeKind::kEventWait});
  }

  void AddHandovers() {
    std::map<int32_t, std::vector<uint32_t>> by_rank;
    for (const uint32_t t : actors_) by_rank[RankOfThread(timeline_.threads[t].thread)].push_back(t);
    for (const auto& [rank, threads] : by_rank) {
      for (const Handover& h : FindHandovers(timeline_, data_, threads)) {
        const uint32_t from = NewMark(), to = NewMark();
        points_[h.from_thread].push_back({h.from_ns, PointKind::kPlain, 2, kNone, from});
        points_[h.to_thread].push_back({h.to_ns, PointKind::kResume, 0, kNone, to});
        raw_extras_.push_back({kNone, from, kNone, to, 0, EdgeKind::kHandover});
      }
    }
  }

  uint32_t NewMark() {
    point_of_mark_.push_back(kNone);
    return static_cast<uint32_t>(point_of_mark_.size() - 1);
  }

  void PlacePoints() {
    size_t total = 0;
    for (const auto& points : points_) total += points.size();
    out_.host_time_ns.reserve(total);
    out_.host_weight_ns.reserve(total);
    out_.host_node.reserve(total);
    out_.host_thread.reserve(total);
    out_.host_kind.reserve(total);
    const auto before = [](const RawPoint& a, const RawPoint& b) {
      return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.tie < b.tie;
    };
    for (uint32_t t = 0; t < points_.size(); ++t) {
      auto& points = points_[t];
      if (!std::is_sorted(points.begin(), points.end(), before))
        std::stable_sort(points.begin(), points.end(), before);
      // A thread that another one woke does not begin by itself.
      if (points.size() > 1 && points[1].kind == PointKind::kResume && points[1].time_ns == points[0].time_ns)
        points.erase(points.begin());
      for (const RawPoint& p : points) {
        const auto h = static_cast<uint32_t>(out_.host_time_ns.size());
        if (p.mark != kNone) point_of_mark_[p.mark] = out_.HostPoint(h);
        out_.host_weight_ns.push_back(&p == &points[0] ? 0 : p.time_ns - out_.host_time_ns.back());
        out_.host_time_ns.push_back(p.time_ns);
        out_.host_node.push_back(p.node);
        out_.host_thread.push_back(t);
        out_.host_kind.push_back(&p == &points[0] ? PointKind::kThreadStart : p.kind);
      }
      points = {};
    }
  }

  // ---- device ----
  void LinkWork() {
    out_.launch.assign(work_.size(), kNone);
    std::unordered_map<uint32_t, uint32_t> latest;  // by call that launched several: the last to end
    for (uint32_t i = 0; i < work_.size(); ++i) {
      const uint32_t node = work_.launch[i];
      if (node != kNone) {
        const uint32_t row = host_.row[node];
        if (mark_of_call_[row] != kNone) out_.launch[i] = point_of_mark_[mark_of_call_[row]] - 2 * out_.works;
        if (first_work_[row] != i) FollowGraph(i, row, latest);
      }
      if (out_.launch[i] == kNone && out_.before[i] == kNone) AssumeCause(i);
    }
  }

  void FollowGraph(uint32_t i, uint32_t row, std::unordered_map<uint32_t, uint32_t>& latest) {
    uint32_t& last = latest.try_emplace(row, first_work_[row]).first->second;
    if (last != out_.before[i] && work_.end_ns[last] <= work_.start_ns[i])
      raw_extras_.push_back({2 * last + 1, kNone, 2 * i, kNone, 0, EdgeKind::kGraph});
    if (work_.end_ns[i] > work_.end_ns[last]) last = i;
  }

  // The first work of a stream whose launch was not recorded.
  void AssumeCause(uint32_t i) {
    constexpr uint32_t kLookBack = 4096;
    uint32_t best = kNone;
    for (uint32_t j = i; j > 0 && i - j < kLookBack;) {
      --j;
      const bool same_rank =
          timeline_.devices[work_.device[j]].rank == timeline_.devices[work_.device[i]].rank;
      if (same_rank && work_.end_ns[j] < work_.start_ns[i] &&
          (best == kNone || work_.end_ns[j] > work_.end_ns[best]))
        best = j;
    }
    if (best != kNone) raw_extras_.push_back({2 * best + 1, kNone, 2 * i, kNone, 0, EdgeKind::kAssumed});
  }

  // ---- the driver's records of waits ----
  uint32_t FindStream(int32_t rank, int32_t device, int64_t stream) const {
    const auto streams = streams_of_rank_.find(rank);
    if (streams == streams_of_rank_.end() || IsNull(stream)) return kNone;
    for (const uint32_t s : streams->second) {
      const auto& candidate = timeline_.streams[s];
      if (candidate.stream == stream &&
          (IsNull(device) || timeline_.devices[candidate.device].device == device))
        return s;
    }
    return kNone;
  }

  void IndexSyncs() {
    sync_of_call_ready_ = true;
    const SyncView& sync = data_.sync;
    for (size_t i = 0; i < sync.start_ns.size(); ++i) {
      if (i < sync.api_call_id.size() && !IsNull(sync.api_call_id[i]))
        sync_of_call_[static_cast<uint32_t>(sync.api_call_id[i])] = i;
    }
    if (sync.start_ns.empty()) return;
    for (size_t i = 0; i < data_.api_call.name.size(); ++i) {
      if (IsNull(data_.api_call.correlation[i]) || IsNull(data_.api_call.start_ns[i]) ||
          kinds_.Of(data_.api_call.name[i]) != ApiKind::kEventRecord)
        continue;
      record_ns_[{RankOfThread(data_.api_call.thread_id[i]), data_.api_call.correlation[i]}] =
          data_.api_call.start_ns[i];
    }
  }
  int64_t RecordTime(int32_t rank, int64_t correlation) const {
    const auto it = record_ns_.find({rank, correlation});
    return it == record_ns_.end() ? kNever : it->second;
  }

  void AddRecordedWaits() {
    if (!sync_of_call_ready_) IndexSyncs();
    const SyncView& sync = data_.sync;
    for (const auto& [call, row] : sync_of_call_) {
      if (call >= timeline_.node_of_api.size() || timeline_.node_of_api[call] == kNone) continue;
      const uint32_t node = timeline_.node_of_api[call];
      if (kinds_.Of(host_.name[node]) != ApiKind::kStreamWait) continue;
      const int32_t rank = RankOfThread(host_.thread[node]);
      const int64_t record_ns = RecordTime(rank, sync.wait_on_correlation[row]);
      const uint32_t waiting = FindStream(rank, sync.device[row], sync.stream[row]);
      const uint32_t waited = FindStream(rank, sync.device[row], sync.wait_on_stream[row]);
      if (record_ns == kNever || waiting == kNone || waited == kNone || waiting == waited) continue;
      const uint32_t to = Neighbour(waiting, host_.start_ns[node], true);
      const uint32_t from = Neighbour(waited, record_ns, false);
      if (to == kNone || from == kNone) continue;
      if (work_.end_ns[from] > work_.start_ns[to]) {
        ++out_.impossible_edges;
        continue;
      }
      raw_extras_.push_back({2 * from + 1, kNone, 2 * to, kNone, 0, EdgeKind::kEventWait});
    }
  }

  // The first work of a stream launched after a time, or the last before it; streams run in launch order.
  uint32_t Neighbour(uint32_t stream, int64_t time_ns, bool after) const {
    const auto first = on_stream_.begin() + stream_first_[stream];
    const auto last = on_stream_.begin() + stream_first_[stream + 1];
    const auto at = std::partition_point(first, last, [&](uint32_t i) { return LaunchedAt(i) < time_ns; });
    if (after) return at == last ? kNone : *at;
    return at == first ? kNone : *(at - 1);
  }

  // ---- order ----
  // What a launch and a step along a stream take when nothing else is in the way.
  void Calibrate() {
    std::vector<int64_t> launches, steps;
    const size_t stride = std::max<size_t>(1, work_.size() / 65536);
    for (size_t i = 0; i < work_.size(); i += stride) {
      if (out_.launch[i] == kNone) continue;
      const int64_t launch_ns = out_.host_time_ns[out_.launch[i]];
      const uint32_t b = out_.before[i];
      const int64_t free_ns = b == kNone ? kNever : work_.end_ns[b];
      if (free_ns <= launch_ns && first_work_[host_.row[work_.launch[i]]] == i) {
        launches.push_back(work_.start_ns[i] - launch_ns);
      } else if (free_ns > launch_ns && free_ns <= work_.start_ns[i]) {
        steps.push_back(work_.start_ns[i] - free_ns);
      }
    }
    // The lower quarter: some of these waited for things the trace does not show. All of them may have.
    static constexpr int64_t kMostNs = 100'000;
    const auto floor = [](std::vector<int64_t>& v) {
      if (v.empty()) return int64_t{0};
      return std::min(AtRank(v, v.size() / 4), kMostNs);
    };
    out_.launch_floor_ns = floor(launches);
    out_.stream_floor_ns = floor(steps);
  }

  // Work that began long after its launch although its stream was free, just when work of another stream of
  // the device had ended: it waited for that, whatever ordered them.
  void InferDeviceWaits() {
    constexpr int64_t kSoonNs = 20'000;
    for (uint32_t i = 0; i < work_.size(); ++i) {
      if (out_.launch[i] == kNone) continue;
      const int64_t start_ns = work_.start_ns[i], launch_ns = out_.host_time_ns[out_.launch[i]];
      const uint32_t b = out_.before[i];
      const int64_t free_ns = std::max(launch_ns, b == kNone ? kNever : work_.end_ns[b]);
      if (out_.IsPlainLatency(start_ns - free_ns)) continue;
      uint32_t best = kNone;
      for (const uint32_t s : streams_of_rank_[timeline_.devices[work_.device[i]].rank]) {
        if (timeline_.streams[s].device != work_.device[i] || s == work_.stream[i]) continue;
        const uint32_t j = LastBefore(s, start_ns);
        if (j != kNone && (best == kNone || work_.end_ns[j] > work_.end_ns[best])) best = j;
      }
      if (best == kNone || work_.end_ns[best] <= free_ns || start_ns - work_.end_ns[best] > kSoonNs) continue;
      ++out_.inferred_waits;
      raw_extras_.push_back({2 * best + 1, kNone, 2 * i, kNone, 0, EdgeKind::kEventWait});
    }
  }
  uint32_t LastBefore(uint32_t stream, int64_t time_ns) const {
    const auto first = on_stream_.begin() + stream_first_[stream];
    auto at = std::lower_bound(first, on_stream_.begin() + stream_first_[stream + 1], time_ns,
                               [&](uint32_t i, int64_t t) { return work_.start_ns[i] < t; });
    for (int step = 0; at != first && step < 16; ++step) {
      if (work_.end_ns[*--at] <= time_ns) return *at;
    }
    return kNone;
  }

  // At equal times: ends of work that took time, then the host, then work that begins.
  std::tuple<int64_t, int, uint32_t> Key(uint32_t point) const {
    const int64_t time_ns = out_.TimeOf(work_, point);
    if (!out_.IsWork(point)) return {time_ns, 1, point};
    const bool took_time = work_.end_ns[point / 2] > work_.start_ns[point / 2];
    return {time_ns, (point & 1) != 0 && took_time ? 0 : 2, point};
  }

  void PlaceExtras() {
    for (const RawExtra& raw : raw_extras_) {
      const uint32_t from = raw.from_mark == kNone ? raw.from_point : point_of_mark_[raw.from_mark];
      const uint32_t to = raw.to_mark == kNone ? raw.to_point : point_of_mark_[raw.to_mark];
      if (Key(from) < Key(to)) {
        out_.extras.push_back({from, to, raw.weight_ns, raw.kind});
      } else {
        ++out_.impossible_edges;
      }
    }
    std::sort(out_.extras.begin(), out_.extras.end(), [](const auto& a, const auto& b) {
      return std::tie(a.to, a.from, a.kind) < std::tie(b.to, b.from, b.kind);
    });
    out_.first_extra.assign(out_.points(), kNone);
    for (size_t e = out_.extras.size(); e-- > 0;)
      out_.first_extra[out_.extras[e].to] = static_cast<uint32_t>(e);
    // The part of a call after the work it waited for has ended is what the call itself takes; so is the
    // resumption of a thread that took over from another.
    for (const PathGraph::Extra& e : out_.extras) {
      if (e.kind != EdgeKind::kReturn && e.kind != EdgeKind::kHandover) continue;
      int64_t& weight_ns = out_.host_weight_ns[e.to - 2 * out_.works];
      weight_ns = std::min(weight_ns, e.weight_ns);
    }
  }

  // Depth first over the causes; starting in the order of work keeps the stack short.
  void Order() {
    out_.order.reserve(out_.points());
    std::vector<uint8_t> seen(out_.points(), 0);
    std::vector<uint32_t> stack;
    const auto visit = [&](uint32_t root) {
      if (seen[root] != 0) return;
      stack.push_back(root);
      while (!stack.empty()) {
        const uint32_t point = stack.back();
        if (seen[point] != 0) {
          stack.pop_back();
          continue;
        }
        const size_t depth = stack.size();
        out_.ForEachCause(work_, point, [&](uint32_t from, int64_t, EdgeKind, uint32_t) {
          if (seen[from] == 0) stack.push_back(from);
        });
        if (stack.size() > depth) continue;
        seen[point] = 1;
        out_.order.push_back(point);
        stack.pop_back();
      }
    };
    for (uint32_t i = 0; i < 2 * out_.works; ++i) visit(i);
    for (uint32_t h = 0; h < out_.host_time_ns.size(); ++h) visit(out_.HostPoint(h));
  }

  const TimelineFacts& timeline_;
  const RunData& data_;
  const HostTree& host_;
  const DeviceWork& work_;
  PathGraph& out_;
  std::vector<uint32_t> actors_;                    // threads that do something
  std::vector<std::vector<RawPoint>> points_;       // by thread
  std::vector<uint32_t> stream_first_, on_stream_;  // work by stream, in order
  std::map<int32_t, std::vector<uint32_t>> streams_of_rank_;
  std::vector<uint32_t> first_work_, mark_of_call_;  // by row of api_call
  std::vector<uint32_t> point_of_mark_;
  std::vector<RawExtra> raw_extras_;
  ApiKinds kinds_;
  bool sync_of_call_ready_ = false;
  std::map<uint32_t, size_t> sync_of_call_;  // row of api_call -> row of sync
  std::map<std::pair<int32_t, int64_t>, int64_t> record_ns_;
};

}  // namespace

PathGraph BuildGraph(const TimelineFacts& timeline, const RunData& data) {
  PathGraph out;
  Builder(timeline, data, out).Build();
  return out;
}

}  // namespace nl
