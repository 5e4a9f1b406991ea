// SPDX-License-Identifier: Apache-2.0
// Nesting, wire format and the edges of rendering; what the bytes say is read back by an
// independent reader in tests/suites/perfetto.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "model/event_batch.h"
#include "report/renderer.h"
#include "report/renderers/perfetto/nesting.h"
#include "report/renderers/perfetto/proto_writer.h"

namespace nl::renderers::perfetto {

const Renderer& Describe();

namespace {

struct Span {
  int64_t start_ns, end_ns;
};

std::vector<size_t> TracksOf(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  Nesting nesting;
  std::vector<size_t> tracks;
  for (size_t i = 0; i < spans.size(); ++i)
    tracks.push_back(nesting.Place(i, spans[i].start_ns, spans[i].end_ns));
  return tracks;
}

bool Cross(const Span& a, const Span& b) {  // a starts first
  return b.start_ns < a.end_ns && b.end_ns > a.end_ns;
}

TEST(Nesting, SpansThatCrossNeverShareATrack) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Span> spans;
    const int64_t wide = 1 + static_cast<int64_t>(random() % 60);
    for (int i = 0; i < 60; ++i) {
      const auto start = static_cast<int64_t>(random() % 50);
      spans.push_back({start, start + static_cast<int64_t>(random() % static_cast<uint64_t>(wide))});
    }
    const std::vector<size_t> tracks = TracksOf(spans);
    for (size_t i = 0; i < spans.size(); ++i) {
      for (size_t j = i + 1; j < spans.size(); ++j) {
        ASSERT_FALSE(tracks[i] == tracks[j] && Cross(spans[i], spans[j])) << "round " << round;
      }
    }
  }
}

TEST(Nesting, SpansThatNestStayOnTrackZero) {
  std::vector<Span> spans = {{0, 100}, {0, 50},   {0, 50},    {10, 10},
                             {10, 20}, {50, 100}, {100, 100}, {100, 120}};
  for (const size_t track : TracksOf(spans)) EXPECT_EQ(track, 0u);
}

TEST(Nesting, AChildOfAnOverlappingSpanNestsInIt) {
  std::vector<Span> spans = {{0, 10}, {5, 20}, {12, 18}, {13, 15}, {11, 12}};
  const std::vector<size_t> tracks = TracksOf(spans);  // 0-10, 5-20, 11-12, 12-18, 13-15
  EXPECT_EQ(tracks, (std::vector<size_t>{0, 1, 0, 0, 0}));
  std::vector<Span> deep = {{0, 10}, {5, 20}, {6, 19}, {7, 18}};
  EXPECT_EQ(TracksOf(deep), (std::vector<size_t>{0, 1, 1, 1}));
}

TEST(Nesting, InnermostIsTheSpanOpenAtTheTime) {
  Nesting nesting;
  EXPECT_FALSE(nesting.Innermost(0).has_value());
  nesting.Place(0, 0, 100);
  nesting.Place(1, 10, 20);
  EXPECT_EQ(nesting.Innermost(10), 1u);
  EXPECT_EQ(nesting.Innermost(20), 1u);
  EXPECT_EQ(nesting.Innermost(21), 0u);
  EXPECT_FALSE(nesting.Innermost(101).has_value());
}

std::string Hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[c & 15];
  }
  return out;
}

TEST(ProtoWriter, WritesTheWireFormat) {
  ProtoWriter writer;
  writer.Varint(1, 300);
  EXPECT_EQ(Hex(writer.bytes()), "08ac02");
  writer.Clear();
  writer.Int(1, -1);
  EXPECT_EQ(Hex(writer.bytes()), "08ffffffffffffffffff01");
  writer.Clear();
  writer.Double(2, 1.0);
  EXPECT_EQ(Hex(writer.bytes()), "11000000000000f03f");
  writer.Clear();
  writer.Bytes(60, "ab");
  EXPECT_EQ(Hex(writer.bytes()), "e203026162");
}

// Tables in memory.
class FakeTables final : public RunReader {
 public:
  Status Load(ColumnSet& to, std::initializer_list<const char*> columns) override {
    for (ColumnSet* table : batch.Tables()) {
      if (&table->info() != &to.info()) continue;
      for (const char* name : columns) {
        for (size_t i = 0; i < to.info().columns.size(); ++i) {
          if (std::strcmp(to.info().columns[i].name, name) != 0) continue;
          Copy(to.info().columns[i], table->VectorOf(i), to.VectorOf(i), table->size());
        }
      }
    }
    return {};
  }
  const StringPool& strings() const override { return pool; }
  Result<std::string> Document() override { return NotFound("only tables"); }
  Result<std::vector<File>> TableFiles() override { return NotFound("only tables"); }
  Result<Analysis*> Analyzed() override { return NotFound("only tables"); }
  Status WriteArchive(const RenderOptions&, const ByteSink&) override { return NotFound("only tables"); }

  EventBatch batch;
  StringPool pool;

 private:
  template <class T>
  static void CopyAs(void* from, void* to, size_t rows) {
    auto& source = *static_cast<std::vector<T>*>(from);
    auto& target = *static_cast<std::vector<T>*>(to);
    target = source;
    target.resize(rows, NullOf<T>::value);  // late columns are empty in a batch
  }
  static void Copy(const ColumnInfo& info, void* from, void* to, size_t rows) {
    switch (info.type) {
      case ColumnType::kInt64: return CopyAs<int64_t>(from, to, rows);
      case ColumnType::kInt32: return CopyAs<int32_t>(from, to, rows);
      case ColumnType::kFloat64: return CopyAs<double>(from, to, rows);
      case ColumnType::kString: return CopyAs<StringId>(from, to, rows);
    }
  }
};

int64_t CountOf(const RenderCounts& counts, const std::string& what) {
  for (const auto& [name, count] : counts) {
    if (name == what) return count;
  }
  return -1;
}

RenderTarget Into(std::string& bytes) {
  const auto append = [&bytes](std::string_view part) -> Status {
    bytes.append(part);
    return {};
  };
  return {append, {}};
}

void AddRange(FakeTables& run, const char* name, ThreadId thread, int64_t start_ns, int64_t dur_ns) {
  RangeRow row;
  row.thread_id = thread;
  row.start_ns = start_ns;
  row.dur_ns = dur_ns;
  row.name = run.pool.Add(name);
  run.batch.range.Add(row);
}

TEST(Perfetto, ARunWithoutRowsIsAnEmptyTrace) {
  FakeTables run;
  std::string bytes;
  const Result<RenderCounts> counts = Describe().Render(run, {}, Into(bytes));
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(CountOf(*counts, "slices"), 0);
  EXPECT_TRUE(bytes.empty());
}

TEST(Perfetto, RowsWithoutALaneOrATimeAreStillDrawn) {
  FakeTables run;
  AddRange(run, "no lane", ThreadId::kNull, 5, 1);
  AddRange(run, "a lane that no table has", static_cast<ThreadId>(99), 5, 1);
  AddRange(run, "no time", ThreadId::kNull, NullOf<int64_t>::value, NullOf<int64_t>::value);
  AddRange(run, "to the end of time", ThreadId::kNull, 6, std::numeric_limits<int64_t>::max());
  AddRange(run, "negative", ThreadId::kNull, 7, -3);
  std::string bytes;
  const Result<RenderCounts> counts = Describe().Render(run, {}, Into(bytes));
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(CountOf(*counts, "slices"), 3);
  EXPECT_EQ(CountOf(*counts, "instants"), 2);
}

TEST(Perfetto, AFailingSinkAndACancelledRunEndIt) {
  FakeTables run;
  AddRange(run, "x", ThreadId::kNull, 5, 1);
  const auto full = [](std::string_view) -> Status { return IoError("the disk is full", ENOSPC); };
  const Result<RenderCounts> failed = Describe().Render(run, {}, {full, {}});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
  std::atomic<bool> cancelled{true};
  RenderOptions options;
  options.cancelled = &cancelled;
  std::string bytes;
  const Result<RenderCounts> stopped = Describe().Render(run, options, Into(bytes));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace nl::renderers::perfetto
