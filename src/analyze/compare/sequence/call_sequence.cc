// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/sequence/call_sequence.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/compare/sequence/call_costs.h"
#include "analyze/compare/sequence/call_types.h"
#include "analyze/compare/sequence/segments.h"
#include "analyze/facts/accounting.h"
#include "analyze/features/parts.h"
#include "analyze/program/program.h"
#include "analyze/waits/host_segments.h"

namespace nl::compare {

namespace {

bool IsBackground(const std::vector<ThreadId>& background, ThreadId thread) {
  return std::find(background.begin(), background.end(), thread) != background.end();
}

class Builder {
 public:
  Builder(Analysis& run, const TimelineFacts& timeline, const IdleFacts* idle,
          const CallSequenceOptions& options, CallSequence& out)
      : data_(run.data()),
        t_(timeline),
        h_(timeline.host),
        w_(timeline.work),
        idle_(idle),
        options_(options),
        out_(out),
        program_(run.data(), timeline),
        kinds_(run.data().strings),
        types_(program_, out.types) {
    out_.run = &run;
  }

  Status Build() {
    program_.BuildOrder();
    // Detected blocks replace modules where modules were not recorded.
    const auto placed = [this](const program::LeafOp& l) { return program_.module_of[l.node] != kNone; };
    if (!std::all_of(program_.leaves.begin(), program_.leaves.end(), placed)) features::InferBlocks(program_);
    out_.wall_ns = t_.wall_ns();
    out_.parts = CountDevices();
    out_.on_host = out_.parts == 0;
    if (out_.on_host) {
      out_.parts = 1;
      AddHostCalls();
    } else {
      AddWorkCalls();
      AddApiCalls();
      Order();
      AddEnd();
      AddCosts({t_, *idle_, call_of_work_, own_}, out_);
    }
    if (options_.background.empty()) out_.call_of_work = std::move(call_of_work_);
    CutSegments(t_, program_, out_);
    NameModules();
    return Check();
  }

 private:
  // Devices with work that took time.
  int64_t CountDevices() const {
    std::vector<bool> worked(t_.devices.size(), false);
    for (size_t i = 0; i < w_.size(); ++i) {
      if (w_.end_ns[i] > w_.start_ns[i]) worked[w_.device[i]] = true;
    }
    return std::count(worked.begin(), worked.end(), true);
  }

  // ---- calls, unordered ----
  void AddWorkCalls() {
    call_of_work_.assign(w_.size(), kNone);
    drafts_.reserve(w_.size() + w_.size() / 16 + 1);
    for (const program::LeafOp& leaf : program_.leaves) {
      CallDraft& draft = drafts_.emplace_back();
      draft.node = leaf.node;
      draft.work = leaf.work;
      draft.module = program_.ModuleOf(leaf);
      draft.family = leaf.family;
      draft.op = true;
    }
    leaves_ = drafts_.size();
    size_t leaf = 0;
    for (uint32_t i = 0; i < w_.size(); ++i) {
      auto at = static_cast<uint32_t>(drafts_.size());
      if (w_.op[i] != kNone) {
        leaf = LeafOf(w_.op[i], leaf);
        at = static_cast<uint32_t>(leaf);
      } else {
        CallDraft& draft = drafts_.emplace_back();
        draft.node = w_.launch[i];
        draft.work = i;
        if (w_.kind[i] == WorkKind::kKernel) draft.family = t_.KernelNameOf(w_.name[i]).family;
        if (draft.node != kNone) draft.module = program_.module_of[draft.node];
      }
      call_of_work_[i] = at;
      AddWork(drafts_[at], i);
    }
    works_ = drafts_.size();
    for (CallDraft& draft : drafts_) {
      const WorkKind kind = w_.kind[draft.work];
      draft.kind = kind == WorkKind::kKernel   ? CallKind::kKernel
                   : kind == WorkKind::kMemcpy ? CallKind::kCopy
                                               : CallKind::kMemset;
      if (draft.kind != CallKind::kKernel) draft.family = KernelFamily::kCopy;
    }
  }

  // Leaves are in the order of their nodes, and so is most of the work.
  size_t LeafOf(uint32_t node, size_t last) const {
    const std::vector<program::LeafOp>& leaves = program_.leaves;
    if (leaves[last].node == node) return last;
    if (last + 1 < leaves.size() && leaves[last + 1].node == node) return last + 1;
    const auto it = std::lower_bound(leaves.begin(), leaves.end(), node,
                                     [](const program::LeafOp& l, uint32_t n) { return l.node < n; });
    return static_cast<size_t>(it - leaves.begin());
  }

  void AddWork(CallDraft& draft, uint32_t work) {
    draft.start_ns = draft.kernels == 0 ? w_.start_ns[work] : std::min(draft.start_ns, w_.start_ns[work]);
    draft.end_ns = draft.kernels == 0 ? w_.end_ns[work] : std::max(draft.end_ns, w_.end_ns[work]);
    ++draft.kernels;
    draft.kernel_hash = HashPair(draft.kernel_hash, types_.WorkHash(work));
    if (w_.kind[work] == WorkKind::kMemcpy) {
      const int64_t bytes = data_.memcpy.bytes[w_.row[work]];
      if (!IsNull(bytes)) draft.bytes += bytes;
    }
    if (w_.kind[work] == WorkKind::kKernel && !IsNull(data_.kernel.graph_id[w_.row[work]]))
      draft.graph = data_.kernel.graph_id[w_.row[work]] != 0;
  }

  // Calls that wait or allocate are part of the program even when they cost nothing.
  void AddApiCalls() {
    for (uint32_t i = 0; i < h_.size(); ++i) {
      if (h_.kind[i] != HostKind::kApi) continue;
      const ApiKind kind = kinds_.Of(h_.name[i]);
      const bool sync = kind == ApiKind::kSync;
      if (!sync && kind != ApiKind::kAlloc && kind != ApiKind::kBlockingFree) continue;
      if (IsBackground(options_.background, h_.thread[i])) continue;
      CallDraft& draft = drafts_.emplace_back();
      draft.kind = sync ? CallKind::kSync : CallKind::kAlloc;
      draft.node = i;
      draft.start_ns = h_.start_ns[i];
      draft.end_ns = h_.end_ns[i];
      draft.module = program_.module_of[i];
    }
  }

  // ---- order ----
  struct Place {
    uint64_t key;  // lane, then node; work without a launch by its time
    uint32_t work, draft;
    bool operator<(const Place& p) const { return key != p.key ? key < p.key : work < p.work; }
  };

  // Ranks keep their order; within a rank, the thread with the most launches comes first.
  std::vector<uint32_t> LaneOfThreads() {
    ThreadFinder finder(t_.threads);
    std::vector<int64_t> launched(t_.threads.size(), 0);
    for (const CallDraft& d : drafts_) {
      if (d.node != kNone) launched[finder.Of(d.node)] += d.kernels;
    }
    std::vector<uint32_t> threads(t_.threads.size());
    for (uint32_t i = 0; i < threads.size(); ++i) threads[i] = i;
    std::stable_sort(threads.begin(), threads.end(), [&](uint32_t a, uint32_t b) {
      const int32_t ra = RankOf(t_.threads[a].thread), rb = RankOf(t_.threads[b].thread);
      return ra != rb ? ra < rb : launched[a] > launched[b];
    });
    std::vector<uint32_t> out(threads.size(), 0);
    for (uint32_t lane = 0; lane < threads.size(); ++lane) out[threads[lane]] = lane;
    return out;
  }

  // Each kind of draft is nearly in order: it is sorted only if needed, then merged. Work of one graph
  // launch has one node and is ordered by time.
  std::vector<Place> Places() {
    const std::vector<uint32_t> lane_of_thread = LaneOfThreads();
    const auto threads = static_cast<uint32_t>(lane_of_thread.size());
    ThreadFinder finder(t_.threads);
    std::vector<Place> places;
    places.reserve(drafts_.size());
    for (uint32_t i = 0; i < drafts_.size(); ++i) {
      const CallDraft& d = drafts_[i];
      const uint32_t lane = d.node == kNone ? threads + w_.stream[d.work] : lane_of_thread[finder.Of(d.node)];
      places.push_back({static_cast<uint64_t>(lane) << 32 | (d.node == kNone ? d.work : d.node), d.work, i});
    }
    const auto at = [&](size_t i) { return places.begin() + static_cast<ptrdiff_t>(i); };
    const auto sort = [](auto from, auto to) {
      if (!std::is_sorted(from, to)) std::sort(from, to);
    };
    sort(at(0), at(leaves_));
    sort(at(leaves_), at(works_));
    sort(at(works_), places.end());
    std::inplace_merge(at(0), at(leaves_), at(works_));
    std::inplace_merge(at(0), at(works_), places.end());
    return places;
  }

  void Order() {
    const std::vector<Place> places = Places();
    Reserve(places.size() + 1);
    std::vector<uint32_t> rank(places.size());
    uint32_t lane_before = kNone, node_before = kNone;
    for (const Place& place : places) {
      const CallDraft& d = drafts_[place.draft];
      const auto at = static_cast<uint32_t>(out_.calls.size());
      rank[place.draft] = at;
      const auto lane =
          static_cast<uint32_t>(place.key >> 32);  // stored as the segment until the segments are cut
      out_.calls.push_back({types_.Of(d), d.node, d.work == kNone ? kNone : w_.row[d.work], lane});
      out_.start_ns.push_back(d.start_ns);
      out_.end_ns.push_back(d.end_ns);
      const bool spans = d.kind == CallKind::kKernel && d.node != kNone;
      out_.span_ns.push_back(spans ? h_.end_ns[d.node] - h_.start_ns[d.node] : 0);
      const bool follows = d.node != kNone && node_before != kNone && lane == lane_before;
      out_.elapsed_ns.push_back(follows ? std::max<int64_t>(0, h_.end_ns[d.node] - h_.end_ns[node_before])
                                        : 0);
      lane_before = lane;
      node_before = d.node;
      if (d.work == kNone) own_.push_back({d.node, at});
    }
    out_.costs.resize(out_.calls.size());
    for (uint32_t& at : call_of_work_) at = rank[at];
    std::vector<CallDraft>().swap(drafts_);
  }

  void Reserve(size_t calls) {
    out_.calls.reserve(calls);
    out_.costs.reserve(calls);
    for (auto* column : {&out_.start_ns, &out_.end_ns, &out_.span_ns, &out_.elapsed_ns})
      column->reserve(calls);
  }

  int32_t RankOf(ThreadId thread) const {
    const auto at = static_cast<size_t>(thread);
    if (IsNull(thread) || at >= data_.thread.process_id.size()) return -1;
    const ProcessId process = data_.thread.process_id[at];
    if (IsNull(process) || static_cast<size_t>(process) >= data_.process.rank.size()) return -1;
    return data_.process.rank[static_cast<size_t>(process)];
  }

  void AddCall(const Call& call, int64_t start_ns, int64_t end_ns) {
    out_.calls.push_back(call);
    out_.costs.emplace_back();
    out_.start_ns.push_back(start_ns);
    out_.end_ns.push_back(end_ns);
    out_.span_ns.push_back(0);
    out_.elapsed_ns.push_back(0);
  }

  void AddEnd() {
    AddOutside(CallKind::kAround, "around the work");
    AddOutside(CallKind::kEnd, "end of the run");
  }

  // A call that the program did not make; equal in all runs.
  void AddOutside(CallKind kind, std::string_view token) {
    CallType type;
    type.kind = kind;
    type.token = type.related_hash = HashText(token);
    out_.types.push_back(type);
    AddCall({static_cast<uint32_t>(out_.types.size() - 1), kNone, kNone, kEndLane}, 0, 0);
  }

  // ---- without device work ----
  static bool IsTold(const HostTree& h, uint32_t node) {
    return node != kNone && (h.kind[node] == HostKind::kOp || h.kind[node] == HostKind::kApi);
  }

  void AddHostCalls() {
    size_t busiest = 0;
    int64_t most = -1;
    std::vector<HostSegments> threads;
    for (const TimelineFacts::HostThread& thread : t_.threads) {
      threads.push_back(CutThread(h_, thread.first, thread.last));
      int64_t recorded = 0;
      threads.back().Visit(t_.first_start_ns, t_.last_end_ns,
                           [&](uint32_t owner, int64_t ns) { recorded += owner == kNone ? 0 : ns; });
      if (recorded > most) busiest = threads.size() - 1, most = recorded;
    }
    if (threads.empty()) {  // CPU samples alone: all their time is the host's, and of no call
      AddEnd();
      out_.costs.back().on_host_ns += t_.wall_ns();
      return;
    }
    int64_t waiting = 0;
    threads[busiest].Visit(t_.first_start_ns, t_.last_end_ns, [&](uint32_t owner, int64_t ns) {
      if (!IsTold(h_, owner)) {
        waiting += ns;
        return;
      }
      if (out_.calls.empty() || out_.calls.back().node != owner)
        AddCall({types_.OfHost(owner), owner, kNone, 0}, h_.start_ns[owner], h_.end_ns[owner]);
      out_.span_ns.back() += ns;
      out_.costs.back().on_host_ns += ns + waiting;
      waiting = 0;
    });
    AddEnd();
    out_.costs.back().on_host_ns += waiting;
  }

  // ---- names ----
  void NameModules() {
    const auto copy = [](const program::NameTable& from, size_t count, std::vector<std::string>& to) {
      for (uint32_t i = 0; i < count; ++i) to.push_back(from.Text(i));
    };
    uint32_t modules = 0, stages = 0;
    for (const CallType& c : out_.types) {
      if (c.module != kNone) modules = std::max(modules, c.module + 1);
      if (c.stage != kNone) stages = std::max(stages, c.stage + 1);
    }
    copy(program_.modules, modules, out_.modules);
    copy(program_.stages, stages, out_.stages);
    NameStages();
  }

  // Without a labelled stage, the label of the segment is the place.
  void NameStages() {
    std::unordered_map<uint64_t, uint32_t> at;
    FlatMap placed;  // types with a stage, by type and stage
    for (const Segment& s : out_.segments) {
      if (s.name.empty() || s.lane == kEndLane) continue;
      for (uint32_t i = s.first; i < s.last; ++i) {
        Call& c = out_.calls[i];
        if (out_.types[c.type].stage != kNone || IsOutside(out_.types[c.type].kind)) continue;
        const auto [it, added] = at.try_emplace(s.label, static_cast<uint32_t>(out_.stages.size()));
        if (added) out_.stages.push_back(s.name);
        const auto next = static_cast<uint32_t>(out_.types.size());
        const uint32_t type = placed.FindOrPut(MixedPair(c.type, it->second), next);
        if (type == next) {
          out_.types.push_back(CallType(out_.types[c.type]));
          out_.types.back().stage = it->second;
        }
        c.type = type;
      }
    }
  }

  Status Check() const {
    int64_t sum = 0;
    for (const Costs& c : out_.costs) sum += c.total_ns();
    if (sum == out_.parts * out_.wall_ns) return {};
    return Internal(
        fmt::format("the calls of a run cost {} ns, its wall is {} x {} ns", sum, out_.parts, out_.wall_ns));
  }

  const RunData& data_;
  const TimelineFacts& t_;
  const HostTree& h_;
  const DeviceWork& w_;
  const IdleFacts* idle_;
  const CallSequenceOptions& options_;
  CallSequence& out_;
  program::Program program_;
  ApiKinds kinds_;
  CallTypes types_;
  std::vector<CallDraft> drafts_;       // operators with work, work without an operator, API calls
  size_t leaves_ = 0, works_ = 0;       // where the second and third kind begin
  std::vector<uint32_t> call_of_work_;  // a draft, then a call
  std::vector<CostInput::Own> own_;
};

// The timeline without the work that `background` threads launched.
TimelineFacts Without(const TimelineFacts& all, const std::vector<ThreadId>& background, CallSequence& out) {
  TimelineFacts kept = all;
  DeviceWork& to = kept.work;
  size_t n = 0;
  int64_t longest = -1;
  for (size_t i = 0; i < all.work.size(); ++i) {
    const uint32_t launch = all.work.launch[i];
    if (launch != kNone && IsBackground(background, all.host.thread[launch])) {
      const int64_t ns = all.work.end_ns[i] - all.work.start_ns[i];
      out.background_ns += ns;
      if (ns > longest && all.work.kind[i] == WorkKind::kKernel) {
        longest = ns;
        out.background_kernel = all.KernelNameOf(all.work.name[i]).short_name;
      }
      continue;
    }
    const auto keep = [&](auto& column) { column[n] = column[i]; };
    keep(to.start_ns), keep(to.end_ns), keep(to.kind), keep(to.work), keep(to.row), keep(to.device);
    keep(to.stream), keep(to.name), keep(to.launch), keep(to.op);
    ++n;
  }
  const auto cut = [n](auto& column) { column.resize(n); };
  cut(to.start_ns), cut(to.end_ns), cut(to.kind), cut(to.work), cut(to.row), cut(to.device);
  cut(to.stream), cut(to.name), cut(to.launch), cut(to.op);
  return kept;
}

}  // namespace

Result<CallSequence> BuildCallSequence(Analysis& run, const CallSequenceOptions& options) {
  CallSequence out;
  NL_ASSIGN(const TimelineFacts* timeline, run.Need<TimelineFacts>());
  if (options.background.empty()) {
    NL_ASSIGN(const IdleFacts* idle, run.Need<IdleFacts>());
    NL_TRY(Builder(run, *timeline, idle, options, out).Build());
    return out;
  }
  FactBoard facts;
  facts.Put(Without(*timeline, options.background, out));
  NL_TRY(run.RunOver(AccountingFacts::kName, facts));
  NL_TRY(run.RunOver(IdleFacts::kName, facts));
  NL_TRY(Builder(run, facts.Get<TimelineFacts>(), &facts.Get<IdleFacts>(), options, out).Build());
  return out;
}

}  // namespace nl::compare
