// SPDX-License-Identifier: Apache-2.0
// Walks the gaps of each device in order, beside the work items that end them.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "analyze/facts/accounting.h"
#include "analyze/facts/idle.h"
#include "analyze/pass.h"
#include "analyze/program/lanes.h"
#include "analyze/program/sampled_host.h"
#include "analyze/waits/cold_calls.h"
#include "analyze/waits/host_segments.h"
#include "base/units.h"

namespace nl {

std::string_view IdleCauseName(IdleCause cause) {
  switch (cause) {
    case IdleCause::kApi: return "api call";
    case IdleCause::kOp: return "framework op";
    case IdleCause::kPython: return "python";
    case IdleCause::kRange: return "inside range";
    case IdleCause::kSampled: return "cpu samples";
    case IdleCause::kNothing: return "nothing recorded";
    case IdleCause::kSync: return "sync";
    case IdleCause::kGraph: return "graph dependency";
    case IdleCause::kLaunch: return "launch";
    case IdleCause::kUnknownLaunch: return "launch not recorded";
    case IdleCause::kNotRecorded: return "not recorded";
    case IdleCause::kQueued: return "queued";
    case IdleCause::kStartup: return "start-up";
    case IdleCause::kEdge: return "edge of the recording";
  }
  return "";
}

namespace passes::idle {

namespace {

constexpr int64_t kBinNs = 250, kMaxLatencyNs = 100'000;

// The most common value, as the upper edge of its bin; 0 when there are too few to tell.
class LatencyMode {
 public:
  void Add(int64_t ns) {
    if (ns >= 0 && ns < kMaxLatencyNs) ++bins_[static_cast<size_t>(ns / kBinNs)];
  }
  int64_t Get() const {
    const auto top = std::max_element(bins_.begin(), bins_.end());
    return *top < 5 ? 0 : (top - bins_.begin() + 1) * kBinNs;
  }

 private:
  std::vector<int64_t> bins_ = std::vector<int64_t>(kMaxLatencyNs / kBinNs);
};

class Splitter {
 public:
  // `part` says that the timeline is one phase of a run: a device that did nothing in it was idle all along.
  // In a whole run it is not one of those that worked.
  Splitter(const RunData& data, const TimelineFacts& t, const AccountingFacts& a, bool part, IdleFacts& out)
      : data_(data),
        t_(t),
        h_(t.host),
        w_(t.work),
        accounting_(a),
        part_(part),
        out_(out),
        kinds_(data.strings),
        cold_(*data.strings, t),
        sampled_(data),
        pauses_(data.Pauses()) {}

  void Run() {
    steps_.insert(data_.step.name.begin(), data_.step.name.end());
    for (size_t i = 0; i < t_.threads.size(); ++i) {
      const size_t lane = program::LaneOf(t_.threads[i].thread);
      if (lane >= thread_at_.size()) thread_at_.resize(lane + 1);
      thread_at_[lane] = i;
    }
    segments_.resize(t_.threads.size());
    items_.resize(t_.devices.size());
    for (uint32_t i = 0; i < w_.size(); ++i) {
      if (w_.end_ns[i] > w_.start_ns[i]) items_[w_.device[i]].push_back(i);
    }
    Calibrate();
    size_t pieces = 0;
    for (const DeviceSweep& sweep : accounting_.sweeps)
      pieces += static_cast<size_t>(std::count(sweep.mask.begin(), sweep.mask.end(), 0));
    out_.gaps.reserve(pieces);
    out_.devices.resize(t_.devices.size());
    for (uint32_t device = 0; device < t_.devices.size(); ++device) WalkDevice(device);
    for (const IdleParts& parts : out_.devices) out_.total.Add(parts);
    for (auto& [key, cause] : causes_) out_.causes.push_back(cause);
    std::sort(out_.causes.begin(), out_.causes.end(),
              [](const IdleFacts::Cause& a, const IdleFacts::Cause& b) {
                return std::tie(b.ns, a.what, a.name) < std::tie(a.ns, b.what, b.name);
              });
    ListLargest();
  }

 private:
  void ListLargest() {
    const auto longer = [this](uint32_t x, uint32_t y) {
      const IdleFacts::Gap &a = out_.gaps[x], &b = out_.gaps[y];
      const int64_t a_ns = a.end_ns - a.start_ns, b_ns = b.end_ns - b.start_ns;
      return a_ns != b_ns ? a_ns > b_ns : x < y;
    };
    out_.largest.resize(out_.gaps.size());
    for (uint32_t i = 0; i < out_.largest.size(); ++i) out_.largest[i] = i;
    const size_t kept = std::min(out_.largest.size(), IdleFacts::kMaxListed);
    std::partial_sort(out_.largest.begin(), out_.largest.begin() + static_cast<ptrdiff_t>(kept),
                      out_.largest.end(), longer);
    out_.largest.resize(kept);
    out_.largest.shrink_to_fit();
  }

  // How long a launch takes to start: on an idle device, and behind the item before it on its stream.
  void Calibrate() {
    LatencyMode idle_device, back_to_back;
    std::vector<int64_t> stream_end(t_.streams.size(), INT64_MIN), device_end(t_.devices.size(), INT64_MIN);
    for (uint32_t i = 0; i < w_.size(); ++i) {
      int64_t& stream = stream_end[w_.stream[i]];
      int64_t& device = device_end[w_.device[i]];
      const uint32_t launch = w_.launch[i];
      if (launch != kNone) {
        if (h_.start_ns[launch] >= device) idle_device.Add(w_.start_ns[i] - h_.end_ns[launch]);
        if (stream != INT64_MIN && h_.end_ns[launch] <= stream) back_to_back.Add(w_.start_ns[i] - stream);
      }
      stream = std::max(stream, w_.end_ns[i]);
      device = std::max(device, w_.end_ns[i]);
    }
    out_.floor_ns = std::max(idle_device.Get(), back_to_back.Get());
  }

  void WalkDevice(uint32_t device) {
    const DeviceSweep& sweep = accounting_.sweeps[device];
    const std::vector<uint32_t>& items = items_[device];
    if (items.empty()) {
      if (part_) SplitAtPauses(device, t_.first_start_ns, t_.last_end_ns, kNone, kNone);
      return;
    }
    size_t next = 0;
    uint32_t before = kNone;  // the item that ended last
    const auto gap = [&](int64_t from_ns, int64_t to_ns) {
      if (to_ns <= from_ns) return;
      for (; next < items.size() && w_.start_ns[items[next]] < to_ns; ++next) {
        if (before == kNone || w_.end_ns[items[next]] >= w_.end_ns[before]) before = items[next];
      }
      uint32_t ends = kNone;
      for (size_t i = next; i < items.size() && w_.start_ns[items[i]] == to_ns; ++i) {
        if (ends == kNone || (w_.launch[ends] == kNone && w_.launch[items[i]] != kNone)) ends = items[i];
      }
      SplitAtPauses(device, from_ns, to_ns, before, ends);
    };
    gap(t_.first_start_ns, sweep.start_ns.front());
    for (size_t i = 0; i + 1 < sweep.start_ns.size(); ++i) {
      if (sweep.mask[i] == 0) gap(sweep.start_ns[i], sweep.start_ns[i + 1]);
    }
    gap(sweep.start_ns.back(), t_.last_end_ns);
  }

  // A gap in which recording paused is as many gaps: what the device did in a pause is not known.
  void SplitAtPauses(uint32_t device, int64_t a, int64_t b, uint32_t before, uint32_t next) {
    auto pause = std::upper_bound(pauses_.begin(), pauses_.end(), a,
                                  [](int64_t ns, const Interval& p) { return ns < p.end_ns; });
    for (; pause != pauses_.end() && pause->start_ns < b; ++pause) {
      const int64_t from_ns = std::max(a, pause->start_ns), to_ns = std::min(b, pause->end_ns);
      if (from_ns > a) Split(device, a, from_ns, before, kNone);
      pieces_.clear();
      AddPiece(IdleCause::kNotRecorded, StringId::kNull, to_ns - from_ns);
      Finish({from_ns,
              to_ns,
              device,
              to_ns == b ? next : kNone,
              {.paused_ns = to_ns - from_ns},
              0,
              0,
              IdleCause::kNotRecorded,
              StringId::kNull});
      a = to_ns;
    }
    if (a < b) Split(device, a, b, before, next);
  }

  void Split(uint32_t device, int64_t a, int64_t b, uint32_t before, uint32_t next) {
    IdleFacts::Gap gap{a, b, device, next, {}, 0, 0, IdleCause::kUnknownLaunch, StringId::kNull};
    pieces_.clear();
    const uint32_t launch = next == kNone ? LastLaunch(before) : w_.launch[next];
    if (launch == kNone) {
      gap.parts.other_ns = b - a;
      AddPiece(IdleCause::kUnknownLaunch, StringId::kNull, b - a);
    } else if (next != kNone && before != kNone && w_.launch[before] == launch) {
      gap.parts.sync_ns = b - a;  // two nodes of one graph launch
      AddPiece(IdleCause::kGraph, StringId::kNull, b - a);
    } else {
      SplitByLaunch(gap, launch, {before == kNone, next == kNone});
    }
    Finish(gap);
  }

  // Behind the last item the launching thread is the one that launched it.
  uint32_t LastLaunch(uint32_t before) const { return before == kNone ? kNone : w_.launch[before]; }

  struct Edges {
    bool before_first, behind_last;
  };

  void SplitByLaunch(IdleFacts::Gap& gap, uint32_t launch, Edges edges) {
    const int64_t a = gap.start_ns, b = gap.end_ns;
    const int64_t called = edges.behind_last ? b : h_.start_ns[launch],
                  returned = edges.behind_last ? b : h_.end_ns[launch];
    const HostSegments& host = SegmentsOf(launch);
    int64_t at = a;
    if (const uint32_t blocking = BlockingCallAt(host, a);
        blocking != kNone && h_.end_ns[blocking] <= called) {
      at = std::min(b, h_.end_ns[blocking]);
      gap.parts.sync_ns = at - a;
      AddPiece(IdleCause::kSync, h_.name[blocking], at - a);
    }
    const int64_t host_end = std::clamp(called, at, b);
    SplitHost(gap, launch, at, host_end, edges);
    const int64_t in_call_end = std::clamp(returned, host_end, b);
    const int64_t latency_end = std::min(b, in_call_end + out_.floor_ns);
    const bool cold = cold_.Is(launch) && !edges.behind_last;
    const int64_t cold_ns = cold ? in_call_end - host_end : 0;
    gap.parts.startup_ns += cold_ns;
    AddPiece(IdleCause::kStartup, h_.name[launch], cold_ns);
    gap.parts.launch_ns = latency_end - host_end - cold_ns;
    AddPiece(IdleCause::kLaunch, h_.name[launch], gap.parts.launch_ns);
    gap.parts.other_ns = b - latency_end;
    AddPiece(IdleCause::kQueued, StringId::kNull, b - latency_end);
  }

  // [from_ns, to_ns) of a gap, in which the device waits for the launching thread.
  void SplitHost(IdleFacts::Gap& gap, uint32_t launch, int64_t from_ns, int64_t to_ns, Edges edges) {
    const HostSegments& host = SegmentsOf(launch);
    gap.on_host_ns = to_ns - from_ns;
    const Interval known = edges.before_first || edges.behind_last ? KnownPart(host, from_ns, to_ns, edges)
                                                                   : Interval{from_ns, to_ns};
    int64_t at = from_ns;
    host.Visit(from_ns, to_ns, [&](uint32_t owner, int64_t ns) {
      const bool edge = at < known.start_ns || at >= known.end_ns;
      if (owner != kNone && cold_.Is(owner)) {
        gap.parts.startup_ns += ns;
        AddPiece(IdleCause::kStartup, h_.name[owner], ns);
      } else if (AddHostPiece(h_.thread[launch], owner, at, ns, edge)) {
        gap.parts.edge_ns += ns;
      } else {
        gap.parts.host_ns += ns;
        if (owner != kNone && Blocks(owner)) gap.blocked_ns += ns;
      }
      at += ns;
    });
  }

  // What is left of [from_ns, to_ns) without the time before the first thing that was recorded on the thread,
  // or after the last; the label of a step does not count as one.
  Interval KnownPart(const HostSegments& host, int64_t from_ns, int64_t to_ns, Edges edges) const {
    int64_t at = from_ns, first = to_ns, last = from_ns;
    host.Visit(from_ns, to_ns, [&](uint32_t owner, int64_t ns) {
      if (owner != kNone && !(h_.kind[owner] == HostKind::kRange && steps_.contains(h_.name[owner]))) {
        first = std::min(first, at);
        last = at + ns;
      }
      at += ns;
    });
    return {edges.before_first ? first : from_ns, edges.behind_last ? last : to_ns};
  }

  // A call of the thread that waits for the device and was open when the device went idle.
  uint32_t BlockingCallAt(const HostSegments& host, int64_t at_ns) {
    if (host.start_ns.empty()) return kNone;
    const uint32_t owner = host.owner[host.Find(at_ns)];
    if (owner == kNone || h_.start_ns[owner] >= at_ns || h_.end_ns[owner] <= at_ns) return kNone;
    return Blocks(owner) ? owner : kNone;
  }

  // Synchronisations, and copies: even an asynchronous one waits when its memory is pageable.
  bool Blocks(uint32_t node) {
    if (h_.kind[node] != HostKind::kApi) return false;
    const ApiKind kind = kinds_.Of(h_.name[node]);
    return kind == ApiKind::kSync || IsCopy(kind);
  }

  const HostSegments& SegmentsOf(uint32_t node) {
    const size_t thread = thread_at_[program::LaneOf(h_.thread[node])];
    HostSegments& segments = segments_[thread];
    if (segments.start_ns.empty())
      segments = CutThread(h_, t_.threads[thread].first, t_.threads[thread].last);
    return segments;
  }

  // Inside of a label, or of nothing, samples say more. True: nothing says more than that it is an edge.
  bool AddHostPiece(ThreadId thread, uint32_t owner, int64_t from_ns, int64_t ns, bool edge) {
    const bool told = owner != kNone && h_.kind[owner] != HostKind::kRange;
    if (!told && sampled_.Split(thread, from_ns, from_ns + ns, [this](StringId stack, int64_t part_ns) {
          AddPiece(IdleCause::kSampled, stack, part_ns);
        }))
      return false;
    if (edge || owner == kNone) {
      AddPiece(edge ? IdleCause::kEdge : IdleCause::kNothing, StringId::kNull, ns);
      return edge;
    }
    IdleCause cause = IdleCause::kApi;
    switch (h_.kind[owner]) {
      case HostKind::kRange: cause = IdleCause::kRange; break;
      case HostKind::kPython: cause = IdleCause::kPython; break;
      case HostKind::kOp: cause = IdleCause::kOp; break;
      case HostKind::kApi: break;
    }
    AddPiece(cause, h_.name[owner], ns);
    return false;
  }

  void AddPiece(IdleCause what, StringId name, int64_t ns) {
    if (ns <= 0) return;
    for (IdleFacts::Cause& piece : pieces_) {
      if (piece.what != what || piece.name != name) continue;
      piece.ns += ns;
      return;
    }
    pieces_.push_back({what, name, ns, 1});
  }

  void Finish(IdleFacts::Gap gap) {
    int64_t most = 0;
    for (const IdleFacts::Cause& piece : pieces_) {
      if (piece.ns > most) {
        most = piece.ns;
        gap.cause = piece.what;
        gap.name = piece.name;
      }
      const uint64_t key = static_cast<uint64_t>(piece.what) << 32 | static_cast<uint32_t>(piece.name);
      IdleFacts::Cause& cause =
          causes_.try_emplace(key, IdleFacts::Cause{piece.what, piece.name, 0, 0}).first->second;
      cause.ns += piece.ns;
      ++cause.gaps;
    }
    out_.blocked_ns += gap.blocked_ns;
    out_.devices[gap.device].Add(gap.parts);
    out_.gaps.push_back(gap);
  }

  const RunData& data_;
  const TimelineFacts& t_;
  const HostTree& h_;
  const DeviceWork& w_;
  const AccountingFacts& accounting_;
  const bool part_;
  IdleFacts& out_;
  std::vector<std::vector<uint32_t>> items_;  // per device, by start
  std::vector<size_t> thread_at_;             // by lane
  std::vector<HostSegments> segments_;        // made when first asked for
  ApiKinds kinds_;
  const ColdCalls cold_;
  std::unordered_set<StringId> steps_;  // their labels
  const program::SampledHost sampled_;
  const std::vector<Interval> pauses_;  // by time
  std::unordered_map<uint64_t, IdleFacts::Cause> causes_;
  std::vector<IdleFacts::Cause> pieces_;  // of the present gap
};

class IdlePass final : public Pass {
 public:
  PassInfo Info() const override {
    return {IdleFacts::kName,
            "Why the devices were idle",
            {TimelineFacts::kName, AccountingFacts::kName},
            program::kSampledHostReads | NL_READS(Step, name),
            &RecordOf<IdleSection>};
  }
  Status Run(const RunData& data, const AnalysisOptions& options, FactBoard& facts) const override {
    const auto& accounting = facts.Get<AccountingFacts>();
    const bool part = options.part.has_value();
    IdleFacts out;
    Splitter(data, facts.Get<TimelineFacts>(), accounting, part, out).Run();
    for (size_t i = 0; i < out.devices.size(); ++i) {
      const int64_t idle_ns = accounting.devices[i].by_mask[0];  // with pauses: one of the causes
      const bool walked = accounting.items[i] == 0 ? part : !accounting.sweeps[i].start_ns.empty();
      if (walked && out.devices[i].total_ns() != idle_ns) {
        return Internal(fmt::format("the idle parts of a device sum to {} ns, it was idle {} ns",
                                    out.devices[i].total_ns(), idle_ns));
      }
    }
    facts.Put(std::move(out));
    return {};
  }
  Described Section(const RunData& data, const FactBoard& facts) const override {
    return Described::Of(SectionOf(facts.Get<IdleFacts>(), facts.Get<TimelineFacts>(), data));
  }
};

}  // namespace

const Pass& Describe() {
  static const IdlePass pass;
  return pass;
}

}  // namespace passes::idle

}  // namespace nl
