// SPDX-License-Identifier: Apache-2.0
// One pass over the spans in order of time. Row groups are read ahead of a moving time: once every group that
// begins before it is read, the spans before it are complete, and each lane nests and sums its own. Memory is
// that of a few row groups when the files are roughly in order of time, as profilers write them.
#include <algorithm>
#include <deque>
#include <functional>
#include <thread>
#include <unordered_map>

#include "base/check.h"
#include "timeline/overview.h"
#include "timeline/sorted_runs.h"

namespace nl {

namespace {

constexpr size_t kGroupsPerBatch = 12;
constexpr int64_t kBytesPerEntry =
    5;  // of a stored bucket, at least; what is too large after all is raised when stored
constexpr int64_t kLeastBytes = 256 * 1024;  // small runs: not worth saving on
constexpr int64_t kNoTime = INT64_MAX;

// The time of the short spans of each row group: those that are in buckets of the base level.
void FindGroups(Overview& overview) {
  overview.groups.clear();
  for (const GroupTimes& times : overview.times) {
    OverviewGroup& group = overview.groups.emplace_back();
    for (unsigned level = 0; level <= overview.base_level; ++level) {
      group.from_ns = std::min(group.from_ns, times[level].from_ns);
      group.to_ns = std::max(group.to_ns, times[level].to_ns);
    }
  }
}

class LaneBuilder {
 public:
  LaneBuilder(LaneSlot slot, unsigned base, unsigned top) : base_(base), top_(top) { lane_.slot = slot; }

  void Take(std::vector<Span>&& spans) { parts_.push_back({std::move(spans)}); }
  LaneSlot slot() const { return lane_.slot; }
  size_t waiting() const {
    size_t total = 0;
    for (const Part& part : parts_) total += part.spans.size() - part.done;
    return total;
  }

  // Nests and sums the spans that start before `until_ns`.
  void Process(int64_t until_ns, const StringPool& strings) {
    std::vector<SortedRun<Span>> runs;
    for (Part& part : parts_) {
      const auto from = part.spans.begin() + static_cast<std::ptrdiff_t>(part.done);
      const auto to = std::lower_bound(from, part.spans.end(), until_ns,
                                       [](const Span& span, int64_t at_ns) { return span.start_ns < at_ns; });
      if (from != to) runs.push_back({&*from, &*from + (to - from)});
      part.done = static_cast<size_t>(to - part.spans.begin());
    }
    EachInOrder(runs, kDrawnBefore, [&](const Span& span) { AddSpan(span, strings); });
    std::erase_if(parts_, [](const Part& part) { return part.done == part.spans.size(); });
  }

  void RaiseBase(const StringPool& strings) {
    for (BucketRow& row : rows_) row.RaiseBase(strings);
    ++base_;
  }
  size_t entries() const {
    size_t total = 0;
    for (const BucketRow& row : rows_) {
      for (unsigned level = row.base(); level <= row.top(); ++level)
        total += row.Buckets(level).size() + 2 * row.Spans(level).size();  // a span takes twice the room
    }
    return total;
  }

  void Finish(Overview& out, const StringPool& strings) {
    lane_.depths = static_cast<uint32_t>(rows_.size());
    out.lanes.push_back(lane_);
    for (uint32_t depth = 0; depth < rows_.size(); ++depth) {
      rows_[depth].Finish(strings);
      out.rows.push_back({lane_.slot, depth, std::move(rows_[depth])});
    }
  }

 private:
  struct Part {  // spans in order
    std::vector<Span> spans;
    size_t done = 0;
  };

  void AddSpan(const Span& span, const StringPool& strings) {
    const uint32_t depth = nesting_.Depth(span.start_ns, span.dur_ns);
    nesting_.Push(span.end_ns());
    while (rows_.size() <= depth) rows_.emplace_back(base_, top_);
    rows_[depth].Add(span, strings);
    if (lane_.count++ == 0) {
      lane_.first_ns = span.start_ns;
      lane_.last_ns = span.end_ns();
    }
    lane_.last_ns = std::max(lane_.last_ns, span.end_ns());
  }

  unsigned base_, top_;
  OverviewLane lane_;
  Nesting nesting_;
  std::vector<Part> parts_;
  std::vector<BucketRow> rows_;
};

class OverviewBuilder {
 public:
  OverviewBuilder(const RunSpans& spans, const OverviewOptions& options) : spans_(spans), options_(options) {
    int64_t first_ns = 0, last_ns = 0;
    for (size_t g = 0; g < spans.groups().size(); ++g) {
      first_ns = std::min(first_ns, spans.groups()[g].first_start_ns);
      last_ns = std::max(last_ns, spans.LastStart(g));
    }
    const int64_t most_bytes =
        options.most_bytes > 0 ? options.most_bytes : MostOverviewBytes(spans.stored_bytes());
    most_entries_ = static_cast<size_t>(std::max<int64_t>(most_bytes / kBytesPerEntry, 1));
    // Above the whole run one more level: a window may be a little longer than it.
    top_ = std::min<unsigned>(
        static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(last_ns - first_ns))) / 2 + 3,
        kMostLevels - 1);
    base_ = FirstBase(last_ns - first_ns);
    times_.resize(spans.groups().size());
  }

  Result<std::unique_ptr<Overview>> Build() {
    const size_t groups = spans_.groups().size();
    Batch ahead;
    NL_TRY(RunTasks(ReadTasks(0, ahead)));
    for (size_t next = 0; next < groups;) {
      Distribute(ahead);
      next = ahead.to;
      if (options_.progress) options_.progress(RowsBefore(next), spans_.events());
      Batch reading;
      std::vector<Task> tasks = LaneTasks(next < groups ? spans_.groups()[next].first_start_ns : kNoTime);
      for (Task& task : ReadTasks(next, reading)) tasks.push_back(std::move(task));
      NL_TRY(RunTasks(std::move(tasks)));
      ahead = std::move(reading);
      KeepSmall();
    }
    return Finish();
  }

 private:
  using Task = std::function<Status()>;
  struct Batch {
    size_t from = 0, to = 0;
    std::vector<std::vector<LaneSpans>> parts;
  };

  // Fine enough for one row that is full; more rows raise it.
  unsigned FirstBase(int64_t wall_ns) const {
    const auto bucket_ns = static_cast<uint64_t>(wall_ns) / most_entries_;
    return std::min<unsigned>(static_cast<unsigned>(std::bit_width(bucket_ns)) / 2, top_ - 1);
  }

  std::vector<Task> ReadTasks(size_t from, Batch& batch) {
    batch.from = from;
    batch.to = std::min(from + kGroupsPerBatch, spans_.groups().size());
    batch.parts.resize(batch.to - from);
    std::vector<Task> out;
    for (size_t g = from; g < batch.to; ++g) {
      out.push_back([this, g, &batch]() -> Status {
        NL_ASSIGN(batch.parts[g - batch.from], spans_.Read(g));
        for (const LaneSpans& lane : batch.parts[g - batch.from]) NoteTimes(lane.spans, times_[g]);
        return {};
      });
    }
    return out;
  }

  static void NoteTimes(const std::vector<Span>& spans, GroupTimes& times) {
    for (const Span& span : spans) {
      OverviewGroup& of = times[std::min(FirstLevel(span.dur_ns), kMostLevels)];
      of.from_ns = std::min(of.from_ns, span.start_ns);
      of.to_ns = std::max(of.to_ns, span.end_ns());
    }
  }

  void Distribute(Batch& batch) {
    for (std::vector<LaneSpans>& part : batch.parts) {
      for (LaneSpans& lane : part) {
        const auto [it, fresh] = place_.emplace(lane.slot, lanes_.size());
        if (fresh) lanes_.emplace_back(lane.slot, base_, top_);
        lanes_[it->second].Take(std::move(lane.spans));
      }
    }
    batch.parts.clear();
  }

  // The largest first: the last task decides when all are done.
  std::vector<Task> LaneTasks(int64_t until_ns) {
    std::vector<std::pair<size_t, LaneBuilder*>> by_size;
    for (LaneBuilder& lane : lanes_) {
      if (const size_t waiting = lane.waiting(); waiting > 0) by_size.emplace_back(waiting, &lane);
    }
    std::sort(by_size.begin(), by_size.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Task> out;
    for (const auto& [waiting, lane] : by_size) {
      out.push_back([this, lane = lane, until_ns]() -> Status {
        lane->Process(until_ns, spans_.strings());
        return {};
      });
    }
    return out;
  }

  Status RunTasks(std::vector<Task> tasks) {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    Status failed;
    const auto work = [&] {
      for (size_t i = next++; i < tasks.size(); i = next++) {
        Status status = Cancelled() ? Status(nl::Cancelled()) : tasks[i]();
        if (status.ok()) continue;
        const std::lock_guard lock(mutex);
        if (failed.ok()) failed = std::move(status);
        next = tasks.size();
      }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < std::min<size_t>(options_.threads, tasks.size()); ++i)
      threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    return failed;
  }

  int64_t RowsBefore(size_t group) const {
    int64_t rows = 0;
    for (size_t g = 0; g < group; ++g) rows += spans_.groups()[g].rows;
    return rows;
  }

  bool Cancelled() const { return options_.cancelled != nullptr && options_.cancelled->load(); }

  void KeepSmall() {
    for (;;) {
      size_t entries = 0;
      for (const LaneBuilder& lane : lanes_) entries += lane.entries();
      if (entries <= most_entries_ || base_ + 1 >= top_) return;
      for (LaneBuilder& lane : lanes_) lane.RaiseBase(spans_.strings());
      ++base_;
    }
  }

  std::unique_ptr<Overview> Finish() {
    auto out = std::make_unique<Overview>();
    std::sort(lanes_.begin(), lanes_.end(),
              [](const LaneBuilder& a, const LaneBuilder& b) { return a.slot() < b.slot(); });
    for (LaneBuilder& lane : lanes_) lane.Finish(*out, spans_.strings());
    out->base_level = base_;
    out->top_level = top_;
    for (const OverviewLane& lane : out->lanes) {
      out->events += lane.count;
      out->first_ns = std::min(out->first_ns, lane.first_ns);
      out->last_ns = std::max(out->last_ns, lane.last_ns);
    }
    out->times = std::move(times_);
    FindGroups(*out);
    return out;
  }

  const RunSpans& spans_;
  const OverviewOptions options_;
  size_t most_entries_ = 0;
  unsigned base_ = 0, top_ = 1;
  std::vector<GroupTimes> times_;
  std::deque<LaneBuilder> lanes_;
  std::unordered_map<LaneSlot, size_t> place_;
};

}  // namespace

Result<std::unique_ptr<Overview>> BuildOverview(const RunSpans& spans, const OverviewOptions& options) {
  return OverviewBuilder(spans, options).Build();
}

int64_t MostOverviewBytes(int64_t stored_bytes) {
  return std::max(kLeastBytes,
                  static_cast<int64_t>(Overview::kMostShare * static_cast<double>(stored_bytes)));
}

void RaiseBase(Overview& overview, const RunSpans& spans) {
  for (OverviewRow& row : overview.rows) row.buckets.RaiseBase(spans.strings());
  ++overview.base_level;
  FindGroups(overview);
}

size_t Overview::Bytes() const {
  size_t out = groups.size() * sizeof(OverviewGroup) + lanes.size() * sizeof(OverviewLane);
  for (const OverviewRow& row : rows) {
    out += sizeof(OverviewRow);
    for (unsigned level = row.buckets.base(); level <= row.buckets.top(); ++level)
      out +=
          row.buckets.Buckets(level).size() * sizeof(Bucket) + row.buckets.Spans(level).size() * sizeof(Span);
  }
  return out;
}

}  // namespace nl
