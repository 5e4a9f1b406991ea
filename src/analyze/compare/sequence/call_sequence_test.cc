// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/sequence/call_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/statistics/seeded_random.h"
#include "testing/run_builder.h"

namespace nl::compare {
namespace {

using testing_analyze::RunBuilder;

// Anything goes: several threads, streams and devices, work without a launch, overlapping and empty items.
void Fill(RunBuilder& run, SeededRandom& random) {
  std::vector<ThreadId> threads;
  for (uint32_t i = 0; i <= random.Below(3); ++i)
    threads.push_back(run.Thread("thread " + std::to_string(i)));
  const uint32_t count = 1 + random.Below(60);
  int64_t at = random.Below(1000);
  for (uint32_t i = 0; i < count; ++i) {
    const ThreadId thread = threads[random.Below(static_cast<uint32_t>(threads.size()))];
    at += random.Below(400);
    RowId op = RowId::kNull;
    if (random.Below(3) != 0)
      op = run.Op(thread, "op " + std::to_string(random.Below(5)), at, 10 + random.Below(300), "[[8,64]]");
    if (random.Below(8) == 0) run.Range(thread, "step", at, random.Below(900));
    if (random.Below(8) == 0)
      run.Api(thread, "cudaStreamSynchronize", at + random.Below(20), random.Below(500));
    if (random.Below(10) == 0) run.Api(thread, "cudaMalloc", at, random.Below(200));
    RowId launch = RowId::kNull;
    if (random.Below(6) != 0)
      launch = run.Api(thread, "cudaLaunchKernel", at + random.Below(20), 1 + random.Below(20));
    const auto stream = static_cast<int64_t>(7 + random.Below(3));
    const auto device = static_cast<int32_t>(random.Below(2));
    const int64_t start = at + 20 + random.Below(300), dur = random.Below(5) == 0 ? 0 : random.Below(400);
    if (random.Below(6) == 0) {
      run.Memcpy("HtoD", "Pageable", "Device", 1 << 12, stream, start, dur, launch, op, device);
    } else {
      run.Kernel(random.Below(9) == 0 ? "ncclDevKernel_AllReduce" : "gemm " + std::to_string(random.Below(4)),
                 stream, start, dur, launch, op, device);
    }
  }
}

// Length of the union of all items of each device, summed over devices that worked.
int64_t BusyNs(const TimelineFacts& t, int64_t& devices) {
  int64_t sum = 0;
  devices = 0;
  for (uint32_t device = 0; device < t.devices.size(); ++device) {
    std::vector<std::pair<int64_t, int64_t>> items;
    for (size_t i = 0; i < t.work.size(); ++i) {
      if (t.work.device[i] == device && t.work.end_ns[i] > t.work.start_ns[i])
        items.push_back({t.work.start_ns[i], t.work.end_ns[i]});
    }
    std::sort(items.begin(), items.end());
    int64_t until = INT64_MIN;
    for (const auto& [from, to] : items) {
      sum += std::max<int64_t>(0, to - std::max(from, until));
      until = std::max(until, to);
    }
    devices += items.empty() ? 0 : 1;
  }
  return sum;
}

TEST(CallSequence, CostsSumToTheWallOfEveryDevice) {
  SeededRandom random(21);
  for (int round = 0; round < 500; ++round) {
    RunBuilder run;
    Fill(run, random);
    Analysis analysis = run.Finish();
    const Result<CallSequence> sequence = BuildCallSequence(analysis);
    ASSERT_TRUE(sequence.ok()) << "round " << round << ": " << sequence.error().ToString();
    int64_t all = 0, busy = 0, devices = 0;
    for (const Costs& c : sequence->costs) {
      all += c.total_ns();
      busy += c.busy_ns();
      for (const int64_t part : {c.work_ns, c.on_host_ns, c.waited_ns}) EXPECT_GE(part, 0);
    }
    const TimelineFacts& timeline = **analysis.Need<TimelineFacts>();
    const int64_t union_ns = BusyNs(timeline, devices);
    if (sequence->on_host) continue;
    EXPECT_EQ(all, devices * timeline.wall_ns()) << "round " << round;
    EXPECT_EQ(busy, union_ns) << "round " << round;
  }
}

TEST(CallSequence, EveryCallIsInItsSegment) {
  SeededRandom random(22);
  for (int round = 0; round < 200; ++round) {
    RunBuilder run;
    Fill(run, random);
    Analysis analysis = run.Finish();
    const Result<CallSequence> sequence = BuildCallSequence(analysis);
    ASSERT_TRUE(sequence.ok()) << sequence.error().ToString();
    uint32_t next = 0;
    for (uint32_t s = 0; s < sequence->segments.size(); ++s) {
      const Segment& segment = sequence->segments[s];
      EXPECT_EQ(segment.first, next);
      for (uint32_t i = segment.first; i < segment.last; ++i) EXPECT_EQ(sequence->calls[i].segment, s);
      next = segment.last;
    }
    EXPECT_EQ(next, sequence->calls.size());
  }
}

// 10 us of kernel, 20 us until the next launch returns, 5 us later its kernel of 7 us: nothing is lost or
// shared.
TEST(CallSequence, AGapBelongsToTheCallThatEndsIt) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Op(main, "aten::first", 0, 8'000);
  run.Kernel("a", 7, 5'000, 10'000, run.Api(main, "cudaLaunchKernel", 1'000, 2'000));
  run.Op(main, "aten::second", 16'000, 22'000);
  run.Kernel("b", 7, 40'000, 7'000, run.Api(main, "cudaLaunchKernel", 30'000, 5'000));
  Analysis analysis = run.Finish();
  const Result<CallSequence> sequence = BuildCallSequence(analysis);
  ASSERT_TRUE(sequence.ok()) << sequence.error().ToString();
  ASSERT_EQ(sequence->calls.size(), 4u) << "two operators, the time around the work, and the end";
  EXPECT_EQ(sequence->Text(sequence->Type(0).op), "aten::first");
  EXPECT_EQ(sequence->costs[0].busy_ns(), 10'000);
  EXPECT_EQ(sequence->costs[0].idle_ns(), 5'000);
  EXPECT_EQ(sequence->costs[1].busy_ns(), 7'000);
  EXPECT_EQ(sequence->costs[1].idle_ns(), 25'000);
  EXPECT_EQ(sequence->costs[2].total_ns(), 0);
  EXPECT_EQ(sequence->costs[3].total_ns(), 0);
}

TEST(CallSequence, IdleTimeWithNothingRecordedAfterTheWorkIsAroundIt) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Op(main, "aten::first", 0, 8'000);
  run.Kernel("a", 7, 5'000, 10'000, run.Api(main, "cudaLaunchKernel", 1'000, 2'000));
  run.Range(run.Thread("viewer"), "waiting", 0, 115'000);
  Analysis analysis = run.Finish();
  const Result<CallSequence> sequence = BuildCallSequence(analysis);
  ASSERT_TRUE(sequence.ok()) << sequence.error().ToString();
  ASSERT_EQ(sequence->calls.size(), 3u);
  EXPECT_EQ(sequence->Type(1).kind, CallKind::kAround);
  EXPECT_EQ(sequence->costs[1].idle_ns(), 100'000);
  EXPECT_EQ(sequence->costs[2].total_ns(), 0);
}

}  // namespace
}  // namespace nl::compare
