// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "analyze/facts/critical_path.h"
#include "analyze/waits/path_graph.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

struct Path {
  explicit Path(RunBuilder& run) : analysis(run.Finish()) {
    const auto made = analysis.Need<CriticalPathFacts>();
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().ToString());
    if (made.ok()) facts = *made;
    timeline = *analysis.Need<TimelineFacts>();
  }
  int64_t Ns(PathClass c) const { return facts->ns_by_class[static_cast<size_t>(c)]; }
  int64_t Of(PathClass c, std::string_view name) const {
    for (const auto& x : facts->contributors) {
      if (x.what == c && analysis.data().Text(x.name) == name) return x.ns;
    }
    return 0;
  }
  int64_t If(std::string_view selector, double factor) const {
    const auto result = WhatIf(*facts, *timeline, analysis.data(), selector, factor);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
    return result.ok() ? result->new_wall_ns : -1;
  }
  Analysis analysis;
  const CriticalPathFacts* facts = nullptr;
  const TimelineFacts* timeline = nullptr;
};

TEST(CriticalPath, AHostBoundRunIsHostOps) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  for (int i = 0; i < 10; ++i) {
    const int64_t at = 1000 * i;
    run.Op(main, "aten::add", at, 1000);
    const RowId launch = run.Api(main, "cudaLaunchKernel", at + 800, 100);
    run.Kernel("add_kernel", 7, at + 950, 40, launch);
  }
  run.Api(main, "cudaDeviceSynchronize", 10000, 20);
  const Path path(run);
  EXPECT_EQ(path.facts->wall_ns, 10020);
  // The last kernel ended before the sync began: the host alone decides.
  EXPECT_EQ(path.Ns(PathClass::kHostOp), 9000);
  EXPECT_EQ(path.Ns(PathClass::kLaunch), 1000);
  EXPECT_EQ(path.Ns(PathClass::kSyncWait), 20);
  EXPECT_EQ(path.Ns(PathClass::kKernel), 0);
  EXPECT_EQ(path.If("kernel:add_kernel", 0), 10020);
  // Then the last kernel ends at 5040 and the sync returns 20 later.
  EXPECT_EQ(path.If("op:aten::add", 0.5), 5060) << "the launch calls inside the op shrink with it";
  EXPECT_EQ(path.If("api:cudaLaunchKernel", 0.5), 9520);
  EXPECT_EQ(path.If("host", 0.5), 5050);
  for (const int64_t slack_ns : path.facts->work_slack_ns) EXPECT_GT(slack_ns, 0);
}

TEST(CriticalPath, ADeviceBoundRunIsKernels) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  const RowId a = run.Api(main, "cudaLaunchKernel", 0, 10);
  const RowId b = run.Api(main, "cudaLaunchKernel", 20, 10);
  const RowId c = run.Api(main, "cudaLaunchKernel", 40, 10);
  run.Kernel("gemm", 7, 15, 1000, a);
  run.Kernel("gemm", 7, 1020, 1000, b);
  run.Kernel("norm", 7, 2025, 500, c);
  const RowId d = run.Api(main, "cudaLaunchKernel", 50, 5);
  run.Kernel("aside", 8, 100, 50, d);
  run.Api(main, "cudaDeviceSynchronize", 60, 2475);  // returns 10 ns after the norm
  const Path path(run);
  EXPECT_EQ(path.facts->wall_ns, 2535);
  EXPECT_EQ(path.Of(PathClass::kKernel, "gemm"), 2000);
  EXPECT_EQ(path.Of(PathClass::kKernel, "norm"), 500);
  EXPECT_EQ(path.Of(PathClass::kLaunch, "cudaLaunchKernel"), 10);
  EXPECT_EQ(path.Ns(PathClass::kLaunchLatency), 5);
  EXPECT_EQ(path.Ns(PathClass::kDeviceGap), 10);
  EXPECT_EQ(path.Of(PathClass::kSyncWait, "cudaDeviceSynchronize"), 10);
  EXPECT_EQ(path.If("kernel:gemm", 0.5), 1535);
  EXPECT_EQ(path.If("kernel:g*", 0.5), 1535);
  EXPECT_EQ(path.If("kernel:aside", 0), 2535) << "not on the path";
  EXPECT_EQ(path.If("op:none", 0), 2535);
  // Slack of `aside`: until the sync could not return in time.
  ASSERT_EQ(path.facts->work_slack_ns.size(), 4u);
  EXPECT_EQ(path.facts->work_slack_ns[0], 0);
  EXPECT_EQ(path.facts->work_slack_ns[1], 2535 - 10 - 150);
}

TEST(CriticalPath, ABlockingCopyIsOnThePathWithTheWorkItWaitedFor) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  const RowId launch = run.Api(main, "cudaLaunchKernel", 0, 10);
  const RowId copy = run.Api(main, "cudaMemcpyAsync", 20, 1500);
  run.Kernel("gemm", 7, 15, 400, launch);
  run.Memcpy("DtoH", "Device", "Pageable", 1 << 20, 7, 420, 1000, copy);
  run.Op(main, "aten::add", 1520, 80);
  const Path path(run);
  EXPECT_EQ(path.facts->wall_ns, 1600);
  EXPECT_EQ(path.Ns(PathClass::kCopy), 1000);
  EXPECT_EQ(path.Of(PathClass::kKernel, "gemm"), 400);
  EXPECT_EQ(path.Of(PathClass::kSyncWait, "cudaMemcpyAsync"), 100);
  EXPECT_EQ(path.Ns(PathClass::kHostOp), 80);
  EXPECT_EQ(path.If("copy:DtoH", 0.5), 1100);
  EXPECT_EQ(path.If("copy:HtoD", 0.5), 1600);
}

TEST(CriticalPath, APinnedAsyncCopyDoesNotBlock) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  const RowId copy = run.Api(main, "cudaMemcpyAsync", 20, 1500);
  run.Memcpy("DtoH", "Device", "Pinned", 1 << 20, 7, 420, 1000, copy);
  run.Op(main, "aten::add", 1520, 80);
  const Path path(run);
  EXPECT_EQ(path.Ns(PathClass::kCopy), 0);
  EXPECT_EQ(path.Of(PathClass::kLaunch, "cudaMemcpyAsync"), 1500);
}

TEST(CriticalPath, AStreamSynchronizeWaitsForTheStreamTheDriverNames) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  const RowId a = run.Api(main, "cudaLaunchKernel", 0, 10);
  const RowId b = run.Api(main, "cudaLaunchKernel", 10, 10);
  run.Kernel("waited", 7, 30, 400, a);
  run.Kernel("other", 8, 30, 425, b);
  const RowId sync = run.Api(main, "cudaStreamSynchronize", 20, 440);
  SyncRow row;
  row.start_ns = 20;
  row.dur_ns = 440;
  row.device = 0;
  row.stream = 7;
  row.name = run.Name("Stream Sync");
  run.data().sync.Add(row);
  run.data().sync.api_call_id.push_back(sync);
  run.Op(main, "aten::add", 460, 40);
  const Path path(run);
  EXPECT_EQ(path.Of(PathClass::kKernel, "waited"), 400);
  EXPECT_EQ(path.Of(PathClass::kKernel, "other"), 0);
  EXPECT_EQ(path.Ns(PathClass::kSyncWait), 30);
}

TEST(CriticalPath, AnEventWaitOrdersTwoStreams) {
  for (const bool recorded : {true, false}) {
    RunBuilder run;
    const ThreadId main = run.Thread("main");
    const RowId a = run.Api(main, "cudaLaunchKernel", 0, 10);
    const RowId record = run.Api(main, "cudaEventRecord", 10, 5);
    const RowId wait = run.Api(main, "cudaStreamWaitEvent", 20, 5);
    const RowId b = run.Api(main, "cudaLaunchKernel", 30, 10);
    run.Kernel("first", 7, 15, 1000, a);
    run.Kernel("second", 8, 1020, 500, b);
    if (recorded) {
      run.data().api_call.correlation[static_cast<size_t>(record)] = 77;
      SyncRow row;
      row.start_ns = 20;
      row.dur_ns = 1;
      row.device = 0;
      row.stream = 8;
      row.wait_on_stream = 7;
      row.wait_on_correlation = 77;
      run.data().sync.Add(row);
      run.data().sync.api_call_id.push_back(wait);
    }
    const Path path(run);
    EXPECT_EQ(path.Of(PathClass::kKernel, "first"), 1000) << recorded;
    EXPECT_EQ(path.Of(PathClass::kKernel, "second"), 500);
    EXPECT_EQ(path.Ns(PathClass::kSyncWait), 5);
    EXPECT_EQ(path.facts->inferred_waits, recorded ? 0 : 1);
  }
}

TEST(CriticalPath, TheAutogradThreadTakesOverWhileTheMainThreadWaits) {
  for (const bool with_python : {false, true}) {
    RunBuilder run;
    const ThreadId main = run.Thread("main");
    const ThreadId autograd = run.Thread("autograd");
    run.Range(main, "ProfilerStep#1", 0, 1000);
    if (with_python) {
      run.Python(main, "train.py(1): step", 0, 1000);
      run.Python(main, "<built-in method run_backward of torch._C._EngineBase>", 105, 690);
    }
    run.Op(main, "forward", 0, 100);
    run.Op(autograd, "backward", 150, 600);
    run.Op(main, "optimizer", 800, 200);
    const Path path(run);
    EXPECT_EQ(path.Of(PathClass::kHostOp, "backward"), 600) << with_python;
    EXPECT_EQ(path.Of(PathClass::kHostOp, "forward"), 100);
    EXPECT_EQ(path.Of(PathClass::kHostOp, "optimizer"), 200);
    EXPECT_EQ(path.If("op:backward", 0), 400);
  }
}

TEST(CriticalPath, ABackgroundThreadIsNotOnThePath) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  const ThreadId loader = run.Thread("pin memory");
  run.Op(main, "a", 0, 100);
  run.Op(loader, "pin", 50, 200);
  run.Op(main, "b", 260, 100);
  run.Op(loader, "pin", 270, 50);
  const Path path(run);
  EXPECT_EQ(path.Of(PathClass::kHostOp, "pin"), 0);
  EXPECT_EQ(path.Ns(PathClass::kUnrecorded), 160);
}

void CollectiveOfTwoRanks(bool at_op) {
  RunBuilder run;
  std::vector<RowId> kernels;
  for (int rank = 0; rank < 2; ++rank) {
    const ThreadId thread = run.Thread("main", rank);
    const int64_t late = rank == 1 ? 500 : 0;
    run.Op(thread, rank == 1 ? "slow" : "fast", 0, 100 + late);
    const RowId comms = run.Op(thread, "record_param_comms", 100 + late, 10);
    const RowId launch = run.Api(thread, "cudaLaunchKernel", 100 + late, 10);
    kernels.push_back(run.Kernel("ncclDevKernel_AllReduce", 7, 115 + late, 700 - late, launch));
    run.data().kernel.thread_id.back() = run.Thread("gpu", rank);
    CollectiveRow row;
    row.owner = run.Name(at_op ? "op" : "kernel");
    row.owner_id = at_op ? comms : kernels.back();
    row.group_name = run.Name("0");
    row.sequence = 5;
    run.data().collective.Add(row);
  }
  run.Api(ThreadId{0}, "cudaDeviceSynchronize", 200, 620);
  run.Op(ThreadId{0}, "after", 830, 10);
  const Path path(run);
  EXPECT_EQ(path.Of(PathClass::kHostOp, "slow"), 600) << "rank 0 waits for rank 1";
  EXPECT_EQ(path.Ns(PathClass::kCommunication), 200);
}

TEST(CriticalPath, ACollectiveWaitsForTheLastRank) {
  CollectiveOfTwoRanks(false);
  CollectiveOfTwoRanks(true);
}

TEST(CriticalPath, TheProfilersOwnSpanIsNoActor) {
  RunBuilder run;
  const ThreadId spans = run.Thread("Spans");
  const ThreadId main = run.Thread("main");
  run.Range(spans, "PyTorch Profiler (0)", 0, 1000, "Trace");
  run.Op(main, "aten::add", 100, 800);
  const Path path(run);
  EXPECT_EQ(path.facts->wall_ns, 1000);
  EXPECT_EQ(path.Ns(PathClass::kHostOp), 800);
  EXPECT_EQ(path.Ns(PathClass::kUnrecorded), 200);
}

TEST(CriticalPath, NothingRecordedIsSaidNotGuessed) {
  RunBuilder run;
  const Path path(run);
  EXPECT_EQ(path.facts->wall_ns, 0);
  EXPECT_FALSE(path.facts->reason.empty());
  EXPECT_EQ(path.If("host", 0.5), 0);
}

TEST(CriticalPath, WorkWithoutItsLaunchFollowsTheStream) {
  RunBuilder run;
  run.Kernel("a", 7, 0, 100);
  run.Kernel("b", 7, 150, 100);
  run.Kernel("c", 9, 300, 100);
  const Path path(run);
  EXPECT_EQ(path.Ns(PathClass::kKernel), 300);
  EXPECT_EQ(path.Ns(PathClass::kDeviceGap), 50);
  EXPECT_EQ(path.Ns(PathClass::kUnrecorded), 50);
}

TEST(CriticalPath, OverlappingWorkOnAStreamCountsOnce) {
  RunBuilder run;
  run.Kernel("a", 7, 0, 100);
  run.Kernel("b", 7, 60, 100);  // programmatic dependent launch
  const Path path(run);
  EXPECT_EQ(path.Of(PathClass::kKernel, "a"), 60);
  EXPECT_EQ(path.Of(PathClass::kKernel, "b"), 100);
  EXPECT_EQ(path.If("kernel:a", 0.5), 130);
}

TEST(CriticalPath, BadSelectorsAreRefused) {
  RunBuilder run;
  run.Kernel("a", 7, 0, 100);
  const Path path(run);
  for (const char* bad : {"", "kernel", "kernel:", "host:x", "gpu:a", "launch:x"})
    EXPECT_FALSE(WhatIf(*path.facts, *path.timeline, path.analysis.data(), bad, 0.5).ok()) << bad;
  for (const double bad : {-0.5, std::nan(""), HUGE_VAL})
    EXPECT_FALSE(WhatIf(*path.facts, *path.timeline, path.analysis.data(), "host", bad).ok()) << bad;
}

// ---- properties ----

// Small runs with nested ops, launches, syncs, several streams and threads; some times collide on purpose.
void RandomRun(RunBuilder& run, std::mt19937& random) {
  const auto upto = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  std::vector<int64_t> free_ns(3, 0);
  const int threads = 1 + static_cast<int>(upto(2));
  for (int t = 0; t < threads; ++t) {
    const ThreadId thread = run.Thread("t");
    int64_t now = upto(30);
    const int64_t calls = 1 + upto(4);
    for (int64_t c = 0; c < calls; ++c) {
      const int64_t start = now;
      now += upto(20);
      const int64_t kind = upto(5);
      const int64_t dur = 1 + upto(10);
      if (kind == 0) {
        int64_t until = now + dur;
        for (const int64_t f : free_ns) until = std::max(until, f);
        run.Api(thread, "cudaDeviceSynchronize", now, until - now + upto(3));
        now = until + 3;
      } else if (kind == 1) {
        run.Api(thread, "cudaStreamWaitEvent", now, dur);
        now += dur;
      } else {
        const auto stream = static_cast<size_t>(upto(3));
        const RowId call = run.Api(thread, "cudaLaunchKernel", now, dur);
        const int64_t begins = std::max(now + upto(12), free_ns[stream] - upto(3));
        const int64_t lasts = upto(60);
        run.Kernel("k" + std::to_string(upto(3)), static_cast<int64_t>(stream), begins, lasts, call);
        free_ns[stream] = std::max(free_ns[stream], begins + lasts);
        now += dur;
      }
      if (upto(2) == 0) run.Op(thread, "op" + std::to_string(upto(2)), start, now - start);
      if (upto(4) == 0) run.Api(thread, "cudaEventRecord", now, 0);
      now += upto(15);
    }
  }
}

// Every way from a beginning to a point, one after the other: no order, no memory, no arrays.
int64_t Longest(const PathGraph& graph, const DeviceWork& work, uint32_t point,
                const std::function<int64_t(uint32_t, int64_t, EdgeKind)>& weight,
                const std::function<int64_t(uint32_t)>& delay) {
  const int64_t time_ns = graph.TimeOf(work, point);
  int64_t bound_ns = INT64_MIN, longest_ns = INT64_MIN;
  graph.ForEachCause(work, point, [&](uint32_t from, int64_t w, EdgeKind kind, uint32_t) {
    bound_ns = std::max(bound_ns, graph.TimeOf(work, from) + w);
    const uint32_t item = kind == EdgeKind::kOverlap ? from / 2 : point / 2;
    longest_ns = std::max(longest_ns, Longest(graph, work, from, weight, delay) + weight(item, w, kind));
  });
  return (bound_ns == INT64_MIN ? time_ns : longest_ns + time_ns - bound_ns) + delay(point);
}
int64_t EndOf(const PathGraph& graph, const DeviceWork& work,
              const std::function<int64_t(uint32_t, int64_t, EdgeKind)>& weight,
              const std::function<int64_t(uint32_t)>& delay) {
  int64_t end_ns = INT64_MIN;
  for (uint32_t p = 0; p < graph.points(); ++p)
    end_ns = std::max(end_ns, Longest(graph, work, p, weight, delay));
  return end_ns;
}

TEST(CriticalPathProperty, SumsAndFactorOneAreExact) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    RunBuilder run;
    RandomRun(run, random);
    const Path path(run);  // the pass itself fails when the path has a hole
    ASSERT_EQ(path.facts->path_ns, path.timeline->wall_ns());
    for (const char* selector : {"host", "launch", "kernel:*", "op:*", "api:*", "copy:*"})
      EXPECT_EQ(path.If(selector, 1), path.facts->wall_ns) << selector << " in round " << round;
    EXPECT_EQ(path.facts->graph->order.size(), path.facts->graph->points());
  }
}

TEST(CriticalPathProperty, WhatIfAgreesWithTryingEveryWay) {
  std::mt19937 random(12);
  int shorter = 0, same = 0;
  for (int round = 0; round < 150; ++round) {
    RunBuilder run;
    RandomRun(run, random);
    const Path path(run);
    const PathGraph& graph = *path.facts->graph;
    const DeviceWork& work = path.timeline->work;
    for (const double factor : {0.0, 0.5, 2.0}) {
      const auto weight = [&](uint32_t item, int64_t w, EdgeKind kind) {
        const bool runs = kind == EdgeKind::kExecution || kind == EdgeKind::kOverlap;
        return runs && path.analysis.data().Text(work.name[item]) == "k1"
                   ? std::llround(static_cast<double>(w) * factor)
                   : w;
      };
      const auto none = [](uint32_t) { return int64_t{0}; };
      const auto measured = [](uint32_t, int64_t w, EdgeKind) { return w; };
      const int64_t expected =
          path.facts->wall_ns + EndOf(graph, work, weight, none) - EndOf(graph, work, measured, none);
      ASSERT_EQ(path.If("kernel:k1", factor), expected) << "round " << round;
      if (factor < 1) ++(expected < path.facts->wall_ns ? shorter : same);
    }
  }
  EXPECT_GT(shorter, 20);
  EXPECT_GT(same, 20);
}

TEST(CriticalPathProperty, SlackIsHowLongAnItemCanBeDelayed) {
  std::mt19937 random(13);
  int tight = 0, loose = 0;
  for (int round = 0; round < 100; ++round) {
    RunBuilder run;
    RandomRun(run, random);
    const Path path(run);
    const PathGraph& graph = *path.facts->graph;
    const DeviceWork& work = path.timeline->work;
    const auto measured = [](uint32_t, int64_t w, EdgeKind) { return w; };
    const int64_t end_ns = EndOf(graph, work, measured, [](uint32_t) { return int64_t{0}; });
    for (uint32_t i = 0; i < work.size(); ++i) {
      const int64_t slack_ns = path.facts->work_slack_ns[i];
      ASSERT_GE(slack_ns, 0);
      for (const int64_t more : {0, 1}) {
        const auto delay = [&](uint32_t p) { return p == 2 * i + 1 ? slack_ns + more : 0; };
        ASSERT_EQ(EndOf(graph, work, measured, delay), end_ns + more) << "round " << round << " item " << i;
      }
      ++(slack_ns == 0 ? tight : loose);
    }
  }
  EXPECT_GT(tight, 20);
  EXPECT_GT(loose, 20);
}

TEST(CriticalPathProperty, WhatIsOffThePathCanVanish) {
  std::mt19937 random(14);
  int tried = 0;
  for (int round = 0; round < 300; ++round) {
    RunBuilder run;
    RandomRun(run, random);
    const Path path(run);
    for (const auto& k : path.facts->kernels) {
      if (k.on_path_ns > 0) continue;
      const std::string name(path.analysis.data().Text(k.name));
      EXPECT_EQ(path.If("kernel:" + name, 0), path.facts->wall_ns) << "round " << round;
      ++tried;
    }
  }
  EXPECT_GT(tried, 50);
}

}  // namespace
}  // namespace nl
