// SPDX-License-Identifier: Apache-2.0
// Planted causes of known size: the split must find each to the nanosecond.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analyze/facts/accounting.h"
#include "analyze/facts/idle.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

int64_t CauseNs(const IdleFacts& facts, const RunData& data, IdleCause what, std::string_view name = "") {
  int64_t ns = 0;
  for (const IdleFacts::Cause& c : facts.causes) {
    if (c.what == what && (IsNull(c.name) ? name.empty() : data.Text(c.name) == name)) ns += c.ns;
  }
  return ns;
}

// Twenty launches on an idle device, each starting 2,000 ns after its call returned: the floor of this trace.
void PutFloor(RunBuilder& run, ThreadId thread, int64_t from_ns) {
  for (int i = 0; i < 20; ++i) {
    const int64_t at = from_ns + i * 10'000;
    const RowId launch = run.Api(thread, "cudaLaunchKernel", at, 1000);
    run.Kernel("warm", 7, at + 3000, 500, launch);
  }
}

void PutSample(RunBuilder& run, ThreadId thread, int64_t time_ns, const char* stack) {
  CpuSampleRow row;
  row.thread_id = thread;
  row.start_ns = time_ns;
  row.stack = run.Name(stack);
  run.data().cpu_sample.Add(row);
}

TEST(IdlePass, APauseOfTheRecordingIsNoIdlenessOfTheHost) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  PutFloor(run, main, 0);
  // Idle from 193,500; recording pauses in [200,000, 300,000), twice in a row.
  run.data().document["capture"]["pauses"] = {{{"start_ns", 200'000}, {"end_ns", 250'000}},
                                              {{"start_ns", 250'000}, {"end_ns", 300'000}}};
  const RowId launch = run.Api(main, "cudaLaunchKernel", 310'000, 1'000);
  run.Kernel("gemm", 7, 313'000, 1'000, launch);
  Analysis analysis = run.Finish();
  const auto made = analysis.Need<IdleFacts>();
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  const IdleFacts& facts = **made;
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kNotRecorded), 100'000);
  // Until the pause it is the edge of what was recorded.
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kNothing), 19 * 6'500 + 10'000);
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kEdge), 6'500);
  const IdleFacts::Gap& gap = facts.gaps[facts.largest.front()];
  EXPECT_EQ(gap.start_ns, 200'000);
  EXPECT_EQ(gap.end_ns, 300'000);
  EXPECT_EQ(gap.cause, IdleCause::kNotRecorded);
}

TEST(IdlePass, StartUpIsItsOwnPart) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  constexpr int64_t kMs = 1'000'000;
  // A context of 30 ms, 20 launches, then the first launch of another kernel, which loads its code for 5 ms;
  // its second launch takes as long, which is not start-up.
  run.Api(main, "cudaFree", 0, 30 * kMs);
  PutFloor(run, main, 31 * kMs);
  const RowId cold = run.Api(main, "cudaLaunchKernel", 40 * kMs, 5 * kMs);
  run.Kernel("gemm", 7, 45 * kMs + 2'000, 1'000, cold);
  const RowId slow = run.Api(main, "cudaLaunchKernel", 50 * kMs, 5 * kMs);
  run.Kernel("gemm", 7, 55 * kMs + 2'000, 1'000, slow);
  Analysis analysis = run.Finish();
  const auto made = analysis.Need<IdleFacts>();
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  const IdleFacts& facts = **made;
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kStartup, "cudaFree"), 30 * kMs);
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kStartup, "cudaLaunchKernel"), 5 * kMs);
  EXPECT_EQ(facts.total.startup_ns, 35 * kMs);
  // 21 times the call of 1 µs or none, and 2 µs of latency; the slow call whole.
  EXPECT_EQ(facts.total.launch_ns, 20 * 3'000 + 2'000 + 5 * kMs + 2'000);
}

TEST(IdlePass, WhatIsCapturedIntoAGraphIsStartUp) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  PutFloor(run, main, 0);
  run.Api(main, "cudaStreamBeginCapture", 200'000, 10'000);
  run.Op(main, "aten::mm", 220'000, 50'000);
  run.Api(main, "cudaStreamEndCapture", 280'000, 10'000);
  run.Op(main, "aten::add", 300'000, 50'000);
  const RowId launch = run.Api(main, "cudaGraphLaunch", 400'000, 1'000);
  run.Kernel("gemm", 7, 403'000, 1'000, launch);
  Analysis analysis = run.Finish();
  const auto made = analysis.Need<IdleFacts>();
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  EXPECT_EQ((*made)->total.startup_ns, 70'000);
  EXPECT_EQ(CauseNs(**made, analysis.data(), IdleCause::kOp, "aten::add"), 50'000);
}

TEST(IdlePass, EdgesWithoutAnyRecordAreNotTheHost) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  // The step lasts from 0 to 1 ms; the thread has records from 100 to 313 µs.
  run.Range(main, "ProfilerStep#1", 0, 1'000'000);
  run.Step("ProfilerStep#1", 1, 0, 1'000'000);
  run.Op(main, "aten::mm", 100'000, 20'000);
  PutFloor(run, main, 120'000);
  Analysis analysis = run.Finish();
  const auto made = analysis.Need<IdleFacts>();
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  const IdleFacts& facts = **made;
  // Before the operator, and from the end of the last kernel (313,500) to the end.
  EXPECT_EQ(facts.total.edge_ns, 100'000 + 1'000'000 - 313'500);
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kOp, "aten::mm"), 20'000);
}

TEST(IdlePass, SamplesSayWhatTheHostDidWhereNoSpanWasRecorded) {
  RunBuilder run;
  const ThreadId main = run.Thread("main"), other = run.Thread("other");
  PutFloor(run, main, 0);
  // Idle from 193,500; nothing but a label is recorded until the launch at 223,500: three samples share it.
  run.Range(main, "LLM@decode_step", 194'000, 40'000);
  PutSample(run, main, 195'000, "main (run.py);tokenize (text.py);memcpy");
  PutSample(run, main, 200'000, "main (run.py);load (run.py);tokenize (text.py);strlen");
  PutSample(run, main, 205'000, "main (run.py);[kernel] futex;[waits]");
  PutSample(run, other, 206'000, "busy (other.py)");
  PutSample(run, main, 300'000, "late (run.py)");
  const RowId launch = run.Api(main, "cudaLaunchKernel", 223'500, 1'000);
  run.Kernel("gemm", 7, 226'500, 1'000, launch);
  Analysis analysis = run.Finish();
  const auto made = analysis.Need<IdleFacts>();
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  const auto timeline = analysis.Need<TimelineFacts>();
  std::map<std::string, double> sampled;
  for (const IdleReason& cause : SectionOf(**made, **timeline, analysis.data()).causes) {
    if (cause.what == "cpu samples") sampled[cause.name.value_or("")] = cause.ms;
  }
  // The 500 ns before the label have no sample.
  ASSERT_EQ(sampled.size(), 2u);
  EXPECT_NEAR(sampled["tokenize (text.py)"], 29'500e-6 * 2 / 3, 1e-6);
  EXPECT_NEAR(sampled["main (run.py), waiting"], 29'500e-6 / 3, 1e-6);
}

TEST(IdlePass, HostPartIsNamedByWhatTheLaunchingThreadDid) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  PutFloor(run, main, 0);
  // The device is idle from 193,500. The host: 6,500 nothing, 10,000 inside an op, 20,000 in cudaMalloc
  // inside it, 5,000 in a Python function, then the launch call of 1,000 and 2,000 of latency.
  run.Op(main, "aten::empty", 200'000, 30'000);
  run.Api(main, "cudaMalloc", 205'000, 20'000);
  run.Python(main, "model.py(7): forward", 230'000, 5'000);
  const RowId launch = run.Api(main, "cudaLaunchKernel", 235'000, 1'000);
  run.Kernel("gemm", 7, 238'000, 1'000, launch);
  Analysis analysis = run.Finish();
  const auto made = analysis.Need<IdleFacts>();
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  const IdleFacts& facts = **made;
  EXPECT_EQ(facts.floor_ns, 2250) << "the bin of 2,000 ns";
  const IdleFacts::Gap& gap = facts.gaps[facts.largest.front()];
  EXPECT_EQ(gap.end_ns - gap.start_ns, 44'500);
  EXPECT_EQ(gap.parts.host_ns, 41'500);
  EXPECT_EQ(gap.parts.launch_ns, 3'000);
  EXPECT_EQ(gap.parts.sync_ns, 0);
  EXPECT_EQ(gap.parts.other_ns, 0);
  EXPECT_EQ(gap.cause, IdleCause::kApi);
  EXPECT_EQ(gap.blocked_ns, 0);
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kApi, "cudaMalloc"), 20'000);
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kOp, "aten::empty"), 10'000);
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kPython, "model.py(7): forward"), 5'000);
}

TEST(IdlePass, AWakeUpAfterABlockingCallIsSync) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  PutFloor(run, main, 0);
  const RowId first = run.Api(main, "cudaLaunchKernel", 300'000, 1'000);
  run.Kernel("gemm", 7, 303'000, 100'000, first);            // until 403,000
  run.Api(main, "cudaStreamSynchronize", 302'000, 108'000);  // returns at 410,000
  const RowId second = run.Api(main, "cudaLaunchKernel", 415'000, 1'000);
  run.Kernel("gemm", 7, 418'000, 1'000, second);
  Analysis analysis = run.Finish();
  const IdleFacts& facts = **analysis.Need<IdleFacts>();
  const auto gap = std::find_if(facts.gaps.begin(), facts.gaps.end(),
                                [](const IdleFacts::Gap& g) { return g.start_ns == 403'000; });
  ASSERT_NE(gap, facts.gaps.end());
  EXPECT_EQ(gap->parts.sync_ns, 7'000);
  EXPECT_EQ(gap->parts.host_ns, 5'000);
  EXPECT_EQ(gap->parts.launch_ns, 3'000);
  EXPECT_EQ(gap->parts.other_ns, 0);
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kSync, "cudaStreamSynchronize"), 7'000);
}

TEST(IdlePass, ABlockingCallWithNothingToWaitForIsHostTimeBlocked) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  PutFloor(run, main, 0);
  run.Api(main, "cudaStreamSynchronize", 300'000, 4'000);
  const RowId launch = run.Api(main, "cudaLaunchKernel", 310'000, 1'000);
  run.Kernel("gemm", 7, 313'000, 1'000, launch);
  Analysis analysis = run.Finish();
  const IdleFacts& facts = **analysis.Need<IdleFacts>();
  const IdleFacts::Gap& gap = facts.gaps[facts.largest.front()];
  EXPECT_EQ(gap.parts.sync_ns, 0);
  EXPECT_EQ(gap.blocked_ns, 4'000);
  EXPECT_EQ(facts.blocked_ns, 4'000);
}

TEST(IdlePass, WorkQueuedLongBeforeIsNotTheHostsFault) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  PutFloor(run, main, 0);
  const RowId first = run.Api(main, "cudaLaunchKernel", 300'000, 1'000);
  const RowId second = run.Api(main, "cudaLaunchKernel", 301'000, 1'000);
  run.Kernel("a", 7, 303'000, 10'000, first);
  run.Kernel("b", 8, 353'000, 10'000, second);  // 40,000 after a
  Analysis analysis = run.Finish();
  const IdleFacts& facts = **analysis.Need<IdleFacts>();
  const auto gap = std::find_if(facts.gaps.begin(), facts.gaps.end(),
                                [](const IdleFacts::Gap& g) { return g.start_ns == 313'000; });
  ASSERT_NE(gap, facts.gaps.end());
  EXPECT_EQ(gap->parts.host_ns, 0);
  EXPECT_EQ(gap->parts.launch_ns, facts.floor_ns);
  EXPECT_EQ(gap->parts.other_ns, 40'000 - facts.floor_ns);
  EXPECT_EQ(gap->cause, IdleCause::kQueued);
}

TEST(IdlePass, GapsInsideAGraphAreItsDependencies) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  const RowId graph = run.Api(main, "cudaGraphLaunch", 0, 1'000);
  run.Kernel("a", 7, 3'000, 1'000, graph, RowId::kNull, 0, 5);
  run.Kernel("b", 7, 5'500, 1'000, graph, RowId::kNull, 0, 5);
  Analysis analysis = run.Finish();
  const IdleFacts& facts = **analysis.Need<IdleFacts>();
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kGraph), 1'500);
  EXPECT_EQ(facts.total.sync_ns, 1'500);
}

TEST(IdlePass, ALaunchThatWasNotRecordedIsSaidSo) {
  RunBuilder run;
  run.Kernel("a", 7, 0, 10);
  run.Kernel("b", 7, 50, 10);
  Analysis analysis = run.Finish();
  const IdleFacts& facts = **analysis.Need<IdleFacts>();
  EXPECT_EQ(facts.total.other_ns, 40);
  EXPECT_EQ(CauseNs(facts, analysis.data(), IdleCause::kUnknownLaunch), 40);
}

// Whatever the trace looks like, parts and causes sum to the idle time (the pass itself refuses otherwise).
TEST(IdlePass, PartsOfADeviceWithoutLaunchesAreNotKnown) {
  const auto section = [](bool launched) {
    RunBuilder run;
    const RowId launch =
        launched ? run.Api(run.Thread("main"), "cudaLaunchKernel", 40'000, 1'000) : RowId::kNull;
    run.Kernel("a", 7, 0, 10'000);
    run.Kernel("b", 7, 50'000, 10'000, launch);
    Analysis analysis = run.Finish();
    const auto facts = analysis.Need<IdleFacts>();
    const auto timeline = analysis.Need<TimelineFacts>();
    return SectionOf(**facts, **timeline, analysis.data());
  };
  const IdleSection known = section(true), unknown = section(false);
  EXPECT_GT(known.host_ms.value_or(0), 0);
  EXPECT_EQ(known.sync_ms, 0);
  EXPECT_FALSE(known.parts_reason);
  EXPECT_FALSE(unknown.host_ms || unknown.launch_ms || unknown.sync_ms || unknown.startup_ms ||
               unknown.floor_us);
  EXPECT_FALSE(unknown.largest.at(0).host_ms || unknown.devices.at(0).host_ms);
  EXPECT_DOUBLE_EQ(unknown.other_ms, unknown.idle_ms);
  EXPECT_TRUE(unknown.parts_reason);
}

TEST(IdlePass, PartsAndCausesAlwaysSumToTheIdleTime) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    RunBuilder run;
    const ThreadId threads[] = {run.Thread("a"), run.Thread("b")};
    int64_t host = 0;
    for (int i = 0; i < 60; ++i) {
      host += static_cast<int64_t>(random() % 5000);
      const ThreadId thread = threads[random() % 2];
      const char* names[] = {"cudaLaunchKernel", "cudaStreamSynchronize", "cudaMemcpyAsync", "cudaMalloc"};
      const auto dur = static_cast<int64_t>(random() % 3000);
      const RowId api = run.Api(thread, names[random() % 4], host, dur);
      if (random() % 3 == 0) run.Op(thread, "op", host - 10, dur + static_cast<int64_t>(random() % 4000));
      if (random() % 4 != 0) {
        run.Kernel("k", static_cast<int64_t>(random() % 3), host + static_cast<int64_t>(random() % 9000),
                   static_cast<int64_t>(random() % 4000), random() % 5 == 0 ? RowId::kNull : api,
                   RowId::kNull, static_cast<int32_t>(random() % 2));
      }
    }
    Analysis analysis = run.Finish();
    const auto made = analysis.Need<IdleFacts>();
    ASSERT_TRUE(made.ok()) << made.error().ToString();
    int64_t causes = 0, idle = 0;
    for (const IdleFacts::Cause& c : (*made)->causes) causes += c.ns;
    for (const TimeParts& p : (**analysis.Need<AccountingFacts>()).devices) idle += p.idle_ns();
    EXPECT_EQ(causes, idle);
    EXPECT_EQ((*made)->total.total_ns(), idle);
    for (const IdleFacts::Gap& g : (*made)->gaps) {
      EXPECT_EQ(g.parts.total_ns(), g.end_ns - g.start_ns);
      EXPECT_GE(std::min({g.parts.host_ns, g.parts.launch_ns, g.parts.sync_ns, g.parts.other_ns}), 0);
    }
  }
}

}  // namespace
}  // namespace nl
