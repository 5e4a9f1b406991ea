// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/trail.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/compare/op_types.h"
#include "analyze/compare/segments.h"
#include "analyze/facts/accounting.h"
#include "analyze/feature_parts.h"
#include "analyze/host_segments.h"

namespace nl::compare {

uint64_t HashText(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull ^ text.size();
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h ^ (h >> 29);
}

namespace {

// Hashes of texts by id, worked out when first asked for.
class TextHashes {
 public:
  explicit TextHashes(const RunData& data) : data_(data), hash_(data.strings->size(), 0) {}
  uint64_t Of(StringId id) {
    if (IsNull(id)) return 0;
    uint64_t& h = hash_[static_cast<size_t>(id)];
    if (h == 0) h = HashText(data_.Text(id)) | 1;
    return h;
  }

 private:
  const RunData& data_;
  std::vector<uint64_t> hash_;
};

bool IsBackground(const std::vector<ThreadId>& background, ThreadId thread) {
  return std::find(background.begin(), background.end(), thread) != background.end();
}

class Builder {
 public:
  Builder(Analysis& run, const TimelineFacts& timeline, const IdleFacts* idle, const TrailOptions& options,
          Trail& out)
      : data_(run.data()),
        t_(timeline),
        h_(timeline.host),
        w_(timeline.work),
        idle_(idle),
        options_(options),
        out_(out),
        program_(run.data(), timeline),
        kinds_(run.data()),
        texts_(run.data()),
        op_types_(run.data()) {
    out_.run = &run;
  }

  Status Build() {
    program_.Build();
    features::InferBlocks(program_);
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
      AddBusy();
      AddIdle();
    }
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

  // ---- calls ----
  void AddWorkCalls() {
    call_of_work_.assign(w_.size(), kNone);
    out_.calls.reserve(w_.size() + w_.size() / 8);
    std::vector<uint32_t> call_of_op(h_.size(), kNone);
    for (const features::LeafOp& leaf : program_.leaves) {
      call_of_op[leaf.node] = static_cast<uint32_t>(out_.calls.size());
      Call& call = out_.calls.emplace_back();
      call.node = leaf.node;
      call.work = leaf.work;
      call.module = program_.ModuleOf(leaf);
      call.family = leaf.family;
      NameOp(call);
    }
    for (uint32_t i = 0; i < w_.size(); ++i) {
      uint32_t at = w_.op[i] == kNone ? kNone : call_of_op[w_.op[i]];
      if (at == kNone) {
        at = static_cast<uint32_t>(out_.calls.size());
        Call& call = out_.calls.emplace_back();
        call.node = w_.launch[i];
        call.work = i;
        if (w_.kind[i] == WorkKind::kKernel) call.family = KernelOf(i).family;
        if (call.node != kNone) call.module = program_.module_of[call.node];
      }
      call_of_work_[i] = at;
      AddWork(out_.calls[at], i);
    }
    for (Call& call : out_.calls) FinishWorkCall(call);
  }

  void NameOp(Call& call) {
    call.op = h_.name[call.node];
    const std::string_view type = op_types_.Of(call.op);
    call.op_hash = type.empty() ? texts_.Of(call.op) : HashText(type) | 1;
    const uint32_t row = h_.row[call.node];
    const auto text = [row](const std::vector<StringId>& column) {
      return row < column.size() ? column[row] : StringId::kNull;
    };
    call.dims = text(data_.op.input_dims);
    call.types = text(data_.op.input_types);
    call.shape_hash = texts_.Of(call.dims);
    call.type_hash = texts_.Of(call.types);
    call.token = TokenOf(call, row);
  }

  // Operator and the widths that belong to the model, not to the input.
  uint64_t TokenOf(const Call& call, uint32_t row) {
    const uint64_t key = HashPair(static_cast<uint64_t>(call.op), static_cast<uint64_t>(call.dims));
    const auto [it, added] = tokens_.try_emplace(key);
    if (!added) return it->second;
    const features::OpInputs& inputs = program_.InputsOf(row);
    uint64_t token = call.op_hash;
    const features::GemmShape gemm = features::GemmShapeOf(data_.Text(call.op), inputs);
    if (gemm.n > 0 && gemm.batch == 1) {
      token = HashPair(token, HashPair(static_cast<uint64_t>(gemm.n), static_cast<uint64_t>(gemm.k)));
    } else if (!inputs.dims.empty()) {
      token = HashPair(token, HashPair(inputs.dims[0].size(), static_cast<uint64_t>(inputs.LastDim(0))));
    }
    return it->second = token;
  }

  const KernelName& KernelOf(uint32_t work) const { return t_.KernelNameOf(w_.name[work]); }

  // Copies are known by their kind, kernels by the name that all tools spell alike.
  uint64_t WorkHash(uint32_t work) {
    const auto [it, added] = work_names_.try_emplace(static_cast<uint32_t>(w_.name[work]));
    if (added) {
      it->second = HashText(w_.kind[work] == WorkKind::kKernel ? std::string_view(KernelOf(work).normalized)
                                                               : data_.Text(w_.name[work]));
    }
    return it->second;
  }

  // The first two words of a kernel's short name: what it computes, not how.
  uint64_t KinOf(uint32_t work) {
    const auto [it, added] = kins_.try_emplace(static_cast<uint32_t>(w_.name[work]));
    if (added) {
      const std::string& name = KernelOf(work).short_name;
      const size_t first = name.find(' ');
      it->second = HashText(name.substr(0, first == std::string::npos ? first : name.find(' ', first + 1)));
    }
    return it->second;
  }

  void AddWork(Call& call, uint32_t work) {
    call.start_ns = call.kernels == 0 ? w_.start_ns[work] : std::min(call.start_ns, w_.start_ns[work]);
    call.end_ns = call.kernels == 0 ? w_.end_ns[work] : std::max(call.end_ns, w_.end_ns[work]);
    ++call.kernels;
    call.kernel_hash = HashPair(call.kernel_hash, WorkHash(work));
    if (w_.kind[work] == WorkKind::kMemcpy) {
      const int64_t bytes = data_.memcpy.bytes[w_.row[work]];
      if (!IsNull(bytes)) call.bytes += bytes;
    }
    if (w_.kind[work] == WorkKind::kKernel && !IsNull(data_.kernel.graph_id[w_.row[work]]))
      call.graph = data_.kernel.graph_id[w_.row[work]] != 0;
  }

  void FinishWorkCall(Call& call) {
    const WorkKind kind = w_.kind[call.work];
    call.kind = kind == WorkKind::kKernel   ? CallKind::kKernel
                : kind == WorkKind::kMemcpy ? CallKind::kCopy
                                            : CallKind::kMemset;
    call.kernel = w_.name[call.work];
    call.row = w_.row[call.work];
    if (call.kind != CallKind::kKernel) call.family = KernelFamily::kCopy;
    if (call.node != kNone) {
      call.stage = program_.stage_of[call.node];
      if (kind == WorkKind::kKernel) call.span_ns = h_.end_ns[call.node] - h_.start_ns[call.node];
    }
    call.kin = HashPair(call.op_hash, static_cast<uint64_t>(call.kind));
    if (call.op_hash == 0) {
      call.token = HashPair(call.kernel_hash, 1);
      call.kin = kind == WorkKind::kKernel ? KinOf(call.work) : call.token;
    }
    if (call.shape_hash == 0 && kind == WorkKind::kKernel) {
      const uint32_t row = w_.row[call.work];
      call.shape_hash = HashPair(HashPair(static_cast<uint64_t>(data_.kernel.grid_x[row]),
                                          static_cast<uint64_t>(data_.kernel.grid_y[row])),
                                 static_cast<uint64_t>(data_.kernel.grid_z[row]));
    }
  }

  // Calls that wait or allocate: part of the program even when they cost nothing.
  void AddApiCalls() {
    call_of_node_.assign(h_.size(), kNone);
    for (uint32_t i = 0; i < h_.size(); ++i) {
      if (h_.kind[i] != HostKind::kApi || IsBackground(options_.background, h_.thread[i])) continue;
      const ApiKind kind = kinds_.Of(h_.name[i]);
      const bool sync = kind == ApiKind::kSync;
      if (!sync && kind != ApiKind::kAlloc && kind != ApiKind::kBlockingFree) continue;
      Call& call = out_.calls.emplace_back();
      call.kind = sync ? CallKind::kSync : CallKind::kAlloc;
      call.op = h_.name[i];
      call.op_hash = texts_.Of(call.op);
      call.token = call.kin = HashPair(call.op_hash, 2);
      call.node = i;
      call.start_ns = h_.start_ns[i];
      call.end_ns = h_.end_ns[i];
      call.module = program_.module_of[i];
      call.stage = program_.stage_of[i];
    }
  }

  void Order() {
    std::vector<int64_t> launched(t_.threads.size(), 0);
    std::unordered_map<int32_t, uint32_t> thread_at;
    for (uint32_t i = 0; i < t_.threads.size(); ++i)
      thread_at[static_cast<int32_t>(t_.threads[i].thread)] = i;
    for (const Call& c : out_.calls) {
      if (c.node != kNone) launched[thread_at.at(static_cast<int32_t>(h_.thread[c.node]))] += c.kernels;
    }
    // Ranks stay in their order; inside of one, the thread that launches most comes first.
    std::vector<uint32_t> threads(t_.threads.size());
    for (uint32_t i = 0; i < threads.size(); ++i) threads[i] = i;
    std::stable_sort(threads.begin(), threads.end(), [&](uint32_t a, uint32_t b) {
      const int32_t ra = RankOf(t_.threads[a].thread), rb = RankOf(t_.threads[b].thread);
      return ra != rb ? ra < rb : launched[a] > launched[b];
    });
    lane_of_thread_.assign(threads.size(), 0);
    for (uint32_t lane = 0; lane < threads.size(); ++lane) lane_of_thread_[threads[lane]] = lane;
    const auto lane = [&](const Call& c) {
      return c.node == kNone ? static_cast<uint32_t>(threads.size()) + w_.stream[c.work]
                             : lane_of_thread_[thread_at.at(static_cast<int32_t>(h_.thread[c.node]))];
    };
    std::vector<uint32_t> order(out_.calls.size()), rank(out_.calls.size());
    std::vector<uint64_t> key(out_.calls.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      const Call& c = out_.calls[i];
      key[i] = static_cast<uint64_t>(lane(c)) << 32 | (c.node == kNone ? c.work : c.node);
    }
    // Work of one graph launch has one node: by time.
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return key[a] != key[b] ? key[a] < key[b] : out_.calls[a].work < out_.calls[b].work;
    });
    std::vector<Call> sorted;
    sorted.reserve(order.size() + 1);
    for (uint32_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = i;
      sorted.push_back(out_.calls[order[i]]);
      sorted.back().segment = static_cast<uint32_t>(key[order[i]] >> 32);  // the lane, until segments are cut
    }
    out_.calls = std::move(sorted);
    for (uint32_t i = 1; i < out_.calls.size(); ++i) {
      Call& call = out_.calls[i];
      const Call& before = out_.calls[i - 1];
      if (call.node == kNone || before.node == kNone || call.segment != before.segment) continue;
      call.elapsed_ns = std::max<int64_t>(0, h_.end_ns[call.node] - h_.end_ns[before.node]);
    }
    for (uint32_t& at : call_of_work_) at = rank[at];
    for (uint32_t i = 0; i < out_.calls.size(); ++i) {
      const Call& c = out_.calls[i];
      if (c.kind == CallKind::kSync || c.kind == CallKind::kAlloc) call_of_node_[c.node] = i;
    }
  }

  int32_t RankOf(ThreadId thread) const {
    const auto at = static_cast<size_t>(thread);
    if (IsNull(thread) || at >= data_.thread.process_id.size()) return -1;
    const ProcessId process = data_.thread.process_id[at];
    if (IsNull(process) || static_cast<size_t>(process) >= data_.process.rank.size()) return -1;
    return data_.process.rank[static_cast<size_t>(process)];
  }

  void AddEnd() {
    Call& end = out_.calls.emplace_back();
    end.kind = CallKind::kEnd;
    end.token = end.kin = HashText("end of the run");
    end.segment = kEndLane;
  }

  // ---- costs ----
  void AddBusy() {
    for (uint32_t device = 0; device < t_.devices.size(); ++device) {
      std::vector<Interval> covered;  // by the classes before
      for (size_t c = 0; c < kWorkClasses; ++c) AddBusyOf(device, static_cast<WorkClass>(c), covered);
    }
  }

  void AddBusyOf(uint32_t device, WorkClass work, std::vector<Interval>& covered) {
    std::vector<Interval> mine;
    int64_t until = INT64_MIN;
    size_t c = 0;
    for (uint32_t i = 0; i < w_.size(); ++i) {
      if (w_.device[i] != device || w_.work[i] != work) continue;
      int64_t from = std::max(w_.start_ns[i], until);
      const int64_t to = w_.end_ns[i];
      if (to <= from) continue;
      until = to;
      mine.push_back({from, to});
      Costs& costs = out_.calls[call_of_work_[i]].costs;
      while (c > 0 && covered[c - 1].end_ns > from) --c;
      while (c < covered.size() && covered[c].end_ns <= from) ++c;
      for (size_t k = c; from < to; ++k) {
        const int64_t open_until = k < covered.size() ? std::min(covered[k].start_ns, to) : to;
        if (open_until > from) costs[CostClass::kBusy] += open_until - from;
        if (k >= covered.size()) break;
        from = std::max(from, covered[k].end_ns);
      }
    }
    covered.insert(covered.end(), mine.begin(), mine.end());
    MergeIntervals(covered);
  }

  void AddIdle() {
    std::unordered_map<int32_t, uint32_t> thread_at;
    for (uint32_t i = 0; i < t_.threads.size(); ++i)
      thread_at[static_cast<int32_t>(t_.threads[i].thread)] = i;
    std::vector<HostSegments> segments(t_.threads.size());
    std::vector<uint32_t> last_launch(t_.devices.size(), kNone);
    std::vector<int64_t> last_end(t_.devices.size(), INT64_MIN);
    for (uint32_t i = 0; i < w_.size(); ++i) {
      if (w_.end_ns[i] < last_end[w_.device[i]]) continue;
      last_end[w_.device[i]] = w_.end_ns[i];
      last_launch[w_.device[i]] = w_.launch[i];
    }
    for (const IdleFacts::Gap& gap : idle_->gaps) {
      const auto end = static_cast<uint32_t>(out_.calls.size() - 1);
      const uint32_t call = gap.next == kNone ? end : call_of_work_[gap.next];
      const uint32_t launch = gap.next == kNone ? last_launch[gap.device] : w_.launch[gap.next];
      Costs& costs = out_.calls[call].costs;
      costs[CostClass::kLaunch] += gap.parts.launch_ns;
      costs[CostClass::kOther] += gap.parts.other_ns;
      if (launch == kNone) {
        costs[CostClass::kSync] += gap.parts.sync_ns;
        costs[CostClass::kUntraced] += gap.parts.host_ns;
        continue;
      }
      const uint32_t thread = thread_at.at(static_cast<int32_t>(h_.thread[launch]));
      HostSegments& host = segments[thread];
      if (host.start_ns.empty()) host = CutThread(h_, t_.threads[thread].first, t_.threads[thread].last);
      const int64_t synced = gap.start_ns + gap.parts.sync_ns;
      host.Visit(gap.start_ns, synced, [&](uint32_t owner, int64_t ns) {
        out_.calls[OwnerCall(owner, call)].costs[CostClass::kSync] += ns;
      });
      host.Visit(synced, synced + gap.parts.host_ns, [&](uint32_t owner, int64_t ns) {
        const uint32_t of = OwnerCall(owner, call);
        out_.calls[of].costs[of == call ? HostClass(owner) : CostClass::kSync] += ns;
      });
    }
  }

  // A blocking or allocating call keeps its own time; everything else is on the way to `call`.
  uint32_t OwnerCall(uint32_t owner, uint32_t call) const {
    if (owner == kNone || call_of_node_[owner] == kNone) return call;
    return call_of_node_[owner];
  }
  CostClass HostClass(uint32_t owner) const {
    if (owner == kNone) return CostClass::kUntraced;
    if (h_.kind[owner] == HostKind::kOp) return CostClass::kOp;
    return h_.kind[owner] == HostKind::kApi ? CostClass::kApi : CostClass::kUntraced;
  }

  // ---- without device work ----
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
    if (threads.empty()) return AddEnd();
    Costs waiting;
    threads[busiest].Visit(t_.first_start_ns, t_.last_end_ns, [&](uint32_t owner, int64_t ns) {
      const CostClass c = HostClass(owner);
      if (c == CostClass::kUntraced) {
        waiting[c] += ns;
        return;
      }
      if (out_.calls.empty() || out_.calls.back().node != owner) {
        Call& call = out_.calls.emplace_back();
        call.kind = CallKind::kHost;
        call.node = owner;
        call.start_ns = h_.start_ns[owner];
        call.end_ns = h_.end_ns[owner];
        call.module = program_.module_of[owner];
        call.stage = program_.stage_of[owner];
        if (h_.kind[owner] == HostKind::kOp) {
          NameOp(call);
        } else {
          call.op = h_.name[owner];
          call.op_hash = texts_.Of(call.op);
          call.token = HashPair(call.op_hash, 2);
        }
        call.kin = HashPair(call.op_hash, 3);
        call.segment = 0;
      }
      out_.calls.back().costs[c] += ns;
      out_.calls.back().span_ns += ns;
      out_.calls.back().costs.Add(waiting);
      waiting = {};
    });
    AddEnd();
    out_.calls.back().costs.Add(waiting);
  }

  void NameModules() {
    const auto copy = [](const features::NameTable& from, size_t count, std::vector<std::string>& to) {
      for (uint32_t i = 0; i < count; ++i) to.push_back(from.Text(i));
    };
    uint32_t modules = 0, stages = 0;
    for (const Call& c : out_.calls) {
      if (c.module != kNone) modules = std::max(modules, c.module + 1);
      if (c.stage != kNone) stages = std::max(stages, c.stage + 1);
    }
    copy(program_.modules, modules, out_.modules);
    copy(program_.stages, stages, out_.stages);
    NameStages();
  }

  // Where no stage is labelled, the label of the segment is the place.
  void NameStages() {
    std::unordered_map<uint64_t, uint32_t> at;
    for (Call& c : out_.calls) {
      const Segment& s = out_.segments[c.segment];
      if (c.stage != kNone || s.name.empty() || c.kind == CallKind::kEnd) continue;
      const auto [it, added] = at.try_emplace(s.label, static_cast<uint32_t>(out_.stages.size()));
      if (added) out_.stages.push_back(s.name);
      c.stage = it->second;
    }
  }

  Status Check() const {
    int64_t sum = 0;
    for (const Call& c : out_.calls) sum += c.costs.total_ns();
    if (sum == out_.parts * out_.wall_ns) return {};
    return Internal(
        fmt::format("the calls of a run cost {} ns, its wall is {} x {} ns", sum, out_.parts, out_.wall_ns));
  }

  const RunData& data_;
  const TimelineFacts& t_;
  const HostTree& h_;
  const DeviceWork& w_;
  const IdleFacts* idle_;
  const TrailOptions& options_;
  Trail& out_;
  features::Program program_;
  ApiKinds kinds_;
  TextHashes texts_;
  OpTypes op_types_;
  std::unordered_map<uint64_t, uint64_t> tokens_;
  std::unordered_map<uint32_t, uint64_t> work_names_, kins_;
  std::vector<uint32_t> call_of_work_, call_of_node_, lane_of_thread_;
};

// The timeline without the work that `background` threads launched.
TimelineFacts Without(const TimelineFacts& all, const std::vector<ThreadId>& background, Trail& out) {
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

Status RunPass(std::string_view name, const Analysis& run, FactBoard& facts) {
  for (const auto describe : AllPasses()) {
    if (describe().Info().name == name) return describe().Run(run.data(), run.options(), facts);
  }
  return Internal(fmt::format("no pass is named {}", name));
}

}  // namespace

Result<Trail> BuildTrail(Analysis& run, const TrailOptions& options) {
  Trail out;
  NL_ASSIGN(const TimelineFacts* timeline, run.Need<TimelineFacts>());
  if (options.background.empty()) {
    NL_ASSIGN(const IdleFacts* idle, run.Need<IdleFacts>());
    NL_TRY(Builder(run, *timeline, idle, options, out).Build());
    return out;
  }
  FactBoard facts;
  facts.Put(Without(*timeline, options.background, out));
  NL_TRY(RunPass(AccountingFacts::kName, run, facts));
  NL_TRY(RunPass(IdleFacts::kName, run, facts));
  NL_TRY(Builder(run, facts.Get<TimelineFacts>(), &facts.Get<IdleFacts>(), options, out).Build());
  return out;
}

}  // namespace nl::compare
