// SPDX-License-Identifier: Apache-2.0
// The boxes of flame strips equal what their definition gives sample by sample, at every level and in every
// window.
#include "timeline/strips.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "ledger/run_tables.h"
#include "testing/run_fixture.h"
#include "testing/test_run.h"
#include "timeline/tile.h"

namespace nl {
namespace {

using testing_runs::Must;

struct Sample {
  int64_t at_ns;
  std::string stack;
  int64_t weight_ns = NullOf<int64_t>::value;
  int thread = 0;
};

// A stored run of two threads that has nothing but these samples, and an operator at time 0.
class SampledRun {
 public:
  explicit SampledRun(const std::vector<Sample>& samples, size_t rows_per_group = 1000)
      : folder_(Must(TempDir::Make("nl-sampled-run"))) {
    RunTables tables(folder_.path(), rows_per_group);
    EventBatch batch;
    batch.process.Add({});
    for (int i = 0; i < 2; ++i) {
      ThreadRow thread;
      thread.process_id = static_cast<ProcessId>(0);
      batch.thread.Add(thread);
    }
    OpRow op;
    op.thread_id = static_cast<ThreadId>(1);
    op.start_ns = kZero;
    op.dur_ns = 1'000'000;
    op.name = tables.strings().Add("op");
    batch.op.Add(op);
    for (const Sample& s : samples) {
      CpuSampleRow row;
      row.thread_id = static_cast<ThreadId>(s.thread);
      row.start_ns = kZero + s.at_ns;
      row.stack = tables.strings().Add(s.stack);
      row.weight_ns = s.weight_ns;
      batch.cpu_sample.Add(row);
    }
    tables.Append(batch);
    Must(tables.Flush());
    while (Must(tables.EncodeOne())) {
    }
    Must(tables.Finish());
    timeline_ = Must(Timeline::OpenFolder(folder_.path(), OverviewOptions()));
  }
  const Timeline& timeline() const { return *timeline_; }
  const FlameStrips& strips() const { return timeline_->strips(); }

 private:
  static constexpr int64_t kZero = 5'000'000'000;
  TempDir folder_;
  std::shared_ptr<const Timeline> timeline_;
};

std::string TextOf(const Timeline& timeline, const Span& s) {
  return fmt::format("{}+{} {} #{}", s.start_ns, s.dur_ns, timeline.DisplayName(s.name), s.row());
}

// All boxes of a strip, by depth. At level 0 every box is listed.
std::vector<std::vector<std::string>> Boxes(const SampledRun& run, size_t strip = 0) {
  std::vector<std::vector<std::string>> out;
  const unsigned top = run.timeline().overview().top_level;
  for (const BucketRow& row : Must(run.strips().Rows(strip, top, nullptr, SIZE_MAX))) {
    EXPECT_EQ(row.base(), 0u);
    std::vector<Span> spans;
    EachListed(row, 0, INT64_MIN / 4, INT64_MAX / 4, [&](const Span& s) { spans.push_back(s); });
    std::sort(spans.begin(), spans.end(), DrawnBefore);
    std::vector<std::string>& texts = out.emplace_back();
    for (const Span& s : spans) texts.push_back(TextOf(run.timeline(), s));
  }
  return out;
}

using BoxTexts = std::vector<std::vector<std::string>>;

TEST(FlameStrips, NeighbouringSamplesOfTheSameFunctionAreOneBox) {
  const SampledRun run({{0, "main (a.py:1);f (a.py:4)", 10},
                        {10, "main (a.py:2);f (a.py:5);g [m.so]", 10},
                        {20, "main (a.py:2);h (a.py:9);g [m.so]", 10},
                        {30, "main (a.py:2);f (a.py:4)", 10}});
  EXPECT_EQ(Boxes(run), (BoxTexts{{"0+40 main (a.py) #0"},
                                  {"0+20 f (a.py) #0", "20+10 h (a.py) #2", "30+10 f (a.py) #3"},
                                  {"10+10 g [m.so] #1", "20+10 g [m.so] #2"}}));
}

TEST(FlameStrips, ASampleLastsUntilTheNextOneOrItsWeight) {
  // The second comes late, the third after a pause, the fourth before the third has ended.
  const SampledRun run({{0, "a", 10}, {14, "a", 10}, {100, "a", 30}, {110, "b", 5}});
  EXPECT_EQ(Boxes(run), (BoxTexts{{"0+24 a #0", "100+10 a #2", "110+5 b #3"}}));
}

TEST(FlameStrips, SamplesWithoutWeightHaveTheMedianGap) {
  const SampledRun run({{0, "a"}, {10, "a"}, {20, "b"}, {31, "b"}, {100, "b"}});
  EXPECT_EQ(Boxes(run), (BoxTexts{{"0+20 a #0", "20+22 b #2", "100+11 b #4"}}));
}

TEST(FlameStrips, SamplesThatStandForNoTimeAreLeftOut) {
  const SampledRun run({{0, "a", 10}, {10, "b", 10}, {10, "c", 10}, {30, "d", 0}, {0, "alone", 0, 1}});
  ASSERT_EQ(run.strips().strips().size(), 1u);
  EXPECT_EQ(Boxes(run), (BoxTexts{{"0+10 a #0", "10+20 c #2", "30+20 d #3"}}));
}

TEST(FlameStrips, TheBoxOfASampleHasItsSamplesAndThoseOfItsOwnFunction) {
  const SampledRun run({{0, "main;f", 10}, {10, "main;f;g", 10}, {20, "main;f", 10}, {30, "main", 10}});
  const std::optional<StripBox> box = run.strips().BoxOf(0, 1, 1);
  ASSERT_TRUE(box);
  EXPECT_EQ(std::tie(box->start_ns, box->dur_ns, box->samples, box->self_samples),
            std::tuple(int64_t{0}, int64_t{30}, int64_t{3}, int64_t{2}));
  EXPECT_EQ(run.strips().BoxOf(0, 3, 0)->samples, 4);
  EXPECT_FALSE(run.strips().BoxOf(0, 3, 1));
  EXPECT_FALSE(run.strips().BoxOf(0, 4, 0));
  EXPECT_FALSE(run.strips().BoxOf(0, 3, -1));
}

TEST(FlameStrips, DeepStacksAreCut) {
  std::string stack = "f0";
  for (uint32_t i = 1; i < FlameStrips::kMostDepths + 10; ++i) stack += fmt::format(";f{}", i);
  const SampledRun run({{0, stack, 10}});
  EXPECT_EQ(run.strips().strips()[0].depths, FlameStrips::kMostDepths);
}

std::vector<Sample> RandomSamples(uint32_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Sample> out;
  int64_t at_ns[2] = {0, 500};
  for (size_t i = 0; i < count; ++i) {
    const int thread = static_cast<int>(random() % 2);
    std::string stack = "main";
    for (uint64_t depth = random() % 6; depth > 0; --depth) stack += fmt::format(";f{}", random() % 3 / 2);
    at_ns[thread] += random() % 40 == 0 ? 20'000 : 900 + static_cast<int64_t>(random() % 300);
    out.push_back(
        {at_ns[thread], std::move(stack), random() % 9 == 0 ? NullOf<int64_t>::value : 1000, thread});
  }
  return out;
}

// By definition: at each depth, samples are joined while they follow each other with equal first frames.
BoxTexts SlowBoxes(const std::vector<Sample>& samples, int thread) {
  struct Timed {
    int64_t start_ns, end_ns;
    std::vector<std::string> frames;
    size_t row;
  };
  std::vector<Timed> timed;
  std::vector<int64_t> gaps;
  for (size_t row = 0; row < samples.size(); ++row) {
    if (samples[row].thread != thread) continue;
    if (!timed.empty()) gaps.push_back(samples[row].at_ns - timed.back().start_ns);
    Timed& t = timed.emplace_back(Timed{samples[row].at_ns, samples[row].weight_ns, {}, row});
    for (size_t at = 0; at <= samples[row].stack.size();) {
      const size_t end = std::min(samples[row].stack.find(';', at), samples[row].stack.size());
      t.frames.push_back(samples[row].stack.substr(at, end - at));
      at = end + 1;
    }
  }
  std::sort(gaps.begin(), gaps.end());
  size_t depths = 0;
  for (size_t i = 0; i < timed.size(); ++i) {
    const int64_t weight_ns = IsNull(timed[i].end_ns) ? gaps[gaps.size() / 2] : timed[i].end_ns;
    const int64_t gap_ns = i + 1 < timed.size() ? timed[i + 1].start_ns - timed[i].start_ns : INT64_MAX;
    timed[i].end_ns = timed[i].start_ns + (gap_ns / 2 <= weight_ns ? gap_ns : weight_ns);
    depths = std::max(depths, timed[i].frames.size());
  }
  BoxTexts out(depths);
  for (size_t depth = 0; depth < depths; ++depth) {
    for (size_t i = 0; i < timed.size();) {
      if (timed[i].frames.size() <= depth) {
        ++i;
        continue;
      }
      size_t last = i;
      const auto head = [&](size_t k) {
        const auto& frames = timed[k].frames;
        return std::vector(frames.begin(),
                           frames.begin() + static_cast<std::ptrdiff_t>(std::min(depth + 1, frames.size())));
      };
      while (last + 1 < timed.size() && timed[last].end_ns == timed[last + 1].start_ns &&
             head(last + 1) == head(i))
        ++last;
      out[depth].push_back(fmt::format("{}+{} {} #{}", timed[i].start_ns,
                                       timed[last].end_ns - timed[i].start_ns, timed[i].frames[depth],
                                       timed[i].row));
      i = last + 1;
    }
  }
  return out;
}

TEST(FlameStrips, EqualTheirDefinition) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<Sample> samples = RandomSamples(seed, 30 * seed);
    const SampledRun run(samples, 7 + seed);  // boxes go on over row groups
    ASSERT_EQ(run.strips().strips().size(), 2u);
    for (int thread : {0, 1}) EXPECT_EQ(Boxes(run, static_cast<size_t>(thread)), SlowBoxes(samples, thread));
  }
}

struct WindowText {
  std::vector<std::string> spans, buckets;
  bool operator==(const WindowText&) const = default;
};
WindowText TextOf(const SampledRun& run, const BucketRow& row, unsigned level, int64_t from_ns,
                  int64_t to_ns) {
  WindowText out;
  std::vector<Span> spans;
  EachListed(row, level, from_ns, to_ns, [&](const Span& s) { spans.push_back(s); });
  std::sort(spans.begin(), spans.end(), DrawnBefore);
  for (const Span& s : spans) out.spans.push_back(TextOf(run.timeline(), s));
  for (const Bucket& b : row.Buckets(level)) {
    if (b.index < BucketOf(from_ns, level) || b.index > BucketOf(to_ns - 1, level)) continue;
    out.buckets.push_back(fmt::format("{} {} {} {} {}", b.index, b.count, b.busy_ns, b.longest_ns,
                                      run.timeline().DisplayName(b.top)));
  }
  return out;
}

TEST(FlameStrips, AWindowCloserThanTheRowsIsTheSame) {
  const SampledRun run(RandomSamples(3, 4000), 333);
  const unsigned top = run.timeline().overview().top_level;
  const std::vector<BucketRow> all = Must(run.strips().Rows(0, top, nullptr, SIZE_MAX));
  std::mt19937_64 random(9);
  for (const size_t most_entries : {3000, 300}) {
    const std::vector<BucketRow> few = Must(run.strips().Rows(0, top, nullptr, most_entries));
    const unsigned base = few.front().base();
    ASSERT_GT(base, 4u);  // boxes of about 1000 ns are in buckets
    for (int i = 0; i < 200; ++i) {
      const auto level = static_cast<unsigned>(random() % base);
      const int64_t from_ns = static_cast<int64_t>(random() % 2'600'000) >> (2 * level) << (2 * level);
      const int64_t to_ns = from_ns + (static_cast<int64_t>(1 + random() % 40) << (2 * level));
      const std::vector<BucketRow> close = run.strips().CloseRows(0, few, level, from_ns, to_ns);
      ASSERT_EQ(close.size(), all.size());
      for (size_t depth = 0; depth < all.size(); ++depth) {
        const WindowText found = TextOf(run, close[depth], level, from_ns, to_ns),
                         wanted = TextOf(run, all[depth], level, from_ns, to_ns);
        ASSERT_EQ(found.spans, wanted.spans) << level << " " << from_ns << " " << to_ns << " depth " << depth;
        ASSERT_EQ(found.buckets, wanted.buckets)
            << level << " " << from_ns << " " << to_ns << " depth " << depth;
      }
    }
    for (unsigned level = base; level <= top; ++level)
      ASSERT_EQ(TextOf(run, few[0], level, 0, 2'600'000), TextOf(run, all[0], level, 0, 2'600'000));
  }
}

TEST(FlameStrips, ATileHasThemWhenTheirLaneIsAskedFor) {
  const SampledRun run({{0, "main;f", 1000}, {1000, "main;g", 1000}, {0, "other", 1000, 1}});
  const std::vector<LaneNode>& lanes = run.timeline().lanes();
  std::vector<int64_t> stacks;
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].kind != TimelineLaneKind::kStacks) continue;
    stacks.push_back(static_cast<int64_t>(i));
    EXPECT_EQ(lanes[static_cast<size_t>(*lanes[i].parent)].kind, TimelineLaneKind::kSamples);
  }
  ASSERT_EQ(stacks.size(), 2u);
  TileRequest request;
  request.to_ns = 10'000;
  request.width = 1000;
  request.lanes = stacks;
  const Tile tile = Must(MakeTile(run.timeline(), request, nullptr));
  std::vector<std::string> rows;
  for (const TileRow& row : tile.rows) {
    std::string text = fmt::format("{}", lanes[static_cast<size_t>(row.lane)].depths);
    for (size_t i = 0; i < row.start_ns.size(); ++i)
      text += fmt::format(" {}+{} {}", row.start_ns[i], row.dur_ns[i],
                          tile.names[static_cast<size_t>(row.name[i])]);
    rows.push_back(text);
  }
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::string>{"1 0+1000 other", "2 0+1000 f 1000+1000 g", "2 0+2000 main"}));
  // Zoomed out they are a bucket.
  request.to_ns = 400'000;
  request.width = 10;
  const Tile far = Must(MakeTile(run.timeline(), request, nullptr));
  for (const TileRow& row : far.rows) {
    EXPECT_TRUE(row.start_ns.empty());
    EXPECT_EQ(row.bucket, std::vector<int64_t>{0});
  }
  EXPECT_EQ(far.rows.size(), 3u);
}

}  // namespace
}  // namespace nl
