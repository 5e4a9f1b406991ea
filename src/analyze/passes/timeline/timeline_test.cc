// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "analyze/facts/timeline.h"
#include "analyze/passes/timeline/crop.h"
#include "analyze/program/observed.h"
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

// Steps of aten::linear (a view, a product that launches) and aten::relu; operators are observed in the first
// two and in none of the others, where everything takes twice as long.
struct Observed {
  RunBuilder run;
  ThreadId main = run.Thread("main");
  int64_t at_ns = 1000;
  std::vector<RowId> launches;

  void Launch(const std::string& kernel, int64_t start_ns) {
    const RowId api = run.Api(main, "cudaLaunchKernel", start_ns, 5);
    run.Kernel(kernel, 7, start_ns + 10, 3, api);
    launches.push_back(api);
  }
  void Step(bool observed, int64_t pace, const std::string& second = "relu_kernel") {
    const int64_t begin_ns = at_ns;
    run.Range(main, "nn.Module: Net", begin_ns, 400 * pace);
    if (observed) {
      run.Range(main, "nn.Module: fc", begin_ns + 20 * pace, 150 * pace);
      run.Op(main, "aten::linear", begin_ns + 30 * pace, 120 * pace);
      run.Op(main, "aten::view", begin_ns + 40 * pace, 10 * pace);
      run.Op(main, "aten::mm", begin_ns + 60 * pace, 60 * pace);
      run.Op(main, "aten::relu", begin_ns + 200 * pace, 50 * pace);
    }
    Launch("gemm_kernel", begin_ns + 80 * pace);
    Launch(second, begin_ns + 210 * pace);
    Launch("gemm_kernel", begin_ns + 300 * pace);  // by no operator
    at_ns = begin_ns + 500 * pace;
  }
  void NotObserved(int64_t from_ns, int64_t to_ns) {
    RangeRow row;
    row.thread_id = main;
    row.start_ns = from_ns;
    row.dur_ns = to_ns - from_ns;
    row.name = run.Name("operators not observed");
    row.category = run.Name("neurolens");
    row.kind = run.Name("async");
    run.data().range.Add(row);
  }
};

TEST(Timeline, OperatorsThatWereNotObservedAreThoseOfTheSameLaunches) {
  Observed o;
  o.Step(true, 1);
  o.Step(true, 1);
  const int64_t from_ns = o.at_ns - 1;
  o.Step(false, 2);
  o.Step(false, 2);
  o.NotObserved(from_ns, o.at_ns);
  Analysis analysis = o.run.Finish();
  const TimelineFacts& t = **analysis.Need<TimelineFacts>();
  std::map<std::string, int> calls, inferred;
  for (uint32_t i = 0; i < t.host.size(); ++i) {
    const std::string name(analysis.data().Text(t.host.name[i]));
    ++calls[name];
    inferred[name] += program::IsInferred(t, i);
  }
  for (const char* name : {"aten::linear", "aten::view", "aten::mm", "aten::relu", "nn.Module: fc"}) {
    EXPECT_EQ(calls[name], 4) << name;
    EXPECT_EQ(inferred[name], 2) << name;
  }
  EXPECT_EQ(inferred["nn.Module: Net"], 0);
  ASSERT_EQ(t.work.size(), 12u);
  for (size_t i = 0; i < t.work.size(); ++i) {
    const bool none = i % 3 == 2;
    ASSERT_EQ(t.work.op[i] == kNone, none) << i;
    if (none) continue;
    EXPECT_EQ(analysis.data().Text(t.host.name[t.work.op[i]]), i % 3 == 0 ? "aten::mm" : "aten::relu");
  }
  // Nested as they were, between the same calls, at the pace of these.
  const uint32_t mm = t.work.op[6];
  EXPECT_EQ(analysis.data().Text(t.host.name[t.host.parent[mm]]), "aten::linear");
  EXPECT_EQ(analysis.data().Text(t.host.name[t.host.parent[t.host.parent[mm]]]), "nn.Module: fc");
  const int64_t step_ns = 1000 + 2 * 500;
  EXPECT_GE(t.host.start_ns[mm], step_ns);
  EXPECT_LE(t.host.start_ns[mm], step_ns + 160);
  EXPECT_GE(t.host.end_ns[mm], step_ns + 165);
  EXPECT_LE(t.host.end_ns[mm], step_ns + 420);
}

TEST(Timeline, OtherLaunchesHaveNoInferredOperator) {
  Observed o;
  o.Step(true, 1);
  const int64_t from_ns = o.at_ns - 1;
  o.Step(false, 1, "never_observed_kernel");
  o.NotObserved(from_ns, o.at_ns);
  Analysis analysis = o.run.Finish();
  const TimelineFacts& t = **analysis.Need<TimelineFacts>();
  ASSERT_EQ(t.work.size(), 6u);
  EXPECT_EQ(t.work.op[4], kNone);
  for (uint32_t i = 0; i < t.host.size(); ++i)
    EXPECT_FALSE(program::IsInferred(t, i) && analysis.data().Text(t.host.name[i]) == "aten::relu");
}

TEST(Timeline, CallsWithoutAMatchHaveTheOperatorThatAllOfTheirKindHave) {
  Observed o;
  o.Step(true, 1);
  const int64_t from_ns = o.at_ns - 1;
  o.Launch("relu_kernel", o.at_ns + 10);  // only aten::relu launches it; the other kernel has two callers
  o.Launch("gemm_kernel", o.at_ns + 50);
  o.at_ns += 100;
  o.NotObserved(from_ns, o.at_ns);
  Analysis analysis = o.run.Finish();
  const TimelineFacts& t = **analysis.Need<TimelineFacts>();
  ASSERT_EQ(t.work.size(), 5u);
  ASSERT_NE(t.work.op[3], kNone);
  EXPECT_EQ(analysis.data().Text(t.host.name[t.work.op[3]]), "aten::relu");
  EXPECT_EQ(t.work.op[4], kNone);
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
