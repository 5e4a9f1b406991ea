// SPDX-License-Identifier: Apache-2.0
// Hand-overs between host threads. No profiler records that the main thread waits for the autograd thread,
// but their pauses show it: what one does lies wholly inside a pause of the other.

#include <algorithm>
#include <limits>

#include "analyze/waits/path_graph.h"

namespace nl {

namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

// A stretch in which a thread did something that was recorded.
struct Burst {
  int64_t start_ns, end_ns;
  int64_t before_ns;  // end of the burst before on the thread
  int64_t after_ns;   // start of the next one
  uint32_t thread;
};

// Python frames in which a thread only waits for another.
bool IsWaiting(std::string_view name) {
  for (const std::string_view part : {"run_backward", "method acquire of _thread", "method wait of "}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  // threading.py(359): wait
  return name.substr(0, 13) == "threading.py(" && name.size() > 18 &&
         name.substr(name.size() - 6) == ": wait";
}

class HandoverFinder {
 public:
  HandoverFinder(const TimelineFacts& timeline, const RunData& data)
      : host_(timeline.host), timeline_(timeline), data_(data) {}

  std::vector<Handover> Find(const std::vector<uint32_t>& threads) {
    for (const uint32_t t : threads) Collect(t);
    if (bursts_.empty()) return {};
    const auto n = static_cast<uint32_t>(bursts_.size());
    std::vector<uint32_t> by_start(n), by_end(n);
    for (uint32_t i = 0; i < n; ++i) by_start[i] = by_end[i] = i;
    Merge(by_start, [&](uint32_t a, uint32_t b) { return bursts_[a].start_ns < bursts_[b].start_ns; });
    Merge(by_end, [&](uint32_t a, uint32_t b) { return bursts_[a].end_ns < bursts_[b].end_ns; });
    std::vector<Handover> out;
    size_t ended = 0;
    for (const uint32_t i : by_start) {
      const Burst& b = bursts_[i];
      while (ended < n && bursts_[by_end[ended]].end_ns < b.start_ns) ++ended;
      if (b.before_ns == NullOf<int64_t>::value && Spawn(i, out)) continue;
      if (ended == 0) continue;
      const Burst& last = bursts_[by_end[ended - 1]];
      const bool joined = last.start_ns >= b.before_ns, forked = last.after_ns >= b.end_ns;
      if (last.thread != b.thread && last.end_ns > b.before_ns && (joined || forked))
        out.push_back({last.thread, b.thread, last.end_ns, b.start_ns});
    }
    return out;
  }

 private:
  bool Waits(StringId name) {
    const auto id = static_cast<size_t>(name);
    if (IsNull(name)) return false;
    if (id >= waits_.size()) waits_.resize(id + 1, -1);
    if (waits_[id] < 0) waits_[id] = IsWaiting(data_.Text(name)) ? 1 : 0;
    return waits_[id] == 1;
  }

  void Add(uint32_t thread, int64_t start_ns, int64_t end_ns) {
    const bool first = bursts_.size() == thread_first_.back();
    // A thread begins with its first span of any kind.
    start_ns =
        first ? host_.start_ns[timeline_.threads[thread].first] : std::max(start_ns, bursts_.back().end_ns);
    if (end_ns <= start_ns) return;
    if (!first && bursts_.back().end_ns == start_ns) {
      bursts_.back().end_ns = end_ns;
      return;
    }
    if (!first) bursts_.back().after_ns = start_ns;
    bursts_.push_back(
        {start_ns, end_ns, first ? NullOf<int64_t>::value : bursts_.back().end_ns, kForever, thread});
  }

  // Ranges say what a thread was about, not that it did anything: only what is inside of them counts.
  void Collect(uint32_t t) {
    thread_first_.push_back(bursts_.size());
    const auto& thread = timeline_.threads[t];
    for (uint32_t node = thread.first; node < thread.last;) {
      if (host_.kind[node] == HostKind::kRange) {
        ++node;
        continue;
      }
      int64_t from_ns = host_.start_ns[node];
      const uint32_t last = host_.last[node];
      for (uint32_t inner = node; inner < last; ++inner) {
        if (host_.kind[inner] != HostKind::kPython || host_.last[inner] != inner + 1 ||
            !Waits(host_.name[inner]))
          continue;
        Add(t, from_ns, host_.start_ns[inner]);
        from_ns = host_.end_ns[inner];
      }
      Add(t, from_ns, host_.end_ns[node]);
      node = last;
    }
  }

  // Each thread's bursts are in order already.
  template <class Less>
  void Merge(std::vector<uint32_t>& v, const Less& less) {
    for (size_t k = 1; k < thread_first_.size(); ++k) {
      const auto middle = v.begin() + static_cast<ptrdiff_t>(thread_first_[k]);
      const auto end =
          k + 1 < thread_first_.size() ? v.begin() + static_cast<ptrdiff_t>(thread_first_[k + 1]) : v.end();
      std::inplace_merge(v.begin(), middle, end, less);
    }
  }

  // The first burst of a thread while another thread is busy: that one is taken to have woken it.
  bool Spawn(uint32_t i, std::vector<Handover>& out) const {
    const Burst& b = bursts_[i];
    uint32_t best = kNone;
    for (size_t k = 0; k < thread_first_.size(); ++k) {
      const auto first = bursts_.begin() + static_cast<ptrdiff_t>(thread_first_[k]);
      const auto last = k + 1 < thread_first_.size()
                            ? bursts_.begin() + static_cast<ptrdiff_t>(thread_first_[k + 1])
                            : bursts_.end();
      if (first == last || first->thread == b.thread) continue;
      const auto at =
          std::partition_point(first, last, [&](const Burst& x) { return x.start_ns < b.start_ns; });
      if (at == first || (at - 1)->end_ns < b.start_ns) continue;
      if (best == kNone || first->start_ns < bursts_[best].start_ns)
        best = static_cast<uint32_t>(first - bursts_.begin());
    }
    if (best == kNone) return false;
    out.push_back({bursts_[best].thread, b.thread, b.start_ns - 1, b.start_ns});
    return true;
  }

  const HostTree& host_;
  const TimelineFacts& timeline_;
  const RunData& data_;
  std::vector<Burst> bursts_;         // by thread, then start
  std::vector<size_t> thread_first_;  // in bursts_
  std::vector<int8_t> waits_;         // by string; -1: not asked yet
};

}  // namespace

std::vector<Handover> FindHandovers(const TimelineFacts& timeline, const RunData& data,
                                    const std::vector<uint32_t>& threads) {
  if (threads.size() < 2) return {};
  return HandoverFinder(timeline, data).Find(threads);
}

}  // namespace nl
