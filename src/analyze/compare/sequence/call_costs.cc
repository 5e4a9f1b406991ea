// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/sequence/call_costs.h"

#include <algorithm>

#include "base/intervals.h"

namespace nl::compare {

uint32_t ThreadFinder::Of(uint32_t node) {
  const auto holds = [&](uint32_t at) { return node >= threads_[at].first && node < threads_[at].last; };
  if (holds(last_)) return last_;
  for (uint32_t at = 0; at < threads_.size(); ++at) {
    if (holds(at)) return last_ = at;
  }
  return last_;
}

namespace {

class Sharer {
 public:
  Sharer(const CostInput& in, CallSequence& out)
      : in_(in),
        t_(in.timeline),
        h_(in.timeline.host),
        w_(in.timeline.work),
        out_(out),
        threads_(t_.threads) {}

  void Run() {
    for (uint32_t device = 0; device < t_.devices.size(); ++device) {
      std::vector<Interval> covered;  // by the classes of higher priority
      for (size_t c = 0; c < kWorkClasses; ++c) AddBusy(device, static_cast<WorkClass>(c), covered);
    }
    CutOwn();
    AddIdle();
  }

 private:
  void AddBusy(uint32_t device, WorkClass work, std::vector<Interval>& covered) {
    std::vector<Interval> mine;
    int64_t until = INT64_MIN;
    size_t c = 0;
    const bool last = static_cast<size_t>(work) + 1 == kWorkClasses;
    if (!last && work == WorkClass::kCompute) mine.reserve(w_.size());
    for (uint32_t i = 0; i < w_.size(); ++i) {
      if (w_.work[i] != work || w_.device[i] != device) continue;
      int64_t from = std::max(w_.start_ns[i], until);
      const int64_t to = w_.end_ns[i];
      if (to <= from) continue;
      until = to;
      if (!last) mine.push_back({from, to});
      Costs& costs = out_.costs[in_.call_of_work[i]];
      while (c > 0 && covered[c - 1].end_ns > from) --c;
      while (c < covered.size() && covered[c].end_ns <= from) ++c;
      for (size_t k = c; from < to; ++k) {
        const int64_t open_until = k < covered.size() ? std::min(covered[k].start_ns, to) : to;
        if (open_until > from) costs.work_ns += open_until - from;
        if (k >= covered.size()) break;
        from = std::max(from, covered[k].end_ns);
      }
    }
    if (last || mine.empty()) return;
    if (covered.empty()) {
      covered = std::move(mine);
    } else {
      covered.insert(covered.end(), mine.begin(), mine.end());
    }
    MergeIntervals(covered);
  }

  // When each thread was in an API call of the sequence itself, not in anything nested in it.
  struct Piece {
    int64_t start_ns, end_ns;
    uint32_t call;
  };
  void CutOwn() {
    pieces_.resize(t_.threads.size());
    cursor_.assign(t_.threads.size(), 0);
    for (const CostInput::Own& own : in_.own) {
      const uint32_t thread = threads_.Of(own.node), last = t_.threads[thread].last;
      std::vector<Piece>& to = pieces_[thread];
      int64_t at = h_.start_ns[own.node];
      const int64_t end = h_.end_ns[own.node];
      for (uint32_t k = own.node + 1; k < last && h_.start_ns[k] < end; k = std::max(k + 1, h_.last[k])) {
        if (h_.end_ns[k] == h_.start_ns[k]) continue;
        if (h_.start_ns[k] > at) to.push_back({at, h_.start_ns[k], own.call});
        at = std::max(at, h_.end_ns[k]);
      }
      if (end > at) to.push_back({at, end, own.call});
    }
    const auto earlier = [](const Piece& x, const Piece& y) { return x.start_ns < y.start_ns; };
    for (std::vector<Piece>& pieces : pieces_) {
      if (!std::is_sorted(pieces.begin(), pieces.end(), earlier))
        std::stable_sort(pieces.begin(), pieces.end(), earlier);
    }
  }

  // Assigns the time of [from, to) inside API calls of the sequence to those; returns the rest.
  int64_t TakeOwn(uint32_t thread, int64_t from, int64_t to) {
    const std::vector<Piece>& pieces = pieces_[thread];
    size_t& at = cursor_[thread];
    while (at > 0 && pieces[at - 1].end_ns > from) --at;
    while (at < pieces.size() && pieces[at].end_ns <= from) ++at;
    int64_t rest = to - from;
    for (size_t k = at; k < pieces.size() && pieces[k].start_ns < to; ++k) {
      const int64_t ns = std::min(pieces[k].end_ns, to) - std::max(pieces[k].start_ns, from);
      if (ns <= 0) continue;
      out_.costs[pieces[k].call].waited_ns += ns;
      rest -= ns;
    }
    return rest;
  }

  // Before the first or after the last work of a device, with nothing recorded that explains it: how long
  // the recording went on, not what the program did.
  bool IsAround(const IdleFacts::Gap& gap) const {
    const bool edge = gap.start_ns <= t_.first_start_ns || gap.next == kNone;
    return edge && (gap.cause == IdleCause::kEdge || gap.cause == IdleCause::kNothing ||
                    gap.cause == IdleCause::kUnknownLaunch || gap.cause == IdleCause::kNotRecorded);
  }

  void AddIdle() {
    std::vector<uint32_t> last_launch(t_.devices.size(), kNone);
    std::vector<int64_t> last_end(t_.devices.size(), INT64_MIN);
    for (uint32_t i = 0; i < w_.size(); ++i) {
      if (w_.end_ns[i] < last_end[w_.device[i]]) continue;
      last_end[w_.device[i]] = w_.end_ns[i];
      last_launch[w_.device[i]] = w_.launch[i];
    }
    const auto end = static_cast<uint32_t>(out_.calls.size() - 1), around = end - 1;
    for (const IdleFacts::Gap& gap : in_.idle.gaps) {
      const uint32_t launch = gap.next == kNone ? last_launch[gap.device] : w_.launch[gap.next];
      Costs& costs = out_.costs[gap.next == kNone ? end : in_.call_of_work[gap.next]];
      int64_t waited = gap.parts.sync_ns, on_host = gap.on_host_ns;
      if (launch != kNone) {
        const uint32_t thread = threads_.Of(launch);
        const int64_t synced = gap.start_ns + gap.parts.sync_ns;
        if (waited > 0) waited = TakeOwn(thread, gap.start_ns, synced);
        if (on_host > 0) on_host = TakeOwn(thread, synced, synced + gap.on_host_ns);
      }
      costs.on_host_ns += gap.in_launch_ns();
      if (IsAround(gap)) {
        out_.costs[around].waited_ns += on_host + gap.parts.other_ns + gap.parts.paused_ns + waited;
        continue;
      }
      costs.on_host_ns += on_host;
      costs.waited_ns += gap.parts.other_ns + gap.parts.paused_ns + waited;
    }
  }

  const CostInput& in_;
  const TimelineFacts& t_;
  const HostTree& h_;
  const DeviceWork& w_;
  CallSequence& out_;
  ThreadFinder threads_;
  std::vector<std::vector<Piece>> pieces_;  // by thread, by time
  std::vector<size_t> cursor_;              // by thread
};

}  // namespace

void AddCosts(const CostInput& in, CallSequence& sequence) { Sharer(in, sequence).Run(); }

}  // namespace nl::compare
