// SPDX-License-Identifier: Apache-2.0
#include "timeline/totals.h"

#include <algorithm>
#include <mutex>
#include <thread>

namespace nl {

namespace {

constexpr size_t kGroupsAtOnce = 8;  // row groups in memory: 131,072 spans of 32 bytes each
constexpr size_t kReaders = 4;

struct SlotSpan {
  Span span;
  LaneSlot slot;
};
bool StartsBefore(const SlotSpan& a, const SlotSpan& b) { return a.span.start_ns < b.span.start_ns; }

// Totals of spans that come by their start.
class Running {
 public:
  void Add(const Span& span, int64_t from_ns, int64_t to_ns) {
    ++totals.count;
    totals.all_ns += span.dur_ns;
    totals.longest_ns = std::max(totals.longest_ns, span.dur_ns);
    const int64_t start_ns = std::max(span.start_ns, from_ns), end_ns = std::min(span.end_ns(), to_ns);
    if (end_ns <= start_ns) return;
    totals.total_ns += end_ns - start_ns;
    totals.covered_ns += std::max<int64_t>(0, end_ns - std::max(start_ns, covered_until_ns_));
    covered_until_ns_ = std::max(covered_until_ns_, end_ns);
  }
  SpanTotals totals;

 private:
  int64_t covered_until_ns_ = INT64_MIN;
};

// Spans of all row groups are brought into one order of starts: row groups come by their first start, so what
// starts before the first start of the next one is complete.
class Adder {
 public:
  Adder(const Timeline& timeline, const TotalsRequest& request, const std::atomic<bool>* cancelled)
      : timeline_(timeline), spans_(timeline.spans()), request_(request), cancelled_(cancelled) {}

  Result<WindowTotals> Run() {
    TakeLong();
    ChooseGroups();
    for (size_t first = 0; first < groups_.size(); first += kGroupsAtOnce) {
      const size_t last = std::min(first + kGroupsAtOnce, groups_.size());
      NL_TRY(ReadBatch(first, last));
      AddUntil(last < groups_.size() ? spans_.groups()[groups_[last]].first_start_ns : INT64_MAX);
    }
    AddUntil(INT64_MAX);
    return Finish();
  }

 private:
  bool Wanted(LaneSlot slot) const { return request_.slots.empty() || request_.slots[slot] != 0; }

  // Spans that the overview lists come from there; row groups are read for the shorter ones.
  void TakeLong() {
    const Overview& overview = timeline_.overview();
    for (const OverviewRow& row : overview.rows) {
      if (!Wanted(row.slot)) continue;
      for (unsigned level = row.buckets.base(); level <= row.buckets.top(); ++level) {
        for (const Span& span : row.buckets.Spans(level)) {
          if (Reaches(span, request_.from_ns, request_.to_ns)) waiting_.push_back({span, row.slot});
        }
      }
    }
    std::stable_sort(waiting_.begin(), waiting_.end(), StartsBefore);
  }

  void ChooseGroups() {
    const Overview& overview = timeline_.overview();
    for (size_t g = 0; g < overview.groups.size(); ++g) {
      const OverviewGroup& group = overview.groups[g];
      if (group.from_ns <= group.to_ns && group.from_ns < request_.to_ns && group.to_ns >= request_.from_ns)
        groups_.push_back(g);
    }
  }

  Status ReadBatch(size_t first, size_t last) {
    std::vector<std::vector<SlotSpan>> parts(last - first);
    std::atomic<size_t> next{0};
    std::mutex mutex;
    Status failed;
    const auto read = [&] {
      for (size_t i = next++; i < parts.size(); i = next++) {
        Status status = cancelled_ != nullptr && cancelled_->load() ? Status(Cancelled())
                                                                    : ReadGroup(groups_[first + i], parts[i]);
        if (status.ok()) continue;
        const std::lock_guard lock(mutex);
        failed = std::move(status);
      }
    };
    {
      const size_t most =
          std::min<size_t>({parts.size(), kReaders, std::max(1u, std::thread::hardware_concurrency())});
      std::vector<std::jthread> readers;
      for (size_t i = 1; i < most; ++i) readers.emplace_back(read);
      read();
    }
    NL_TRY(failed);
    for (std::vector<SlotSpan>& part : parts) Merge(std::move(part));
    return {};
  }

  Status ReadGroup(size_t group, std::vector<SlotSpan>& out) const {
    const unsigned base = timeline_.overview().base_level;
    NL_ASSIGN(const std::vector<LaneSpans> lanes, spans_.Read(group));
    for (const LaneSpans& lane : lanes) {
      if (!Wanted(lane.slot)) continue;
      const auto sorted = static_cast<std::ptrdiff_t>(out.size());
      for (const Span& span : lane.spans) {
        if (FirstLevel(span.dur_ns) <= base && Reaches(span, request_.from_ns, request_.to_ns))
          out.push_back({span, lane.slot});
      }
      std::inplace_merge(out.begin(), out.begin() + sorted, out.end(), StartsBefore);
    }
    return {};
  }

  void Merge(std::vector<SlotSpan> part) {
    if (waiting_.empty()) {
      waiting_ = std::move(part);
      return;
    }
    const auto sorted = static_cast<std::ptrdiff_t>(waiting_.size());
    waiting_.insert(waiting_.end(), part.begin(), part.end());
    std::inplace_merge(waiting_.begin(), waiting_.begin() + sorted, waiting_.end(), StartsBefore);
  }

  void AddUntil(int64_t until_ns) {
    size_t i = 0;
    for (; i < waiting_.size() && waiting_[i].span.start_ns < until_ns; ++i) {
      const auto& [span, slot] = waiting_[i];
      NameOf(span.name).Add(span, request_.from_ns, request_.to_ns);
      tables_[static_cast<size_t>(span.table())].Add(span, request_.from_ns, request_.to_ns);
      if (slot >= lanes_.size()) lanes_.resize(slot + 1);
      lanes_[slot].all.Add(span, request_.from_ns, request_.to_ns);
      if (span.table() != SpanTable::kRange) lanes_[slot].work.Add(span, request_.from_ns, request_.to_ns);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  Running& NameOf(StringId name) {
    const auto at = static_cast<size_t>(name);
    if (at >= place_.size()) place_.resize(std::max(at + 1, 2 * place_.size()), kNoPlace);
    if (place_[at] != kNoPlace) return by_name_[place_[at]].second;
    place_[at] = by_name_.size();
    return by_name_.emplace_back(name, Running()).second;
  }

  WindowTotals Finish() {
    WindowTotals out;
    for (const auto& [name, running] : by_name_) out.names.push_back({name, running.totals});
    std::sort(out.names.begin(), out.names.end(), [this](const SpanNameTotals& a, const SpanNameTotals& b) {
      if (a.totals.total_ns != b.totals.total_ns) return a.totals.total_ns > b.totals.total_ns;
      if (a.totals.count != b.totals.count) return a.totals.count > b.totals.count;
      return spans_.strings().Text(a.name) < spans_.strings().Text(b.name);
    });
    for (size_t t = 0; t < kSpanTables; ++t) out.tables[t] = tables_[t].totals;
    for (size_t slot = 0; slot < lanes_.size(); ++slot) {
      const auto& [all, work] = lanes_[slot];
      if (all.totals.count == 0) continue;
      out.lanes.push_back({static_cast<LaneSlot>(slot), all.totals});
      if (work.totals.count > 0) out.lanes.back().totals.covered_ns = work.totals.covered_ns;
    }
    return out;
  }

  static constexpr size_t kNoPlace = SIZE_MAX;
  const Timeline& timeline_;
  const RunSpans& spans_;
  const TotalsRequest& request_;
  const std::atomic<bool>* cancelled_;
  std::vector<size_t> groups_;     // to read, by their first start
  std::vector<SlotSpan> waiting_;  // by start, not added yet
  std::vector<size_t> place_;      // by name, in by_name_
  std::vector<std::pair<StringId, Running>> by_name_;
  std::array<Running, kSpanTables> tables_;
  struct LaneSums {
    Running all, work;  // work: without ranges
  };
  std::vector<LaneSums> lanes_;  // by slot
};

}  // namespace

Result<WindowTotals> AddUpWindow(const Timeline& timeline, const TotalsRequest& request,
                                 const std::atomic<bool>* cancelled) {
  return Adder(timeline, request, cancelled).Run();
}

}  // namespace nl
