// SPDX-License-Identifier: Apache-2.0
#include "timeline/tile.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "timeline/sorted_runs.h"

namespace nl {

void Describe(Record<TileRow>& r) {
  using T = TileRow;
  r.Name("TileRow", "One depth of a lane: spans that are listed, and buckets of shorter ones");
  r.Field("lane", &T::lane, "Number of the lane");
  r.Field("depth", &T::depth, "Depth in the lane, from 0");
  r.Field("start_ns", &T::start_ns, Unit::kNs, "Starts of the spans, from the zero of the timeline");
  r.Field("dur_ns", &T::dur_ns, Unit::kNs, "Their durations, which may reach beyond the window");
  r.Field("name", &T::name, "Their names, as places in names");
  r.Field("id", &T::id, "Their ids in their tables");
  r.Field("bucket", &T::bucket, "Numbers of the buckets that are not empty; n begins at n * bucket_ns");
  r.Field("count", &T::count, "Spans that start in each bucket");
  r.Field("busy_ns", &T::busy_ns, Unit::kNs, "Time that they cover in it, counted once");
  r.Field("longest_ns", &T::longest_ns, Unit::kNs, "The longest that starts in it");
  r.Field("top", &T::top, "Name with the most time in it, as a place in names");
}

void Describe(Record<TileSeries>& r) {
  using T = TileSeries;
  r.Name("TileSeries", "A line: what each bucket has that is not empty");
  r.Field("lane", &T::lane, "Number of the lane");
  r.Field("at_ns", &T::at_ns, Unit::kNs,
          "Times, from the zero of the timeline: of the value where a bucket has one, else its start");
  r.Field("min", &T::min, "Least values");
  r.Field("max", &T::max, "Greatest values");
  r.Field("last", &T::last, "Last values");
}

void Describe(Record<Tile>& r) {
  using T = Tile;
  r.Name("TimelineReply", "Reply of `neurolens timeline`: one window of the timeline at one width");
  r.Field("run_id", &T::run_id, "The run");
  r.Field("from_ns", &T::from_ns, Unit::kNs, "Start of the window, from the zero of the timeline");
  r.Field("to_ns", &T::to_ns, Unit::kNs, "End of the window");
  r.Field("width", &T::width, "Width in pixels");
  r.Field("bucket_ns", &T::bucket_ns, Unit::kNs,
          "Length of a bucket, a power of four, between half a pixel and two");
  r.Field("exact_from_ns", &T::exact_from_ns, Unit::kNs,
          "Spans this long or longer are listed; shorter ones are in buckets");
  r.Field("names", &T::names, "Names of spans, as they are shown");
  r.Field("name_tables", &T::name_tables, "Table of each name");
  r.Field("rows", &T::rows, "Lanes and depths that have anything in the window");
  r.Field("series", &T::series, "Lines: counters and memory");
}

unsigned TileLevel(int64_t window_ns, int64_t width) {
  unsigned level = 0;
  while (level + 1 < kMostLevels && static_cast<double>(BucketNs(level)) * 2.0 * static_cast<double>(width) <
                                        static_cast<double>(window_ns))
    ++level;
  return level;
}

namespace {

constexpr size_t kMostThreads = 4;

class TileMaker {
 public:
  TileMaker(const Timeline& timeline, const TileRequest& request, const std::atomic<bool>* cancelled)
      : timeline_(timeline),
        overview_(timeline.overview()),
        request_(request),
        cancelled_(cancelled),
        level_(std::min(TileLevel(request.to_ns - request.from_ns, request.width), overview_.top_level)) {}

  Result<Tile> Make() {
    out_.from_ns = request_.from_ns;
    out_.to_ns = request_.to_ns;
    out_.width = request_.width;
    out_.bucket_ns = BucketNs(level_);
    out_.exact_from_ns = ExactFromNs(level_);
    NL_TRY(ReadGroups());
    std::vector<std::vector<BucketRow>> close(level_ < overview_.base_level ? request_.lanes.size() : 0);
    NL_TRY(InParallel(close.size(), [&](size_t i) -> Status {
      const LaneNode& node = timeline_.lanes()[static_cast<size_t>(request_.lanes[i])];
      if (node.slot) close[i] = RowsFromSpans(*node.slot);
      return {};
    }));
    for (size_t i = 0; i < request_.lanes.size(); ++i) {
      const LaneNode& node = timeline_.lanes()[static_cast<size_t>(request_.lanes[i])];
      if (node.line) AddSeries(request_.lanes[i], timeline_.lines()[*node.line]);
      if (node.strip) NL_TRY(AddStrip(request_.lanes[i], *node.strip));
      if (!node.slot) continue;
      if (close.empty()) {
        AddFromOverview(request_.lanes[i], *node.slot);
      } else {
        AddFromSpans(request_.lanes[i], close[i]);
      }
    }
    return std::move(out_);
  }

 private:
  // Rows of the overview of one lane.
  std::span<const OverviewRow> RowsOf(LaneSlot slot) const {
    const auto [first, last] =
        std::equal_range(overview_.rows.begin(), overview_.rows.end(), slot,
                         [](const auto& a, const auto& b) { return SlotIn(a) < SlotIn(b); });
    return {first, last};
  }
  static LaneSlot SlotIn(LaneSlot slot) { return slot; }
  static LaneSlot SlotIn(const OverviewRow& row) { return row.slot; }

  void AddFromOverview(int64_t lane, LaneSlot slot) {
    for (const OverviewRow& row : RowsOf(slot)) AddListed(lane, row.depth, row.buckets);
  }

  void AddListed(int64_t lane, uint32_t depth, const BucketRow& row) {
    std::vector<Span> spans;
    EachListed(row, level_, request_.from_ns, request_.to_ns, [&](const Span& s) { spans.push_back(s); });
    SortRuns(spans, kDrawnBefore);  // each level is in order
    AddRow(lane, depth, spans, row.Buckets(level_));
  }

  // The boxes of CPU samples of one thread.
  Status AddStrip(int64_t lane, size_t strip) {
    NL_ASSIGN(const auto rows, timeline_.StripRows(strip, cancelled_));
    if (level_ >= rows->front().base()) {
      for (size_t depth = 0; depth < rows->size(); ++depth)
        AddListed(lane, static_cast<uint32_t>(depth), (*rows)[depth]);
    } else {
      AddFromSpans(lane, timeline_.strips().CloseRows(strip, *rows, level_, FirstBucket(), LastBucket()));
    }
    return {};
  }

  // A window is read with what its depths and covered times depend on: a short span that reaches into it
  // depends on spans that meet it, and those on spans that meet them.
  int64_t Margin() const { return ExactFromNs(overview_.base_level); }
  int64_t ReadFrom() const { return FirstBucket() - 2 * Margin(); }
  int64_t ReadTo() const { return LastBucket() + Margin(); }
  // The window, from the begin of its first bucket to the end of its last one.
  int64_t FirstBucket() const { return BucketOf(request_.from_ns, level_) << (2 * level_); }
  int64_t LastBucket() const { return (BucketOf(request_.to_ns - 1, level_) + 1) << (2 * level_); }

  Status ReadGroups() {
    const std::vector<size_t> wanted = SpanGroups();
    NL_ASSIGN(const std::vector<size_t> of_lines, LineGroups());
    groups_.resize(wanted.size());
    line_groups_.resize(of_lines.size());
    NL_TRY(InParallel(of_lines.size() + wanted.size(), [&](size_t i) -> Status {
      if (i < of_lines.size()) {
        NL_ASSIGN(line_groups_[i], timeline_.LineGroup(of_lines[i]));
      } else {
        NL_ASSIGN(groups_[i - of_lines.size()], timeline_.Group(wanted[i - of_lines.size()]));
      }
      return {};
    }));
    for (const auto& group : groups_) {
      for (const LaneSpans& lane : *group) parts_[lane.slot].push_back(&lane.spans);
    }
    return {};
  }

  // The row groups that have short spans of the window.
  std::vector<size_t> SpanGroups() const {
    std::vector<size_t> out;
    if (level_ >= overview_.base_level) return out;
    for (size_t g = 0; g < overview_.groups.size(); ++g) {
      const OverviewGroup& group = overview_.groups[g];
      if (group.from_ns <= group.to_ns && group.from_ns < ReadTo() && group.to_ns >= ReadFrom())
        out.push_back(g);
    }
    return out;
  }

  // Runs work(0) ... work(count - 1) on a few threads.
  template <class Work>
  Status InParallel(size_t count, const Work& work) const {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    Status failed;
    const auto run = [&] {
      for (size_t i = next++; i < count; i = next++) {
        Status status = cancelled_ != nullptr && cancelled_->load() ? Status(Cancelled()) : work(i);
        if (status.ok()) continue;
        const std::lock_guard lock(mutex);
        failed = std::move(status);
      }
    };
    const size_t most =
        std::min<size_t>({count, kMostThreads, std::max(1u, std::thread::hardware_concurrency())});
    std::vector<std::thread> threads;
    for (size_t i = 1; i < most; ++i) threads.emplace_back(run);
    run();
    for (std::thread& thread : threads) thread.join();
    return failed;
  }

  struct Placed {
    Span span;
    int64_t depth;  // -1: to be found
  };

  std::vector<Placed> SpansOf(LaneSlot slot) const {
    const int64_t from_ns = ReadFrom(), to_ns = ReadTo();
    std::vector<Placed> out;
    if (const auto it = parts_.find(slot); it != parts_.end()) {
      for (const std::vector<Span>* part : it->second) {
        auto at = std::lower_bound(part->begin(), part->end(), from_ns - Margin(),
                                   [](const Span& span, int64_t at_ns) { return span.start_ns < at_ns; });
        for (; at != part->end() && at->start_ns < to_ns; ++at) {
          if (FirstLevel(at->dur_ns) <= overview_.base_level && Reaches(*at, from_ns, to_ns))
            out.push_back({*at, -1});
        }
      }
    }
    for (const OverviewRow& row : RowsOf(slot)) {
      EachListed(row.buckets, overview_.base_level, from_ns, to_ns, [&](const Span& s) {
        out.push_back({s, int64_t{row.depth}});
      });
    }
    SortRuns(out, [](const Placed& a, const Placed& b) { return DrawnBefore(a.span, b.span); });
    return out;
  }

  std::vector<BucketRow> RowsFromSpans(LaneSlot slot) const {
    Nesting nesting;
    std::vector<BucketRow> rows;
    const StringPool& strings = timeline_.spans().strings();
    for (const Placed& placed : SpansOf(slot)) {
      const uint32_t found = nesting.Depth(placed.span.start_ns, placed.span.dur_ns);
      nesting.Push(placed.span.end_ns());
      const size_t depth = placed.depth < 0 ? found : static_cast<size_t>(placed.depth);
      while (rows.size() <= depth) rows.emplace_back(level_, level_);
      rows[depth].Add(placed.span, strings);
    }
    for (BucketRow& row : rows) row.Finish(strings);
    return rows;
  }

  void AddFromSpans(int64_t lane, const std::vector<BucketRow>& rows) {
    for (size_t depth = 0; depth < rows.size(); ++depth) {
      std::vector<Span> spans;
      EachListed(rows[depth], level_, request_.from_ns, request_.to_ns,
                 [&](const Span& s) { spans.push_back(s); });
      AddRow(lane, static_cast<uint32_t>(depth), spans, rows[depth].Buckets(level_));
    }
  }

  void AddRow(int64_t lane, uint32_t depth, const std::vector<Span>& spans,
              const std::vector<Bucket>& buckets) {
    const int64_t first = BucketOf(request_.from_ns, level_), last = BucketOf(request_.to_ns - 1, level_);
    const auto from =
        std::lower_bound(buckets.begin(), buckets.end(), first,
                         [](const Bucket& bucket, int64_t index) { return bucket.index < index; });
    const auto to = std::upper_bound(
        from, buckets.end(), last, [](int64_t index, const Bucket& bucket) { return index < bucket.index; });
    if (spans.empty() && from == to) return;
    TileRow& row = out_.rows.emplace_back();
    row.lane = lane;
    row.depth = depth;
    for (const Span& span : spans) {
      row.start_ns.push_back(span.start_ns);
      row.dur_ns.push_back(span.dur_ns);
      row.name.push_back(NameAt(span.name));
      row.id.push_back(span.row());
    }
    for (auto it = from; it != to; ++it) {
      row.bucket.push_back(it->index);
      row.count.push_back(it->count);
      row.busy_ns.push_back(it->busy_ns);
      row.longest_ns.push_back(it->longest_ns);
      row.top.push_back(NameAt(it->top));
    }
  }

  // Place of a name in the tile.
  int64_t NameAt(StringId name) {
    const auto [it, fresh] = name_at_.try_emplace(static_cast<uint32_t>(name), 0);
    if (!fresh) return it->second;
    const char* table = kSpanTableNames[static_cast<size_t>(timeline_.spans().TableOf(name))];
    std::string shown = timeline_.DisplayName(name);
    const auto [place, first] =
        shown_at_.try_emplace({table, shown}, static_cast<int64_t>(out_.names.size()));
    if (first) {
      out_.names.push_back(std::move(shown));
      out_.name_tables.emplace_back(table);
    }
    return it->second = place->second;
  }

  // The buckets of the window, with one before and one after it so that the line does not break at its ends.
  void AddSeries(int64_t lane, const Line& line) {
    const std::vector<LineBucket> values = line.level > level_ ? ValuesOf(line) : std::vector<LineBucket>();
    const auto [first, last] = Around(line.level > level_ ? values : line.buckets, level_);
    if (first == last) return;
    TileSeries& out = out_.series.emplace_back();
    out.lane = lane;
    for (const LineBucket& bucket : FoldBuckets(first, last, level_)) {
      const int64_t begin_ns = BucketOf(bucket.at_ns, level_) << (2 * level_);
      out.at_ns.push_back(bucket.count == 1 ? bucket.at_ns : begin_ns);
      out.min.push_back(bucket.min);
      out.max.push_back(bucket.max);
      out.last.push_back(bucket.last);
    }
  }

  // Of what is sorted by time: what lies in the buckets of `level` that the window meets, and in the last one
  // before and the first one after them that are not empty.
  std::pair<const LineBucket*, const LineBucket*> Around(const std::vector<LineBucket>& sorted,
                                                         unsigned level) const {
    const auto before = [level](const LineBucket& b, int64_t index) {
      return BucketOf(b.at_ns, level) < index;
    };
    const LineBucket *begin = sorted.data(), *end = begin + sorted.size();
    const LineBucket* first = std::lower_bound(begin, end, BucketOf(request_.from_ns, level), before);
    const LineBucket* last = std::lower_bound(first, end, BucketOf(request_.to_ns - 1, level) + 1, before);
    if (first != begin) first = std::lower_bound(begin, first, BucketOf(first[-1].at_ns, level), before);
    if (last != end) last = std::lower_bound(last, end, BucketOf(last->at_ns, level) + 1, before);
    return {first, last};
  }

  // The values that the buckets of a line around the window are made of.
  std::vector<LineBucket> ValuesOf(const Line& line) const {
    const auto [first, last] = Around(line.buckets, line.level);
    std::vector<LineBucket> out;
    if (first == last) return out;
    for (const auto& group : line_groups_) {
      for (const LinePart& part : *group) {
        if (part.key < line.key || line.key < part.key) continue;
        const LineBucket* of = first;  // both are sorted by time
        const int64_t from_ns = BucketOf(first->at_ns, line.level) << (2 * line.level);
        auto at = std::lower_bound(part.at_ns.begin(), part.at_ns.end(), from_ns);
        for (; at != part.at_ns.end(); ++at) {
          const int64_t index = BucketOf(*at, line.level);
          while (of != last && BucketOf(of->at_ns, line.level) < index) ++of;
          if (of == last) break;
          const double value = part.value[static_cast<size_t>(at - part.at_ns.begin())];
          if (BucketOf(of->at_ns, line.level) == index) out.push_back({*at, 1, value, value, value});
        }
      }
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const LineBucket& a, const LineBucket& b) { return a.at_ns < b.at_ns; });
    return out;
  }

  // The row groups that have values of lines whose buckets are too long for the tile.
  Result<std::vector<size_t>> LineGroups() const {
    std::vector<std::pair<int64_t, int64_t>> times;  // from, to
    for (const int64_t lane : request_.lanes) {
      const LaneNode& node = timeline_.lanes()[static_cast<size_t>(lane)];
      if (!node.line || timeline_.lines()[*node.line].level <= level_) continue;
      const Line& line = timeline_.lines()[*node.line];
      const auto [first, last] = Around(line.buckets, line.level);
      for (const LineBucket* b = first; b != last; ++b) {
        const int64_t index = BucketOf(b->at_ns, line.level);
        times.emplace_back(index << (2 * line.level), (index + 1) << (2 * line.level));
      }
    }
    std::vector<size_t> out;
    if (times.empty()) return out;
    NL_ASSIGN(const std::vector<LineRows::Group>* groups, timeline_.LineGroups(cancelled_));
    for (size_t g = 0; g < groups->size(); ++g) {
      const LineRows::Group& group = (*groups)[g];
      if (std::any_of(times.begin(), times.end(), [&group](const auto& time) {
            return group.from_ns < time.second && group.to_ns >= time.first;
          }))
        out.push_back(g);
    }
    return out;
  }

  const Timeline& timeline_;
  const Overview& overview_;
  const TileRequest& request_;
  const std::atomic<bool>* cancelled_;
  const unsigned level_;
  Tile out_;
  std::vector<std::shared_ptr<const std::vector<LaneSpans>>> groups_;
  std::vector<std::shared_ptr<const std::vector<LinePart>>> line_groups_;
  std::unordered_map<LaneSlot, std::vector<const std::vector<Span>*>> parts_;
  std::unordered_map<uint32_t, int64_t> name_at_;
  std::map<std::pair<const char*, std::string>, int64_t> shown_at_;
};

}  // namespace

Result<Tile> MakeTile(const Timeline& timeline, const TileRequest& request,
                      const std::atomic<bool>* cancelled) {
  return TileMaker(timeline, request, cancelled).Make();
}

}  // namespace nl
