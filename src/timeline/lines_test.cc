// SPDX-License-Identifier: Apache-2.0
// What a tile shows of a line equals what a slow computation makes of all its values, at any window and zoom,
// whether it comes from the buckets that are kept or from the rows of the run.
#include "timeline/lines.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "ledger/run_tables.h"
#include "testing/import_fixture.h"
#include "testing/run_fixture.h"
#include "timeline/tile.h"

namespace nl {
namespace {

using testing_runs::Must;

struct Value {
  int64_t at_ns = 0;
  double value = 0;
};
using Values = std::map<LineKey, std::vector<Value>>;  // in the order of the rows

// Counters and memory of two processes; times repeat and are out of order, over many row groups.
class MadeUpLines {
 public:
  MadeUpLines(uint32_t seed, size_t rows, int64_t wall_ns, size_t rows_per_group,
              int64_t zero_ns = 1'000'000'007)
      : folder_(Must(TempDir::Make("nl-made-up-lines"))), zero_ns_(zero_ns) {
    RunTables tables(folder_.path(), rows_per_group);
    std::mt19937_64 random(seed);
    EventBatch batch;
    for (int i = 0; i < 2; ++i) batch.process.Add({});
    for (int i = 0; i < 3; ++i) {
      ThreadRow thread;
      thread.process_id = static_cast<ProcessId>(i / 2);
      batch.thread.Add(thread);
    }
    OpRow op;  // the zero of the timeline
    op.thread_id = static_cast<ThreadId>(0);
    op.start_ns = zero_ns_;
    op.dur_ns = wall_ns;
    op.name = tables.strings().Add("all of it");
    batch.op.Add(op);
    for (size_t i = 0; i < rows; ++i) {
      const auto jitter_ns = static_cast<int64_t>(random() % 64) - 32;
      const int64_t at_ns = static_cast<int64_t>(i) * wall_ns / static_cast<int64_t>(rows) + jitter_ns;
      const int thread = static_cast<int>(random() % 3);
      AddCounter(tables, batch, random, thread,
                 random() % 5 == 0 ? static_cast<int64_t>(random() % wall_ns) : at_ns);
      AddMemory(batch, random, thread, at_ns);
    }
    tables.Append(batch);
    Must(tables.Flush());
    while (Must(tables.EncodeOne())) {
    }
    Must(tables.Finish());
  }
  const std::string& path() const { return folder_.path(); }
  const Values& values() const { return values_; }

 private:
  void AddCounter(RunTables& tables, EventBatch& batch, std::mt19937_64& random, int thread, int64_t at_ns) {
    LineKey key;
    key.table = LineTable::kCounterSample;
    key.thread = thread;
    key.process = thread / 2;
    key.name = random() % 3 == 0 ? "clock" : "power";
    key.part = random() % 4 == 0 ? "high" : "";
    CounterSampleRow row;
    row.thread_id = static_cast<ThreadId>(thread);
    row.start_ns = at_ns + zero_ns_;
    row.name = tables.strings().Add(key.name);
    row.series = key.part.empty() ? StringId::kNull : tables.strings().Add(key.part);
    if (random() % 9 != 0) {
      row.value = static_cast<double>(random() % 1000) / 8 - 20;
      values_[key].push_back({at_ns, row.value});
    }
    batch.counter_sample.Add(row);
  }
  void AddMemory(EventBatch& batch, std::mt19937_64& random, int thread, int64_t at_ns) {
    LineKey key;
    key.table = LineTable::kMemoryEvent;
    key.process = thread / 2;
    key.device = random() % 3 == 0 ? -1 : 0;
    MemoryEventRow row;
    row.thread_id = static_cast<ThreadId>(thread);
    row.start_ns = at_ns + zero_ns_;
    row.device = static_cast<int32_t>(key.device);
    if (random() % 9 != 0) {
      row.total_allocated_bytes = static_cast<int64_t>(random() % 100'000);
      values_[key].push_back({at_ns, static_cast<double>(row.total_allocated_bytes)});
    }
    batch.memory_event.Add(row);
  }

  TempDir folder_;
  int64_t zero_ns_;
  Values values_;
};

std::string PointText(int64_t at_ns, double min, double max, double last) {
  return fmt::format("{} {} {} {}", at_ns, min, max, last);
}

// By definition: the buckets that the window meets, the last one before them and the first one after them.
std::vector<std::string> SlowPoints(std::vector<Value> values, const Tile& tile) {
  std::stable_sort(values.begin(), values.end(),
                   [](const Value& a, const Value& b) { return a.at_ns < b.at_ns; });
  const auto bucket_of = [&tile](int64_t at_ns) {
    return at_ns / tile.bucket_ns - (at_ns % tile.bucket_ns < 0 ? 1 : 0);
  };
  std::map<int64_t, std::vector<Value>> buckets;
  for (const Value& value : values) buckets[bucket_of(value.at_ns)].push_back(value);
  auto first = buckets.lower_bound(bucket_of(tile.from_ns)),
       last = buckets.upper_bound(bucket_of(tile.to_ns - 1));
  if (first != buckets.begin()) --first;
  if (last != buckets.end()) ++last;
  std::vector<std::string> out;
  for (; first != last; ++first) {
    const std::vector<Value>& in = first->second;
    const auto less = [](const Value& a, const Value& b) { return a.value < b.value; };
    out.push_back(PointText(in.size() == 1 ? in[0].at_ns : first->first * tile.bucket_ns,
                            std::min_element(in.begin(), in.end(), less)->value,
                            std::max_element(in.begin(), in.end(), less)->value, in.back().value));
  }
  return out;
}

// Windows of every zoom at random places; counts those of which a line came from its rows.
void ExpectExact(const Timeline& timeline, const Values& all, int windows, uint32_t seed, int* from_buckets,
                 int* from_rows) {
  std::mt19937_64 random(seed);
  const int64_t wall_ns = timeline.overview().last_ns;
  for (int i = 0; i < windows; ++i) {
    TileRequest request;
    const double zoom =
        std::uniform_real_distribution<double>(0, std::log2(2.0 * static_cast<double>(wall_ns)))(random);
    const auto length_ns = static_cast<int64_t>(std::exp2(zoom)) + 1;
    request.from_ns = static_cast<int64_t>(random() % static_cast<uint64_t>(wall_ns + 1)) - length_ns / 2;
    request.to_ns = request.from_ns + length_ns;
    request.width = 1 + static_cast<int64_t>(random() % 2000);
    for (size_t lane = 0; lane < timeline.lanes().size(); ++lane)
      request.lanes.push_back(static_cast<int64_t>(lane));
    const Tile tile = Must(MakeTile(timeline, request, nullptr));
    std::map<size_t, std::vector<std::string>> drawn;  // by line
    for (const TileSeries& series : tile.series) {
      std::vector<std::string>& points =
          drawn[timeline.lanes()[static_cast<size_t>(series.lane)].line.value()];
      for (size_t p = 0; p < series.at_ns.size(); ++p)
        points.push_back(PointText(series.at_ns[p], series.min[p], series.max[p], series.last[p]));
    }
    for (size_t line = 0; line < timeline.lines().size(); ++line) {
      ++*(tile.bucket_ns < BucketNs(timeline.lines()[line].level) ? from_rows : from_buckets);
      ASSERT_EQ(drawn[line], SlowPoints(all.at(timeline.lines()[line].key), tile))
          << timeline.lines()[line].Name() << " " << request.from_ns << " " << request.to_ns << " "
          << request.width;
    }
  }
}

TEST(Lines, OfATileEqualTheValuesOfTheRun) {
  int from_buckets = 0, from_rows = 0;
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const MadeUpLines run(seed, seed == 1 ? 1 : 400 * seed, seed % 3 == 0 ? 900 : 3'000'000, 50 + 40 * seed);
    LineOptions options;
    options.most_buckets = seed % 2 == 0 ? 1 : 1'000'000;  // as few as there may be, or every value
    const auto timeline = Must(Timeline::OpenFolder(run.path(), {}, options));
    ASSERT_EQ(timeline->lines().size(), run.values().size());
    for (const Line& line : timeline->lines()) {
      EXPECT_EQ(line.count, static_cast<int64_t>(run.values().at(line.key).size()));
      if (seed % 2 == 0) {
        EXPECT_LE(line.buckets.size(), 64u);
      } else {
        EXPECT_EQ(line.level, 0u);
      }
    }
    ExpectExact(*timeline, run.values(), 120, seed, &from_buckets, &from_rows);
  }
  EXPECT_GT(from_buckets, 1000);
  EXPECT_GT(from_rows, 1000);
}

TEST(Lines, AreTheSameWhenTheyAreStored) {
  const MadeUpLines run(5, 3000, 1'000'000, 100);
  const std::unique_ptr<RunSpans> spans = Must(RunSpans::Open(run.path(), "run", nullptr));
  const LineRows rows(*spans);
  LineOptions options;
  options.most_buckets = 2000;
  const std::vector<Line> made = Must(BuildLines(rows, *spans, options));
  const std::string path = run.path() + "/lines.file", again = run.path() + "/again.file";
  const uint64_t checksum = Must(WriteLines(made, *spans, path));
  const std::vector<Line> read = Must(ReadLines(path, *spans));
  ASSERT_EQ(read.size(), made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(read[i].key.Fields(), made[i].key.Fields());
    EXPECT_EQ(std::tie(read[i].count, read[i].first_ns, read[i].level),
              std::tie(made[i].count, made[i].first_ns, made[i].level));
  }
  EXPECT_EQ(Must(WriteLines(read, *spans, again)), checksum);
  // One of a run with another clock is refused, and so is a part of one.
  const MadeUpLines other(5, 3000, 1'000'000, 100, 77);
  const std::unique_ptr<RunSpans> others = Must(RunSpans::Open(other.path(), "run", nullptr));
  EXPECT_FALSE(ReadLines(path, *others).ok());
  std::string bytes = testing_import::ReadText(path);
  bytes.resize(bytes.size() / 2);
  testing_import::WriteText(path, bytes);
  EXPECT_FALSE(ReadLines(path, *spans).ok());
}

TEST(Lines, AreCancelled) {
  const MadeUpLines run(8, 300, 1'000'000, 64);
  const std::unique_ptr<RunSpans> spans = Must(RunSpans::Open(run.path(), "run", nullptr));
  const std::atomic<bool> cancelled{true};
  LineOptions options;
  options.cancelled = &cancelled;
  const Result<std::vector<Line>> made = BuildLines(LineRows(*spans), *spans, options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace nl
