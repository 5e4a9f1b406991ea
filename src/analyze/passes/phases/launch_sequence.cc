// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/phases/launch_sequence.h"

#include <algorithm>

#include "base/flat_map.h"
#include "model/api_kind.h"

namespace nl::passes::phases {

namespace {

constexpr size_t kMostThreads = 4;  // that take turns

// By thread id + 1: position in TimelineFacts::threads.
std::vector<uint32_t> ThreadPositions(const TimelineFacts& t) {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < t.threads.size(); ++i) {
    const ThreadId id = t.threads[i].thread;
    const size_t at = IsNull(id) ? 0 : static_cast<size_t>(static_cast<int32_t>(id)) + 1;
    if (at >= out.size()) out.resize(at + 1, kNone);
    out[at] = i;
  }
  return out;
}

// Work launched by each thread.
std::vector<size_t> LaunchedBy(const TimelineFacts& t) {
  const std::vector<uint32_t> position = ThreadPositions(t);
  std::vector<size_t> out(t.threads.size(), 0);
  for (const uint32_t launch : t.work.launch) {
    if (launch == kNone) continue;
    const ThreadId id = t.host.thread[launch];
    ++out[position[IsNull(id) ? 0 : static_cast<size_t>(static_cast<int32_t>(id)) + 1]];
  }
  return out;
}

class SequenceBuilder {
 public:
  SequenceBuilder(const RunData& data, const TimelineFacts& t, const MainLane& lane)
      : data_(data), t_(t), h_(t.host), w_(t.work), lane_(lane), api_kinds_(data.strings) {
    of_name_.assign(data.strings->size() + 1, kNone);
  }

  LaunchSequence Build() {
    if (lane_.thread == kNone) {
      OfStream();
      return std::move(out_);
    }
    const std::vector<uint32_t> threads = ThreadsThatMayTakeTurns();
    CollectLaunched(threads);
    std::vector<uint32_t> calls = CallsOf(lane_.thread);
    if (threads.size() > 1) MergeTurns(threads, calls);
    size_t works = 0;
    out_.Reserve(calls.size());
    for (const uint32_t node : calls) {
      AddCall(node);
      works += launched_[node - base_].works;
    }
    out_.share = static_cast<double>(works) / static_cast<double>(process_works_);
    return std::move(out_);
  }

 private:
  struct Launched {
    uint32_t works = 0, kernels = 0;
    uint32_t first = kNone;
    uint64_t names = 0;  // sum of hashes: streams of a graph may run in any order
  };

  uint32_t ProcessOfThread(uint32_t position) const {
    const ThreadId id = t_.threads[position].thread;
    const auto at = static_cast<size_t>(static_cast<int32_t>(id));
    if (IsNull(id) || at >= data_.thread.process_id.size()) return kNone;
    return static_cast<uint32_t>(data_.thread.process_id[at]);
  }

  // The main one and others of its process with at least a tenth of its launches.
  std::vector<uint32_t> ThreadsThatMayTakeTurns() {
    const std::vector<size_t>& launched = lane_.launched;
    std::vector<uint32_t> out = {lane_.thread};
    for (uint32_t i = 0; i < launched.size(); ++i) {
      if (ProcessOfThread(i) != ProcessOfThread(lane_.thread)) continue;
      process_works_ += launched[i];
      if (i != lane_.thread && 10 * launched[i] >= launched[lane_.thread] && out.size() < kMostThreads)
        out.push_back(i);
    }
    return out;
  }

  void CollectLaunched(const std::vector<uint32_t>& threads) {
    base_ = kNone;
    uint32_t last = 0;
    for (const uint32_t thread : threads) {
      base_ = std::min(base_, t_.threads[thread].first);
      last = std::max(last, t_.threads[thread].last);
    }
    launched_.resize(last - base_);
    for (uint32_t i = 0; i < w_.size(); ++i) {
      const uint32_t node = w_.launch[i];
      if (node == kNone || node < base_ || node >= last) continue;
      Launched& l = launched_[node - base_];
      l.kernels += w_.kind[i] == WorkKind::kKernel;
      if (l.works == 1) l.names = HashOf(l.first);  // one alone is known by its name
      if (l.works++ == 0) {
        l.first = i;
      } else {
        l.names += HashOf(i);
      }
    }
  }

  uint64_t HashOf(uint32_t work) const {
    return MixedBits(static_cast<uint32_t>(w_.name[work]) + uint64_t{1});
  }

  // Those that launch, and those that wait without launching, in order.
  std::vector<uint32_t> CallsOf(uint32_t thread) {
    std::vector<uint32_t> out;
    out.reserve(lane_.launched[thread]);
    for (uint32_t node = t_.threads[thread].first; node < t_.threads[thread].last; ++node) {
      if (launched_[node - base_].works > 0 ||
          (h_.kind[node] == HostKind::kApi && api_kinds_.Of(h_.name[node]) == ApiKind::kSync))
        out.push_back(node);
    }
    return out;
  }

  // Threads take turns when the order changes from one to another rarely; else the order of their launches
  // is by chance and only that of one thread repeats.
  void MergeTurns(const std::vector<uint32_t>& threads, std::vector<uint32_t>& calls) {
    std::vector<uint32_t> all = calls;
    const auto earlier = [this](uint32_t a, uint32_t b) { return h_.start_ns[a] < h_.start_ns[b]; };
    for (size_t i = 1; i < threads.size(); ++i) {
      const std::vector<uint32_t> more = CallsOf(threads[i]);
      std::vector<uint32_t> merged(all.size() + more.size());
      std::merge(all.begin(), all.end(), more.begin(), more.end(), merged.begin(), earlier);
      all = std::move(merged);
    }
    size_t turns = 0;
    for (size_t i = 1; i < all.size(); ++i) turns += h_.thread[all[i]] != h_.thread[all[i - 1]];
    if (20 * turns <= all.size()) calls = std::move(all);
  }

  void AddCall(uint32_t node) {
    const Launched& l = launched_[node - base_];
    const bool copy_back = l.works == 1 && IsCopyBack(l.first) && h_.end_ns[node] >= w_.end_ns[l.first];
    out_.Add(TokenOf(node, l), h_.start_ns[node], h_.end_ns[node], l.works == 0 || copy_back);
  }

  bool IsCopyBack(uint32_t work) const {
    return w_.kind[work] == WorkKind::kMemcpy && w_.row[work] < data_.memcpy.kind.size() &&
           data_.Text(data_.memcpy.kind[w_.row[work]]) == "DtoH";
  }

  uint32_t TokenOf(uint32_t node, const Launched& l) {
    const bool graph = l.works > 0 && api_kinds_.Of(h_.name[node]) == ApiKind::kGraphLaunch;
    if (l.works == 1 && !graph) return TokenOfWork(l.first);
    const auto next = static_cast<uint32_t>(out_.kinds.size());
    const uint64_t key =
        l.works == 0 ? MixedPair(0, static_cast<uint32_t>(h_.name[node])) : MixedPair(l.works, l.names);
    const uint32_t token = several_.FindOrPut(key, next);
    if (token == next) out_.kinds.push_back({l.kernels, 0, graph});
    return token;
  }

  uint32_t TokenOfWork(uint32_t work) {
    const StringId name = w_.name[work];
    const size_t at = IsNull(name) ? of_name_.size() - 1 : static_cast<size_t>(name);
    if (of_name_[at] != kNone) return of_name_[at];
    of_name_[at] = static_cast<uint32_t>(out_.kinds.size());
    LaunchSequence::Kind kind;
    if (w_.kind[work] == WorkKind::kKernel) {
      kind.kernels = 1;
      kind.attention = t_.KernelNameOf(name).family == KernelFamily::kAttention;
    }
    out_.kinds.push_back(kind);
    return of_name_[at];
  }

  void OfStream() {
    size_t works = 0;
    for (uint32_t i = 0; i < w_.size(); ++i) {
      works += w_.device[i] == lane_.device;
      if (w_.stream[i] == lane_.stream) out_.Add(TokenOfWork(i), w_.start_ns[i], w_.end_ns[i], false);
    }
    out_.share = static_cast<double>(out_.size()) / static_cast<double>(works);
  }

  const RunData& data_;
  const TimelineFacts& t_;
  const HostTree& h_;
  const DeviceWork& w_;
  const MainLane& lane_;
  ApiKinds api_kinds_;
  LaunchSequence out_;
  std::vector<uint32_t> of_name_;   // tokens of single kernels and copies, by name; null is the last
  FlatMap several_;                 // tokens of graphs and of waits
  size_t process_works_ = 0;        // launched by all threads of the process
  uint32_t base_ = 0;               // node of launched_[0]
  std::vector<Launched> launched_;  // by host node
};

}  // namespace

MainLane FindMainLane(const TimelineFacts& t) {
  MainLane out;
  if (t.work.size() == 0) return out;
  const auto linked =
      t.work.size() - static_cast<size_t>(std::count(t.work.launch.begin(), t.work.launch.end(), kNone));
  ThreadId thread = ThreadId::kNull;
  if (2 * linked >= t.work.size()) {
    out.launched = LaunchedBy(t);
    out.thread = static_cast<uint32_t>(std::max_element(out.launched.begin(), out.launched.end()) -
                                       out.launched.begin());
    thread = t.threads[out.thread].thread;
  }
  std::vector<double> busy_ns(t.streams.size(), 0);  // hostile times do not fit into an integer
  for (size_t i = 0; i < t.work.size(); ++i) {
    const uint32_t launch = t.work.launch[i];
    if (out.thread == kNone || (launch != kNone && t.host.thread[launch] == thread))
      busy_ns[t.work.stream[i]] += static_cast<double>(t.work.end_ns[i] - t.work.start_ns[i]);
  }
  out.stream = static_cast<uint32_t>(std::max_element(busy_ns.begin(), busy_ns.end()) - busy_ns.begin());
  out.device = t.streams[out.stream].device;
  return out;
}

void LaunchSequence::Reserve(size_t calls) {
  token.reserve(calls);
  start_ns.reserve(calls);
  end_ns.reserve(calls);
  waits.reserve(calls);
}

void LaunchSequence::Add(uint32_t of, int64_t start, int64_t end, bool wait) {
  token.push_back(of);
  start_ns.push_back(start);
  end_ns.push_back(end);
  waits.push_back(wait);
}

LaunchSequence BuildLaunchSequence(const RunData& data, const TimelineFacts& timeline, const MainLane& lane) {
  return lane.stream == kNone ? LaunchSequence() : SequenceBuilder(data, timeline, lane).Build();
}

}  // namespace nl::passes::phases
