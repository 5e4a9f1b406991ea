// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/timeline/complete_ops.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyze/program/observed.h"
#include "analyze/program/per_name.h"
#include "base/flat_map.h"
#include "base/intervals.h"

namespace nl::passes::timeline {

namespace {

constexpr size_t kGrams[] = {64, 16, 4};  // calls in a row that must agree before a match is looked at
constexpr size_t kMostCandidates = 24;
constexpr uint64_t kBase = 0x9e3779b97f4a7c15ull;

// A call, or the begin or end of a label that is recorded in every step.
struct Anchor {
  int64_t start_ns, end_ns;
  uint32_t span;  // in its lane
  uint64_t symbol;
  bool launches;
};

// Hashes of all stretches of a sequence of symbols.
class Hashes {
 public:
  void Add(uint64_t symbol) { sums_.push_back(sums_.back() * kBase + symbol); }
  uint64_t Of(size_t first, size_t count, const std::vector<uint64_t>& powers) const {
    return sums_[first + count] - sums_[first] * powers[count];
  }

 private:
  std::vector<uint64_t> sums_{0};
};

// Anchors of one lane that follow each other while operators were observed, or were not.
struct Stretch {
  size_t lane;
  uint32_t first, last;    // in the sequence
  int64_t from_ns, to_ns;  // to the neighbouring stretches
};
struct Sequence {
  std::vector<Anchor> anchors;
  std::vector<Stretch> stretches;
  Hashes hashes;
};

class Completer {
 public:
  Completer(const RunData& data, HostLanes& lanes) : data_(data), lanes_(lanes) {}

  void Run() {
    const program::ObservedSteps stretches(data_);
    if (stretches.all()) return;
    FindWork();
    FindModules();
    parents_.resize(lanes_.size());
    inside_.resize(lanes_.size());
    added_.resize(lanes_.size());
    std::map<int32_t, std::vector<size_t>> processes;
    for (size_t lane = 1; lane < lanes_.size(); ++lane) {
      const auto thread = static_cast<ThreadId>(lane - 1);
      if (!lanes_[lane].empty() && !stretches.NotObserved(thread).empty())
        processes[stretches.ProcessOf(thread)].push_back(lane);
    }
    for (const auto& [process, members] : processes) {
      seen_ = {};
      missed_ = {};
      for (const size_t lane : members) AddLane(lane, stretches.NotObserved(static_cast<ThreadId>(lane - 1)));
      if (seen_.anchors.empty() || missed_.anchors.empty()) continue;
      Prepare();
      for (const Stretch& stretch : missed_.stretches) Fill(stretch);
    }
    for (size_t lane = 0; lane < lanes_.size(); ++lane) Merge(lane);
  }

 private:
  static constexpr std::string_view kModule = "nn.Module: ";

  // ---- what was recorded ----
  template <class Columns>
  void TakeWork(const Columns& t) {
    for (size_t i = 0; i < t.name.size(); ++i) {
      if (!IsNull(t.api_call_id[i]) && static_cast<size_t>(t.api_call_id[i]) < work_of_.size())
        work_of_[static_cast<size_t>(t.api_call_id[i])] = 1 + static_cast<uint32_t>(t.name[i]);
    }
  }
  void FindWork() {
    work_of_.assign(data_.api_call.name.size(), 0);
    TakeWork(data_.kernel);
    TakeWork(data_.memcpy);
    TakeWork(data_.memset);
  }

  void FindModules() {
    program::PerName module(data_, [](std::string_view name) { return name.starts_with(kModule); });
    for (const StringId name : data_.range.name) is_module_.push_back(module.Of(name));
  }

  // Parents, as the tree will have them without what is added.
  void Nest(size_t lane) {
    const auto& spans = lanes_[lane];
    auto& parents = parents_[lane];
    auto& inside = inside_[lane];
    parents.assign(spans.size(), kNone);
    inside.assign(spans.size(), false);
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < spans.size(); ++i) {
      while (!open.empty() && spans[open.back()].end_ns < spans[i].end_ns) open.pop_back();
      while (!open.empty() && spans[open.back()].end_ns <= spans[i].start_ns &&
             spans[open.back()].start_ns < spans[i].start_ns)
        open.pop_back();
      if (!open.empty()) parents[i] = open.back();
      const bool module = spans[i].kind == HostKind::kRange && is_module_[spans[i].row];
      inside[i] = module || (!open.empty() && inside[open.back()]);
      open.push_back(i);
    }
  }

  // Recorded in observed steps only: operators, and modules inside of modules.
  bool IsCopied(size_t lane, uint32_t i) const {
    const HostSpan& span = lanes_[lane][i];
    if (span.kind == HostKind::kOp) return true;
    return span.kind == HostKind::kRange && parents_[lane][i] != kNone && inside_[lane][parents_[lane][i]] &&
           is_module_[span.row];
  }

  std::vector<Anchor> AnchorsOf(size_t lane) const {
    std::vector<Anchor> out;
    const auto& spans = lanes_[lane];
    for (uint32_t i = 0; i < spans.size(); ++i) {
      const HostSpan& s = spans[i];
      if (s.kind == HostKind::kApi) {
        const uint32_t work = work_of_[s.row];
        const uint64_t name = static_cast<uint32_t>(data_.api_call.name[s.row]);
        out.push_back({s.start_ns, s.end_ns, i, MixedPair(name, work), work != 0});
      } else if (s.kind == HostKind::kRange && !IsCopied(lane, i)) {
        const uint64_t name = static_cast<uint32_t>(data_.range.name[s.row]);
        out.push_back({s.start_ns, s.start_ns, i, MixedPair(name, uint64_t{1} << 40), false});
        out.push_back({s.end_ns, s.end_ns, i, MixedPair(name, uint64_t{1} << 41), false});
      }
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Anchor& a, const Anchor& b) { return a.start_ns < b.start_ns; });
    return out;
  }

  void AddLane(size_t lane, const std::vector<Interval>& missed) {
    Nest(lane);
    size_t next = 0;  // stretch that begins after the last anchor, or holds it
    for (const Anchor& anchor : AnchorsOf(lane)) {
      while (next < missed.size() && missed[next].end_ns <= anchor.start_ns) ++next;
      const bool in = next < missed.size() && missed[next].start_ns <= anchor.start_ns;
      Sequence& to = in ? missed_ : seen_;
      const int64_t from_ns = in ? missed[next].start_ns : next > 0 ? missed[next - 1].end_ns : INT64_MIN;
      if (to.stretches.empty() || to.stretches.back().lane != lane ||
          to.stretches.back().from_ns != from_ns) {
        const int64_t to_ns = in                     ? missed[next].end_ns
                              : next < missed.size() ? missed[next].start_ns
                                                     : INT64_MAX;
        const auto first = static_cast<uint32_t>(to.anchors.size());
        to.stretches.push_back({lane, first, first, from_ns, to_ns});
      }
      to.anchors.push_back(anchor);
      to.hashes.Add(anchor.symbol);
      to.stretches.back().last = static_cast<uint32_t>(to.anchors.size());
    }
  }

  // ---- matches ----
  void Prepare() {
    stretch_of_.clear();
    for (uint32_t s = 0; s < seen_.stretches.size(); ++s) stretch_of_.resize(seen_.stretches[s].last, s);
    const size_t most = std::max(seen_.anchors.size(), missed_.anchors.size());
    powers_.assign(1, 1);
    for (size_t i = 0; i < most; ++i) powers_.push_back(powers_.back() * kBase);
    for (size_t g = 0; g < std::size(kGrams); ++g) {
      grams_[g].clear();
      for (const Stretch& s : seen_.stretches) {
        for (size_t i = s.first; i + kGrams[g] <= s.last; ++i)
          grams_[g].emplace_back(seen_.hashes.Of(i, kGrams[g], powers_), static_cast<uint32_t>(i));
      }
      std::sort(grams_[g].begin(), grams_[g].end());
    }
    single_.clear();
    for (const Stretch& s : seen_.stretches) {
      for (uint32_t i = s.first; i < s.last; ++i) TakeSingle(s, i);
    }
  }

  // For calls without a match: the call that all of its kind are like, by the name of the operator.
  void TakeSingle(const Stretch& s, uint32_t i) {
    if (!seen_.anchors[i].launches) return;
    const auto [it, added] = single_.try_emplace(seen_.anchors[i].symbol, i);
    if (added || it->second == kNone) return;
    const Stretch& other = seen_.stretches[stretch_of_[it->second]];
    if (OpNameOf(s.lane, seen_.anchors[i].span) != OpNameOf(other.lane, seen_.anchors[it->second].span))
      it->second = kNone;
  }
  StringId OpNameOf(size_t lane, uint32_t span) const {
    for (uint32_t up = span; up != kNone; up = parents_[lane][up]) {
      if (lanes_[lane][up].kind == HostKind::kOp) return data_.op.name[lanes_[lane][up].row];
    }
    return StringId::kNull;
  }

  // How many anchors agree from there on; at least `known` do.
  size_t Agree(uint32_t seen, uint32_t missed, size_t most, size_t known) const {
    size_t low = known, high = most;
    while (low < high) {
      const size_t middle = (low + high + 1) / 2;
      if (seen_.hashes.Of(seen, middle, powers_) == missed_.hashes.Of(missed, middle, powers_))
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  void Fill(const Stretch& stretch) {
    for (uint32_t at = stretch.first; at < stretch.last;) {
      size_t best = 0;
      uint32_t from = kNone;
      for (size_t g = 0; g < std::size(kGrams) && from == kNone; ++g) {
        if (at + kGrams[g] > stretch.last) continue;
        const uint64_t hash = missed_.hashes.Of(at, kGrams[g], powers_);
        auto i = std::lower_bound(grams_[g].begin(), grams_[g].end(), std::pair(hash, 0u));
        for (size_t n = 0; n < kMostCandidates && i != grams_[g].end() && i->first == hash; ++n, ++i) {
          const size_t most =
              std::min<size_t>(seen_.stretches[stretch_of_[i->second]].last - i->second, stretch.last - at);
          const size_t length = Agree(i->second, at, most, kGrams[g]);
          if (length > best) best = length, from = i->second;
        }
      }
      if (from != kNone) {
        Copy(stretch, at, from, static_cast<uint32_t>(best));
        at += static_cast<uint32_t>(best);
        continue;
      }
      if (const auto one = single_.find(missed_.anchors[at].symbol);
          one != single_.end() && one->second != kNone)
        CopyChain(stretch, at, one->second);
      ++at;
    }
  }

  // ---- copies ----
  static int64_t Between(int64_t t, int64_t from, int64_t to, int64_t new_from, int64_t new_to) {
    if (t <= from || to <= from) return new_from;
    if (t >= to) return new_to;
    const double share = static_cast<double>(t - from) / static_cast<double>(to - from);
    return new_from + static_cast<int64_t>(share * static_cast<double>(new_to - new_from));
  }

  // Times of an observed stretch of calls in the unobserved one: by the calls before and after. Outside of
  // the first and the last call nothing is stretched, only pressed together.
  struct Warp {
    const Anchor *seen, *missed;
    size_t count;
    int64_t seen_from_ns, missed_from_ns, seen_to_ns, missed_to_ns;

    int64_t operator()(int64_t t) const {
      const Anchor* after =
          std::partition_point(seen, seen + count, [t](const Anchor& a) { return a.start_ns <= t; });
      if (after == seen) {
        const int64_t room_ns = std::min(missed->start_ns - missed_from_ns, seen->start_ns - seen_from_ns);
        return Between(t, seen_from_ns, seen->start_ns, missed->start_ns - room_ns, missed->start_ns);
      }
      const auto k = static_cast<size_t>(after - seen) - 1;
      if (t <= seen[k].end_ns)
        return Between(t, seen[k].start_ns, seen[k].end_ns, missed[k].start_ns, missed[k].end_ns);
      if (k + 1 < count)
        return Between(t, seen[k].end_ns, seen[k + 1].start_ns, missed[k].end_ns, missed[k + 1].start_ns);
      const int64_t room_ns = std::min(missed_to_ns - missed[k].end_ns, seen_to_ns - seen[k].end_ns);
      return Between(t, seen[k].end_ns, seen_to_ns, missed[k].end_ns, missed[k].end_ns + room_ns);
    }
  };

  void Copy(const Stretch& missed, uint32_t at, uint32_t from, uint32_t count) {
    const Stretch& seen = seen_.stretches[stretch_of_[from]];
    const Anchor *first = &seen_.anchors[from], *last = first + count - 1;
    const Anchor* to = &missed_.anchors[at];
    Warp warp{first, to, count, 0, 0, 0, 0};
    warp.missed_from_ns = at > missed.first ? to[-1].end_ns : missed.from_ns;
    warp.seen_from_ns =
        from > seen.first ? first[-1].end_ns : std::max(seen.from_ns, first->start_ns - 1'000'000'000);
    warp.missed_to_ns = at + count == missed.last ? missed.to_ns : to[count - 1].end_ns;
    warp.seen_to_ns = last->end_ns;
    if (at + count == missed.last)
      warp.seen_to_ns =
          from + count < seen.last ? last[1].start_ns : std::min(seen.to_ns, last->end_ns + 1'000'000'000);
    const auto& spans = lanes_[seen.lane];
    // What is open at the first call, from outside to inside.
    for (uint32_t up = parents_[seen.lane][first->span]; up != kNone; up = parents_[seen.lane][up]) {
      if (spans[up].start_ns < warp.seen_from_ns && IsCopied(seen.lane, up))
        Add(missed.lane, spans[up], to->start_ns, std::min(warp(spans[up].end_ns), warp.missed_to_ns));
    }
    auto i = static_cast<uint32_t>(
        std::partition_point(spans.begin(), spans.end(),
                             [&](const HostSpan& s) { return s.start_ns < warp.seen_from_ns; }) -
        spans.begin());
    for (; i < spans.size() && spans[i].start_ns < warp.seen_to_ns; ++i) {
      if (IsCopied(seen.lane, i)) Add(missed.lane, spans[i], warp(spans[i].start_ns), warp(spans[i].end_ns));
    }
  }

  void CopyChain(const Stretch& missed, uint32_t at, uint32_t from) {
    const Stretch& seen = seen_.stretches[stretch_of_[from]];
    const Anchor& to = missed_.anchors[at];
    for (uint32_t up = seen_.anchors[from].span; up != kNone; up = parents_[seen.lane][up]) {
      if (lanes_[seen.lane][up].kind != HostKind::kOp) continue;
      Add(missed.lane, lanes_[seen.lane][up], to.start_ns, to.end_ns);
      return;  // the innermost: those around it may begin elsewhere
    }
  }

  void Add(size_t lane, const HostSpan& of, int64_t start_ns, int64_t end_ns) {
    added_[lane].push_back({start_ns, std::max(start_ns, end_ns), of.row, of.kind, true});
  }

  void Merge(size_t lane) {
    auto& spans = lanes_[lane];
    auto& more = added_[lane];
    if (more.empty()) return;
    std::sort(more.begin(), more.end(), Before);
    const auto middle = static_cast<ptrdiff_t>(spans.size());
    spans.insert(spans.end(), more.begin(), more.end());
    std::inplace_merge(spans.begin(), spans.begin() + middle, spans.end(), Before);
    more = {};
  }

  const RunData& data_;
  HostLanes& lanes_;
  std::vector<bool> is_module_;                 // by row of range
  std::vector<uint32_t> work_of_;               // by row of api_call: 1 + name of its work; 0: none
  std::vector<std::vector<uint32_t>> parents_;  // by lane
  std::vector<std::vector<bool>> inside_;       // a module, by lane
  HostLanes added_;
  Sequence seen_, missed_;  // of one process
  std::vector<uint32_t> stretch_of_;
  std::vector<uint64_t> powers_;
  std::vector<std::pair<uint64_t, uint32_t>> grams_[std::size(kGrams)];
  std::unordered_map<uint64_t, uint32_t> single_;
};

}  // namespace

void CompleteOps(const RunData& data, HostLanes& lanes) { Completer(data, lanes).Run(); }

}  // namespace nl::passes::timeline
