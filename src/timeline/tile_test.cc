// SPDX-License-Identifier: Apache-2.0
// Every tile, and the sums of every window, equal what a slow and obvious computation makes of all spans of
// the run: for recorded runs and made-up ones, at windows and zooms of any kind, whether it comes from the
// overview or from the spans.
#include "timeline/tile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <tuple>

#include "ledger/run_tables.h"
#include "testing/import_fixture.h"
#include "testing/run_fixture.h"
#include "testing/test_run.h"
#include "timeline/totals.h"

namespace nl {
namespace {

using testing_runs::Must;

struct DrawnSpan {
  Span span;
  int64_t depth = 0;
};
using SpansBySlot = std::map<LaneSlot, std::vector<DrawnSpan>>;

// All spans with their depths, by definition: spans before it that still run at its middle.
SpansBySlot AllSpans(const Timeline& timeline) {
  SpansBySlot out;
  for (size_t g = 0; g < timeline.spans().groups().size(); ++g) {
    for (const LaneSpans& lane : Must(timeline.spans().Read(g))) {
      for (const Span& span : lane.spans) out[lane.slot].push_back({span, 0});
    }
  }
  for (auto& [slot, spans] : out) {
    std::sort(spans.begin(), spans.end(),
              [](const DrawnSpan& a, const DrawnSpan& b) { return DrawnBefore(a.span, b.span); });
    for (size_t i = 0; i < spans.size(); ++i) {
      const int64_t middle_ns = spans[i].span.start_ns + spans[i].span.dur_ns / 2;
      for (size_t j = 0; j < i; ++j) spans[i].depth += spans[j].span.end_ns() > middle_ns;
    }
  }
  return out;
}

struct SlowBucket {
  int64_t count = 0, busy_ns = 0, longest_ns = 0;
  std::map<std::string, std::pair<int64_t, int64_t>> by_name;  // table and raw name: time, count
};

std::string TaggedName(const Timeline& timeline, StringId name) {
  return std::string(timeline.spans().strings().Text(name));
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// One row as text, spans and buckets.
struct RowText {
  std::vector<std::string> spans, buckets;
  bool operator==(const RowText&) const = default;
};
using TileText = std::map<std::pair<int64_t, int64_t>, RowText>;

TileText Slow(const Timeline& timeline, const SpansBySlot& all, const TileRequest& request,
              const Tile& tile) {
  TileText out;
  for (const auto& [slot, spans] : all) {
    const int64_t lane = timeline.LaneOf(slot);
    std::map<int64_t, int64_t> covered;  // by depth
    std::map<int64_t, std::map<int64_t, SlowBucket>> buckets;
    for (const auto& [s, depth] : spans) {
      const int64_t end_ns = s.end_ns();
      auto [until, first] = covered.try_emplace(depth, INT64_MIN);
      int64_t from_ns = std::max(s.start_ns, until->second);
      until->second = std::max(until->second, end_ns);
      if (s.dur_ns >= tile.exact_from_ns) {
        if (Reaches(s, request.from_ns, request.to_ns))
          out[{lane, depth}].spans.push_back(
              fmt::format("{} {} {} {}:{}", s.start_ns, s.dur_ns, timeline.DisplayName(s.name),
                          kSpanTableNames[static_cast<size_t>(s.table())], s.row()));
        continue;
      }
      SlowBucket& here = buckets[depth][FloorDivide(s.start_ns, tile.bucket_ns)];
      ++here.count;
      here.longest_ns = std::max(here.longest_ns, s.dur_ns);
      ++here.by_name[TaggedName(timeline, s.name)].second;
      while (from_ns < end_ns) {
        const int64_t index = FloorDivide(from_ns, tile.bucket_ns);
        const int64_t to_ns = std::min(end_ns, (index + 1) * tile.bucket_ns);
        SlowBucket& bucket = buckets[depth][index];
        bucket.busy_ns += to_ns - from_ns;
        bucket.by_name[TaggedName(timeline, s.name)].first += to_ns - from_ns;
        from_ns = to_ns;
      }
    }
    for (const auto& [depth, of_depth] : buckets) {
      for (const auto& [index, b] : of_depth) {
        if (index * tile.bucket_ns >= request.to_ns || (index + 1) * tile.bucket_ns <= request.from_ns)
          continue;
        auto top = b.by_name.begin();
        for (auto it = b.by_name.begin(); it != b.by_name.end(); ++it) {
          if (it->second > top->second) top = it;
        }
        out[{lane, depth}].buckets.push_back(fmt::format(
            "{} {} {} {} {}", index, b.count, b.busy_ns, b.longest_ns,
            timeline.DisplayName(timeline.spans().Intern(static_cast<SpanTable>(top->first[0] - 'a'),
                                                         std::string_view(top->first).substr(1)))));
      }
    }
  }
  return out;
}

TileText Fast(const Tile& tile) {
  TileText out;
  const auto name = [&tile](int64_t at) { return tile.names.at(static_cast<size_t>(at)); };
  for (const TileRow& row : tile.rows) {
    RowText& text = out[{row.lane, row.depth}];
    for (size_t i = 0; i < row.start_ns.size(); ++i)
      text.spans.push_back(fmt::format("{} {} {} {}:{}", row.start_ns[i], row.dur_ns[i], name(row.name[i]),
                                       tile.name_tables.at(static_cast<size_t>(row.name[i])), row.id[i]));
    for (size_t i = 0; i < row.bucket.size(); ++i)
      text.buckets.push_back(fmt::format("{} {} {} {} {}", row.bucket[i], row.count[i], row.busy_ns[i],
                                         row.longest_ns[i], name(row.top[i])));
  }
  return out;
}

std::vector<int64_t> AllLanes(const Timeline& timeline) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < timeline.lanes().size(); ++i) {
    if (timeline.lanes()[i].kind != TimelineLaneKind::kStacks) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

// Time of the window in which any of the spans ran.
int64_t CoveredNs(std::vector<Span> spans, int64_t from_ns, int64_t to_ns) {
  std::sort(spans.begin(), spans.end(), DrawnBefore);
  int64_t covered_ns = 0, until_ns = from_ns;
  for (const Span& span : spans) {
    covered_ns += std::max<int64_t>(0, std::min(span.end_ns(), to_ns) - std::max(span.start_ns, until_ns));
    until_ns = std::max(until_ns, span.end_ns());
  }
  return covered_ns;
}

// Totals of some spans: count, time and covered time in the window, whole durations, longest.
std::string SlowTotals(const std::vector<Span>& spans, int64_t from_ns, int64_t to_ns) {
  int64_t total_ns = 0, all_ns = 0, longest_ns = 0;
  for (const Span& span : spans) {
    all_ns += span.dur_ns;
    longest_ns = std::max(longest_ns, span.dur_ns);
    total_ns += std::max<int64_t>(0, std::min(span.end_ns(), to_ns) - std::max(span.start_ns, from_ns));
  }
  return fmt::format("{} {} {} {} {}", spans.size(), total_ns, CoveredNs(spans, from_ns, to_ns), all_ns,
                     longest_ns);
}
std::string TotalsText(const SpanTotals& t) {
  return fmt::format("{} {} {} {} {}", t.count, t.total_ns, t.covered_ns, t.all_ns, t.longest_ns);
}

// The sums of a window over all lanes, and over every second one.
void ExpectExactTotals(const Timeline& timeline, const SpansBySlot& all, int64_t from_ns, int64_t to_ns) {
  for (const bool half : {false, true}) {
    TotalsRequest request;
    request.from_ns = from_ns;
    request.to_ns = to_ns;
    if (half) request.slots.resize(static_cast<size_t>(timeline.spans().threads() + 1) * 3);
    for (size_t slot = 0; slot < request.slots.size(); slot += 2) request.slots[slot] = 1;
    std::map<std::string, std::vector<Span>> by_name;
    std::map<SpanTable, std::vector<Span>> by_table;
    std::map<LaneSlot, std::vector<Span>> by_lane;
    for (const auto& [slot, spans] : all) {
      if (half && slot % 2 != 0) continue;
      for (const auto& [span, depth] : spans) {
        if (!Reaches(span, from_ns, to_ns)) continue;
        by_name[TaggedName(timeline, span.name)].push_back(span);
        by_table[span.table()].push_back(span);
        by_lane[slot].push_back(span);
      }
    }
    const WindowTotals totals = Must(AddUpWindow(timeline, request, nullptr));
    ASSERT_EQ(totals.names.size(), by_name.size()) << from_ns << " " << to_ns;
    for (const SpanNameTotals& name : totals.names) {
      const std::string text = TaggedName(timeline, name.name);
      ASSERT_EQ(TotalsText(name.totals), SlowTotals(by_name[text], from_ns, to_ns))
          << text << " " << from_ns << " " << to_ns;
    }
    for (size_t t = 0; t < kSpanTables; ++t)
      ASSERT_EQ(TotalsText(totals.tables[t]),
                SlowTotals(by_table[static_cast<SpanTable>(t)], from_ns, to_ns));
    ASSERT_EQ(totals.lanes.size(), by_lane.size());
    for (const SpanLaneTotals& lane : totals.lanes) {
      const std::vector<Span>& spans = by_lane[lane.slot];
      std::vector<Span> work;
      std::copy_if(spans.begin(), spans.end(), std::back_inserter(work),
                   [](const Span& s) { return s.table() != SpanTable::kRange; });
      SpanTotals plain = lane.totals;
      plain.covered_ns = CoveredNs(spans, from_ns, to_ns);
      ASSERT_EQ(TotalsText(plain), SlowTotals(spans, from_ns, to_ns));
      ASSERT_EQ(lane.totals.covered_ns, CoveredNs(work.empty() ? spans : work, from_ns, to_ns));
    }
  }
}

// Windows of every zoom from a few ns to twice the run, at random places.
void ExpectExact(const Timeline& timeline, int windows, uint32_t seed, int* from_overview, int* from_spans) {
  const SpansBySlot all = AllSpans(timeline);
  std::mt19937_64 random(seed);
  const int64_t first_ns = timeline.overview().first_ns, wall_ns = timeline.overview().last_ns - first_ns;
  for (int i = 0; i < windows; ++i) {
    TileRequest request;
    const double zoom =
        std::uniform_real_distribution<double>(0, std::log2(2.0 * static_cast<double>(wall_ns) + 8))(random);
    const auto length_ns = static_cast<int64_t>(std::exp2(zoom)) + 1;
    request.from_ns =
        first_ns - length_ns / 2 + static_cast<int64_t>(random() % static_cast<uint64_t>(wall_ns + 1));
    request.to_ns = request.from_ns + length_ns;
    request.width = 1 + static_cast<int64_t>(random() % 2000);
    request.lanes = AllLanes(timeline);
    const Tile tile = Must(MakeTile(timeline, request, nullptr));
    const bool exact = tile.bucket_ns < BucketNs(timeline.overview().base_level);
    ++*(exact ? from_spans : from_overview);
    // What a pixel shows is listed, and buckets are about a pixel.
    const double px = static_cast<double>(length_ns) / static_cast<double>(request.width);
    EXPECT_LE(static_cast<double>(tile.exact_from_ns), std::max(px, 1.0));
    if (tile.bucket_ns < BucketNs(timeline.overview().top_level)) {
      EXPECT_GE(static_cast<double>(tile.bucket_ns), px / 2);
    }
    if (i % 4 == 0) ExpectExactTotals(timeline, all, request.from_ns, request.to_ns);
    const TileText slow = Slow(timeline, all, request, tile), fast = Fast(tile);
    ASSERT_EQ(slow.size(), fast.size()) << request.from_ns << " " << request.to_ns << " " << request.width;
    for (const auto& [row, text] : slow) {
      ASSERT_TRUE(fast.count(row)) << "lane " << row.first << " depth " << row.second;
      ASSERT_EQ(text.spans, fast.at(row).spans)
          << request.from_ns << " " << request.to_ns << " " << request.width;
      ASSERT_EQ(text.buckets, fast.at(row).buckets)
          << request.from_ns << " " << request.to_ns << " " << request.width;
    }
  }
}

struct WindowCounts {
  int from_overview = 0, from_spans = 0;
};
void ExpectExactOfFile(const std::string& path, int64_t most_bytes, size_t rows_per_group,
                       WindowCounts* counts) {
  SCOPED_TRACE(path);
  const TestRun run(testing_import::ReadText(path), path.substr(path.rfind('/') + 1), rows_per_group);
  OverviewOptions options;
  options.most_bytes = most_bytes;
  const auto timeline = Must(Timeline::OpenFolder(run.run_folder(), options));
  ASSERT_GT(timeline->overview().events, 0);
  ExpectExact(*timeline, 60, 7, &counts->from_overview, &counts->from_spans);
}
void ExpectExactOfSource(const std::string& file, int64_t most_bytes, size_t rows_per_group) {
  WindowCounts counts;
  ExpectExactOfFile(std::string(NL_SOURCE_DIR) + "/" + file, most_bytes, rows_per_group, &counts);
  EXPECT_GT(counts.from_overview, 0);
  EXPECT_GT(counts.from_spans, 0);
}

// Real profiles that are not part of the sources: AMD and Nsight Systems, of one and of two GPUs.
class TileOfPublicProfile : public testing::TestWithParam<const char*> {};
TEST_P(TileOfPublicProfile, EqualsItsSpans) {
  const char* shared = std::getenv("NEUROLENS_SHARED");
  const std::string path =
      fmt::format("{}/data/public/{}", shared == nullptr ? NL_SOURCE_DIR "/../shared" : shared, GetParam());
  if (!PathExists(path)) GTEST_SKIP() << GetParam() << " is not here (NEUROLENS_SHARED)";
  WindowCounts counts;
  for (const int64_t most_bytes : {20'000, 2'000'000}) ExpectExactOfFile(path, most_bytes, 500, &counts);
  EXPECT_GT(counts.from_overview, 0);
  EXPECT_GT(counts.from_spans, 0);
}
INSTANTIATE_TEST_SUITE_P(Profiles, TileOfPublicProfile,
                         testing::Values("rocprof/rocprofv3_908_results.json.gz",
                                         "nsys/fuser_report1.sqlite.gz", "nsys/h100_2gpu_1s.sqlite.gz",
                                         "nsys/mfu_2gpu_after.sqlite.gz"));

TEST(Tile, EqualsTheSpansOfARecordedProgram) { ExpectExactOfSource("data/h200/base.json.gz", 60'000, 3000); }
TEST(Tile, EqualsTheSpansOfARunWithPythonStacks) {
  ExpectExactOfSource("data/h200/resnet50_train_stack.json.gz", 40'000, 1000);
}
TEST(Tile, EqualsTheSpansOfARunWithoutGpu) {
  ExpectExactOfSource("data/h200/jax_gelu_norm.trace.json.gz", 20'000, 100);
}
TEST(Tile, EqualsTheSpansOfACaptureWithSamplesAndCounters) {
  ExpectExactOfSource("data/h200/compiled_training.nlc.gz", 20'000, 500);
}

// Spans that overlap, repeat, last no time or all of it, out of order over many row groups.
class MadeUpRun {
 public:
  MadeUpRun(uint32_t seed, size_t spans, int64_t wall_ns, size_t rows_per_group)
      : folder_(Must(TempDir::Make("nl-made-up-run"))) {
    RunTables tables(folder_.path(), rows_per_group);
    std::mt19937_64 random(seed);
    EventBatch batch;
    batch.process.Add({});
    for (int i = 0; i < 3; ++i) {
      ThreadRow thread;
      thread.process_id = static_cast<ProcessId>(0);
      batch.thread.Add(thread);
    }
    const auto name = [&](uint64_t n) { return tables.strings().Add(fmt::format("name {}", n)); };
    for (size_t i = 0; i < spans; ++i) {
      const double size = std::exp2(
          std::uniform_real_distribution<double>(0, std::log2(static_cast<double>(wall_ns)))(random));
      const int64_t dur_ns = random() % 8 == 0 ? 0 : static_cast<int64_t>(size);
      const auto start_ns = static_cast<int64_t>(random() % static_cast<uint64_t>(wall_ns));
      const auto thread = random() % 7 == 0 ? ThreadId::kNull : static_cast<ThreadId>(random() % 2);
      OpRow op;
      op.thread_id = thread;
      op.start_ns = start_ns;
      op.dur_ns = dur_ns;
      op.name = name(random() % 5);
      batch.op.Add(op);
      RangeRow range;
      range.thread_id = thread;
      range.start_ns = start_ns + static_cast<int64_t>(random() % 3);
      range.dur_ns = random() % 5 == 0 ? NullOf<int64_t>::value : dur_ns;
      range.name = name(random() % 3);
      range.kind = tables.strings().Add(random() % 6 == 0 ? "async" : "span");
      batch.range.Add(range);
    }
    KernelRow kernel;  // a lane of one event
    kernel.thread_id = static_cast<ThreadId>(2);
    kernel.start_ns = wall_ns / 2;
    kernel.dur_ns = wall_ns / 3;
    kernel.name = name(9);
    batch.kernel.Add(kernel);
    tables.Append(batch);
    Must(tables.Flush());
    while (Must(tables.EncodeOne())) {
    }
    Must(tables.Finish());
  }
  const std::string& path() const { return folder_.path(); }

 private:
  TempDir folder_;
};

TEST(Tile, EqualsTheSpansOfMadeUpRuns) {
  int from_overview = 0, from_spans = 0;
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const MadeUpRun run(seed, seed == 1 ? 1 : 40 * seed, seed % 3 == 0 ? 50 : 1'000'000, 16 + seed);
    OverviewOptions options;
    options.most_bytes = seed % 2 == 0 ? 700 : 1'000'000;
    const auto timeline = Must(Timeline::OpenFolder(run.path(), options));
    ExpectExact(*timeline, 60, seed, &from_overview, &from_spans);
  }
  EXPECT_GT(from_overview, 100);
  EXPECT_GT(from_spans, 100);
}

TEST(Overview, IsTheSameWhenItIsStored) {
  const MadeUpRun run(5, 2000, 1'000'000, 100);
  OverviewOptions options;
  options.most_bytes = 20'000;
  const std::unique_ptr<RunSpans> spans = Must(RunSpans::Open(run.path(), "run", nullptr));
  const std::unique_ptr<Overview> made = Must(BuildOverview(*spans, options));
  const std::string path = run.path() + "/overview.file", again = run.path() + "/again.file";
  const uint64_t checksum = Must(WriteOverview(*made, *spans, path));
  const std::unique_ptr<Overview> read = Must(ReadOverview(path, *spans));
  ASSERT_EQ(read->rows.size(), made->rows.size());
  EXPECT_EQ(read->base_level, made->base_level);
  EXPECT_EQ(read->events, 4001);
  for (size_t i = 0; i < made->rows.size(); ++i) {
    for (unsigned level = made->base_level; level <= made->top_level; ++level) {
      const std::vector<Bucket>&a = made->rows[i].buckets.Buckets(level),
            &b = read->rows[i].buckets.Buckets(level);
      ASSERT_EQ(a.size(), b.size());
      for (size_t k = 0; k < a.size(); ++k) {
        EXPECT_EQ(std::tie(a[k].index, a[k].busy_ns, a[k].longest_ns, a[k].count, a[k].top),
                  std::tie(b[k].index, b[k].busy_ns, b[k].longest_ns, b[k].count, b[k].top));
      }
    }
  }
  EXPECT_EQ(Must(WriteOverview(*read, *spans, again)), checksum);
  // One of another run is refused.
  const MadeUpRun other(6, 2000, 1'000'000, 90);
  const std::unique_ptr<RunSpans> others = Must(RunSpans::Open(other.path(), "run", nullptr));
  EXPECT_FALSE(ReadOverview(path, *others).ok());
  std::string bytes = testing_import::ReadText(path);
  bytes.resize(bytes.size() / 2);
  testing_import::WriteText(path, bytes);
  EXPECT_FALSE(ReadOverview(path, *spans).ok());
}

TEST(Overview, IsTheSameWithOneThreadAndSeveral) {
  const MadeUpRun run(8, 3000, 1'000'000, 64);
  uint64_t checksum = 0;
  for (const unsigned threads : {1u, 2u, 4u}) {
    OverviewOptions options;
    options.threads = threads;
    options.most_bytes = 20'000;
    const std::unique_ptr<RunSpans> spans = Must(RunSpans::Open(run.path(), "run", nullptr));
    const std::unique_ptr<Overview> made = Must(BuildOverview(*spans, options));
    const uint64_t of_this = Must(WriteOverview(*made, *spans, run.path() + "/overview.file"));
    if (checksum != 0) {
      EXPECT_EQ(of_this, checksum);
    }
    checksum = of_this;
  }
}

TEST(Overview, IsCancelled) {
  const MadeUpRun run(8, 300, 1'000'000, 64);
  const std::unique_ptr<RunSpans> spans = Must(RunSpans::Open(run.path(), "run", nullptr));
  const std::atomic<bool> cancelled{true};
  OverviewOptions options;
  options.cancelled = &cancelled;
  const Result<std::unique_ptr<Overview>> made = BuildOverview(*spans, options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kCancelled);
}

// Reads the binary form as docs/formats/tile.md has it.
class TileBytesReader {
 public:
  explicit TileBytesReader(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_.at(at_++));
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  int64_t Signed() {
    const uint64_t v = Varint();
    return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
  }
  template <class T>
  T Fixed() {
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string Text(size_t bytes) {
    at_ += bytes;
    return bytes_.substr(at_ - bytes, bytes);
  }
  bool AtEnd() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

TEST(Tile, HasTheSameContentAsBytes) {
  Tile tile;
  tile.from_ns = -5;
  tile.to_ns = 4000;
  tile.bucket_ns = 16;
  tile.exact_from_ns = 8;
  tile.names = {"a", "größer"};
  tile.name_tables = {"op", "kernel"};
  tile.rows = {{3, 0, {-20, 30}, {900, 8}, {1, 0}, {7, 5}, {}, {}, {}, {}, {}},
               {3, 2, {}, {}, {}, {}, {-1, 0, 200}, {1, 0, 400}, {16, 1, 15}, {7, 0, 1}, {0, 1, 0}}};
  tile.series = {{9, {-7, 100}, {1.5, 2}, {3, 2}, {2.5, 2}}, {11, {40}, {8}, {8}, {8}}};
  const std::string bytes = TileBytes(tile);
  TileBytesReader in(bytes);
  EXPECT_EQ(in.Text(4), "NLT2");
  for (const uint32_t expected : {2u, 2u, 3u, 2u, 2u, 3u, static_cast<uint32_t>(bytes.size())})
    EXPECT_EQ(in.Fixed<uint32_t>(), expected);
  for (const int64_t expected : {-5, 4000, 16, 8}) EXPECT_EQ(in.Fixed<int64_t>(), expected);
  for (const uint64_t expected : {3, 3, 0, 2, 2, 0, 0, 3}) EXPECT_EQ(in.Varint(), expected);
  EXPECT_EQ(in.Signed(), -15);
  EXPECT_EQ(in.Signed(), -850);  // 30 after the end of the span before it at 880
  for (const uint64_t expected : {900, 8, 1, 0}) EXPECT_EQ(in.Varint(), expected);
  EXPECT_EQ(in.Signed(), 7);
  EXPECT_EQ(in.Signed(), -2);
  for (const int64_t expected : {0, 0, 199}) EXPECT_EQ(in.Signed(), expected);  // -1 is the bucket of from_ns
  for (const uint64_t expected : {1, 0, 400}) EXPECT_EQ(in.Varint(), expected);
  for (const uint8_t expected : {63, 4, 60}) EXPECT_EQ(in.Fixed<uint8_t>(), expected);
  for (const uint64_t expected : {0, 1, 0}) EXPECT_EQ(in.Varint(), expected);
  for (const uint8_t expected : {12, 0, 1}) EXPECT_EQ(in.Fixed<uint8_t>(), expected);
  for (const uint64_t expected : {9, 11, 4, 3}) EXPECT_EQ(in.Varint(), expected);  // one value: an odd number
  for (const int64_t expected : {-2, 107, 45}) EXPECT_EQ(in.Signed(), expected);
  for (const float expected : {2.5f, 2.f, 8.f, 1.5f, 2.f, 3.f, 2.f}) EXPECT_EQ(in.Fixed<float>(), expected);
  EXPECT_EQ(in.Fixed<uint8_t>(), 5);
  EXPECT_EQ(in.Fixed<uint8_t>(), 0);
  EXPECT_EQ(in.Varint(), 1u);
  EXPECT_EQ(in.Varint(), 8u);
  EXPECT_EQ(in.Text(9), "agrößer");
  EXPECT_TRUE(in.AtEnd());
}

TEST(TileLevel, IsNearAPixel) {
  EXPECT_EQ(TileLevel(1, 1), 0u);
  EXPECT_EQ(TileLevel(1600, 1600), 0u);
  EXPECT_EQ(TileLevel(3200, 1600), 0u);
  EXPECT_EQ(TileLevel(3201, 1600), 1u);
  EXPECT_EQ(TileLevel(8 * 1600, 1600), 1u);
  EXPECT_EQ(TileLevel(8 * 1600 + 1, 1600), 2u);
}

}  // namespace
}  // namespace nl
