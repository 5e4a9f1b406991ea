// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyze/facts/samples.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;
constexpr int64_t kSampleMs = 1'000'000;

ThreadId HostThread(RunBuilder& run, const std::string& name, int64_t pid, int64_t tid) {
  const ThreadId thread = run.Thread(name);
  run.data().process.pid.back() = pid;
  run.data().thread.tid.back() = tid;
  return thread;
}

void Sample(RunBuilder& run, ThreadId thread, int64_t start_ms, int64_t ms, const std::string& stack) {
  CpuSampleRow row;
  row.thread_id = thread;
  row.start_ns = start_ms * kSampleMs;
  row.weight_ns = ms * kSampleMs;
  row.stack = run.Name(stack);
  run.data().cpu_sample.Add(row);
}

const SampledFunction& FunctionNamed(const SamplesFacts& facts, const std::string& name) {
  for (const SampledFunction& f : facts.functions) {
    if (f.name == name) return f;
  }
  ADD_FAILURE() << "no function " << name;
  static const SampledFunction none;
  return none;
}

TEST(SamplesPass, FunctionsHaveSelfTotalAndTheHottestLine) {
  RunBuilder run;
  const ThreadId main = HostThread(run, "python3", 10, 10);
  Sample(run, main, 0, 30, "main (a.py:9);inner (a.py:4);long_mul [libpython3.11.so.1.0]");
  Sample(run, main, 30, 20, "main (a.py:9);inner (a.py:3)");
  Sample(run, main, 50, 10, "main (a.py:9);inner (a.py:5);inner (a.py:4)");
  Sample(run, main, 60, 40, "main (a.py:10);matmul [libblas.so.3]");
  Analysis analysis = run.Finish();
  const SamplesFacts& f = **analysis.Need<SamplesFacts>();
  EXPECT_EQ(f.samples, 4);
  EXPECT_EQ(f.running_ms, 100);
  const SampledFunction& inner = FunctionNamed(f, "inner");
  EXPECT_EQ(inner.self_ms, 60) << "with the native code it calls";
  EXPECT_EQ(inner.total_ms, 60) << "a recursive call counts once";
  EXPECT_EQ(inner.line, 4);
  EXPECT_EQ(inner.file, "a.py");
  EXPECT_DOUBLE_EQ(inner.self_share, 0.6);
  EXPECT_EQ(FunctionNamed(f, "main").self_ms, 40);
  EXPECT_EQ(FunctionNamed(f, "main").total_ms, 100);
  EXPECT_EQ(FunctionNamed(f, "matmul").self_ms, 40);
  EXPECT_EQ(TopFunctions(f, true, 5).front()->name, "inner");
  EXPECT_EQ(TopFunctions(f, false, 5).front()->name, "matmul");
  ASSERT_TRUE(f.time);
  EXPECT_NEAR(f.time->python_ms, 60, 1e-6) << "code of the interpreter is Python's";
  EXPECT_NEAR(f.time->native_ms, 40, 1e-6);
}

TEST(SamplesPass, TheWallIsTheProgramsAndItsPartsSumToIt) {
  RunBuilder run;
  const ThreadId main = HostThread(run, "python3", 10, 10), worker = HostThread(run, "worker", 10, 11);
  ThreadLifeRow life;
  life.thread_id = main;
  life.start_ns = 0;
  life.dur_ns = 1000 * kSampleMs;
  run.data().thread_life.Add(life);
  // The worker runs 400 ms while the main thread waits for it; then both wait.
  Sample(run, main, 100, 800, "main (a.py:3);join (threading.py:9);[kernel] futex;[waits]");
  Sample(run, worker, 100, 400, "work (a.py:7)");
  Sample(run, worker, 500, 400, "get (queue.py:1);[kernel] futex;[waits]");
  Analysis analysis = run.Finish();
  const SamplesFacts& f = **analysis.Need<SamplesFacts>();
  ASSERT_TRUE(f.time);
  EXPECT_NEAR(f.time->running_ms(), 400, 1e-6);
  EXPECT_NEAR(f.time->waiting_ms(), 400, 1e-6);
  EXPECT_NEAR(f.time->unsampled_ms, 200, 1e-6) << "before and after the samples";
  ASSERT_EQ(f.time->waits.size(), 1u);
  EXPECT_EQ(f.time->waits[0].what, "futex");
  EXPECT_EQ(f.time->waits[0].where, "main (a.py:3)") << "not the helper in threading.py";
  ASSERT_EQ(f.threads.size(), 2u);
  EXPECT_EQ(f.threads[0].name, "worker");
  EXPECT_TRUE(f.threads[1].main);
}

// A thread that has a core half of the time: its waits are not hidden by its own work in the same bin.
TEST(SamplesPass, WaitsForACoreFillTheWallBesideTheThreadsOwnWork) {
  RunBuilder run;
  const ThreadId main = HostThread(run, "python3", 10, 10);
  ThreadLifeRow life;
  life.thread_id = main;
  life.start_ns = 0;
  life.dur_ns = 1000 * kSampleMs;
  run.data().thread_life.Add(life);
  for (int64_t t = 0; t < 1000; t += 10) {
    Sample(run, main, t, 5, "work (a.py:7)");
    Sample(run, main, t + 5, 5, "work (a.py:7);[waits for a core]");
  }
  Analysis analysis = run.Finish();
  const SamplesFacts& f = **analysis.Need<SamplesFacts>();
  ASSERT_TRUE(f.time);
  EXPECT_NEAR(f.time->running_ms(), 500, 1e-6);
  EXPECT_NEAR(f.time->unsampled_ms, 0, 1e-6);
  ASSERT_EQ(f.time->waits.size(), 1u);
  EXPECT_EQ(f.time->waits[0].what, kWaitsForCore.wait);
  EXPECT_EQ(f.time->waits[0].where, "work (a.py:7)");
  EXPECT_NEAR(f.time->waits[0].ms, 500, 1e-6);
}

// Two threads that share one lock take turns: their samples may overlap by a few ms, the time does not.
TEST(SamplesPass, ThreadsThatTakeTurnsFillTheWall) {
  RunBuilder run;
  const ThreadId a = HostThread(run, "a", 10, 10), b = HostThread(run, "b", 10, 11);
  for (int64_t t = 0; t < 1000; t += 10) {
    Sample(run, a, t + 2, 5, "work (a.py:7)");
    Sample(run, b, t + 4, 5, "work (a.py:7)");
  }
  ThreadLifeRow life;
  life.thread_id = a;
  life.start_ns = 0;
  life.dur_ns = 1000 * kSampleMs;
  life.gil_held_ns = 500 * kSampleMs;
  life.gil_wait_ns = 300 * kSampleMs;
  life.gil_holder = run.Name("work (a.py:7)");
  run.data().thread_life.Add(life);
  Analysis analysis = run.Finish();
  const SamplesFacts& f = **analysis.Need<SamplesFacts>();
  ASSERT_TRUE(f.time);
  EXPECT_NEAR(f.time->running_ms(), 1000, 10);
  EXPECT_EQ(f.gil_held_ms, 500);
  EXPECT_EQ(f.gil_holder, "work (a.py:7)");
}

TEST(SamplesPass, CountsWithoutTimesGiveSharesOnly) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  for (const char* stack : {"a (x.py);b (x.py)", "a (x.py);b (x.py)", "a (x.py);c (x.py)", "alloc"}) {
    CpuSampleRow row;
    row.thread_id = main;
    row.stack = run.Name(stack);
    row.weight = std::string(stack) == "alloc" ? 4096 : 1;
    row.unit = run.Name(std::string(stack) == "alloc" ? "bytes" : "samples");
    run.data().cpu_sample.Add(row);
  }
  Analysis analysis = run.Finish();
  const SamplesFacts& f = **analysis.Need<SamplesFacts>();
  EXPECT_EQ(f.samples, 3) << "bytes are not samples";
  EXPECT_FALSE(f.running_ms || f.time);
  EXPECT_NEAR(FunctionNamed(f, "b").self_share, 2.0 / 3, 1e-9);
  EXPECT_FALSE(FunctionNamed(f, "b").self_ms);
}

}  // namespace
}  // namespace nl
