// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "analyze/facts/timeline.h"
#include "analyze/passes/timeline/crop.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

TEST(Timeline, NestsHostSpansByTimeAndKind) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  const RowId op = run.Op(main, "aten::mm", 10, 50);
  const RowId api = run.Api(main, "cudaLaunchKernel", 20, 5);
  const RowId range = run.Range(main, "step", 10, 50);
  const RowId late = run.Op(main, "aten::add", 60, 5);
  run.Kernel("gemm", 7, 40, 100, api);
  Analysis analysis = run.Finish();
  const auto facts = analysis.Need<TimelineFacts>();
  ASSERT_TRUE(facts.ok()) << facts.error().ToString();
  const TimelineFacts& t = **facts;
  const uint32_t op_node = t.node_of_op[static_cast<size_t>(op)];
  const uint32_t range_node = t.node_of_range[static_cast<size_t>(range)];
  EXPECT_EQ(t.host.parent[t.node_of_api[static_cast<size_t>(api)]], op_node);
  EXPECT_EQ(t.host.parent[op_node], range_node);
  EXPECT_EQ(t.host.parent[range_node], kNone);
  EXPECT_EQ(t.host.last[range_node], range_node + 3);
  EXPECT_EQ(t.host.parent[t.node_of_op[static_cast<size_t>(late)]], kNone);
  ASSERT_EQ(t.work.size(), 1u);
  EXPECT_EQ(t.work.launch[0], t.node_of_api[static_cast<size_t>(api)]);
  EXPECT_EQ(t.work.op[0], op_node) << "found by containment, since no op was linked";
  EXPECT_EQ(t.first_start_ns, 10);
  EXPECT_EQ(t.last_end_ns, 140);
}

TEST(Timeline, ASpanThatSticksOutIsANeighbour) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  const RowId a = run.Range(main, "a", 0, 10);
  const RowId b = run.Range(main, "b", 5, 10);
  const RowId c = run.Range(main, "c", 6, 2);
  Analysis analysis = run.Finish();
  const TimelineFacts& t = **analysis.Need<TimelineFacts>();
  EXPECT_EQ(t.host.parent[t.node_of_range[static_cast<size_t>(a)]], kNone);
  EXPECT_EQ(t.host.parent[t.node_of_range[static_cast<size_t>(b)]], kNone);
  EXPECT_EQ(t.host.parent[t.node_of_range[static_cast<size_t>(c)]], t.node_of_range[static_cast<size_t>(b)]);
}

TEST(Timeline, APartOfItIsCutAtItsEdges) {
  RunBuilder run;
  const ThreadId main = run.Thread("main"), other = run.Thread("other");
  const RowId step = run.Range(main, "step", 0, 100);
  const RowId early = run.Op(main, "aten::mm", 5, 10);
  const RowId op = run.Op(main, "aten::add", 30, 50);
  const RowId api = run.Api(main, "cudaLaunchKernel", 40, 5);
  run.Op(other, "aten::elsewhere", 0, 10);
  run.Kernel("before", 7, 10, 10, run.Api(main, "cudaLaunchKernel", 7, 2));
  run.Kernel("into", 7, 20, 30, api);  // from 20 to 50
  run.Kernel("out_of", 7, 80, 40, api);
  Analysis analysis = run.Finish();
  TimelineFacts t = **analysis.Need<TimelineFacts>();
  passes::timeline::CropTimeline(analysis.data(), {30, 90}, t);
  EXPECT_EQ(t.first_start_ns, 30);
  EXPECT_EQ(t.last_end_ns, 90);
  EXPECT_EQ(t.work.start_ns, (std::vector<int64_t>{30, 80}));
  EXPECT_EQ(t.work.end_ns, (std::vector<int64_t>{50, 90}));
  const uint32_t step_node = t.node_of_range[static_cast<size_t>(step)];
  const uint32_t op_node = t.node_of_op[static_cast<size_t>(op)];
  ASSERT_EQ(t.host.size(), 3u);
  EXPECT_EQ(t.node_of_op[static_cast<size_t>(early)], kNone);
  EXPECT_EQ(t.host.start_ns[step_node], 30);
  EXPECT_EQ(t.host.end_ns[step_node], 90);
  EXPECT_EQ(t.host.last[step_node], 3u);
  EXPECT_EQ(t.host.parent[op_node], step_node);
  EXPECT_EQ(t.work.launch[0], t.node_of_api[static_cast<size_t>(api)]);
  EXPECT_EQ(t.work.op[0], op_node);
  ASSERT_EQ(t.threads.size(), 1u) << "nothing is left of the other one";
  EXPECT_EQ(t.threads[0].last, 3u);
}

// Against the obvious quadratic search for the tightest span around each.
TEST(Timeline, ParentsAgreeWithSearchingForTheTightestSpan) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    RunBuilder run;
    const ThreadId main = run.Thread("main");
    struct Span {
      int64_t start, end;
    };
    std::vector<Span> spans;
    // Properly nested with distinct ends: cut [0, 10000) again and again.
    const std::function<void(int64_t, int64_t, int)> cut = [&](int64_t from, int64_t to, int depth) {
      if (to - from < 8 || depth > 6) return;
      run.Op(main, "op", from, to - from);
      spans.push_back({from, to});
      const int64_t middle = from + 2 + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from - 4));
      cut(from + 1, middle, depth + 1);
      cut(middle + 1, to - 1, depth + 1);
    };
    cut(0, 10000, 0);
    Analysis analysis = run.Finish();
    const TimelineFacts& t = **analysis.Need<TimelineFacts>();
    for (size_t i = 0; i < spans.size(); ++i) {
      size_t best = spans.size();
      for (size_t j = 0; j < spans.size(); ++j) {
        if (j == i || spans[j].start > spans[i].start || spans[j].end < spans[i].end) continue;
        if (best == spans.size() || spans[j].end - spans[j].start < spans[best].end - spans[best].start)
          best = j;
      }
      const uint32_t parent = t.host.parent[t.node_of_op[i]];
      if (best == spans.size()) {
        EXPECT_EQ(parent, kNone);
      } else {
        EXPECT_EQ(parent, t.node_of_op[best]);
      }
    }
  }
}

TEST(Analysis, EveryPassMakesTheFactsItIsNamedAfter) {
  RunBuilder run;
  run.Kernel("k", 7, 0, 10);
  Analysis analysis = run.Finish();
  const Status status = analysis.RunAll();
  ASSERT_TRUE(status.ok()) << status.error().ToString();
  for (const auto& describe : AllPasses()) EXPECT_TRUE(analysis.facts().Has(describe().Info().name));
}

}  // namespace
}  // namespace nl
