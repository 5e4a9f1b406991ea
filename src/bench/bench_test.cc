// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "analyze/statistics/seeded_random.h"
#include "base/time_text.h"
#include "bench/command_pair.h"
#include "bench/environment.h"
#include "bench/visible_gpus.h"

namespace nl::bench {
namespace {

using Words = std::vector<std::string>;

TEST(BenchCommand, SplitsAsAShellDoes) {
  EXPECT_EQ(ParseCommand("python3 'a b.py' \"c d\" e\\ f ''")->words,
            (Words{"python3", "a b.py", "c d", "e f", ""}));
  EXPECT_EQ(ParseCommand("a \"x\\\"y\\z\"")->words, (Words{"a", "x\"y\\z"}));
  for (const char* text : {"a | b", "a > b", "a && b", "X=1 a", "a $HOME", "a \"$HOME\"", "a *.c", "a; b"}) {
    EXPECT_TRUE(ParseCommand(text)->shell) << text;
    EXPECT_EQ(ParseCommand(text)->words[2], text);
  }
  for (const char* text : {"a 'b | c'", "a '$x'", "a \\| b", "a b=1"})
    EXPECT_FALSE(ParseCommand(text)->shell) << text;
  for (const char* text : {"", "  ", "a 'b", "a \"b"}) EXPECT_FALSE(ParseCommand(text).ok()) << text;
}

TEST(BenchCommand, QuotedWordsComeBack) {
  const Words words{"a", "b c", "it's", "", "$x", "\"q\"", "\\"};
  EXPECT_EQ(ParseCommand(QuoteCommand(words))->words, words);
}

TEST(BenchOutputs, NamesTheFirstDifference) {
  EXPECT_FALSE(TextDifference("a 1\n", "a 1\n", 0));
  EXPECT_EQ(*TextDifference("x\na 12\n", "x\na 13\n", 0), "line 2: '12' in A, '13' in B");
  EXPECT_EQ(*TextDifference("a", "a b", 0), "line 1: 'a' in A, 'a b' in B");
}

TEST(BenchOutputs, NumbersMayDifferWithinTheTolerance) {
  EXPECT_FALSE(TextDifference("sum=1.00000001, n=3", "sum=1.00000002, n=3", 1e-6));
  EXPECT_TRUE(TextDifference("sum=1.0001", "sum=1.0002", 1e-6));
  EXPECT_TRUE(TextDifference("nan", "1", 1e-6));
  EXPECT_FALSE(TextDifference("nan 1", "nan 1.0", 1e-6));
  EXPECT_TRUE(TextDifference("1 2", "1 2 3", 1e-6));
}

TEST(BenchOutputs, AFileThatTheRunDidNotWriteIsAnError) {
  const auto folder = TempDir::Make("nl-bench-");
  std::ofstream(folder->path() + "/out.txt") << "x";
  EXPECT_TRUE(ReadOutputFiles({"*.txt"}, folder->path(), UnixNowNs() - 1'000'000'000).ok());
  EXPECT_FALSE(ReadOutputFiles({"*.txt"}, folder->path(), UnixNowNs() + 1'000'000'000).ok());
  EXPECT_FALSE(ReadOutputFiles({"none"}, folder->path(), 0).ok());
}

// A clock that tests control: times with noise, `ratio` between the sides.
InterleaveResult Measured(InterleaveOptions options, double ratio, double noise) {
  SeededRandom random(7);
  options.seed = 3;
  const auto run = [&](Side side, bool) -> Result<double> {
    return (side == Side::kA ? ratio : 1.0) * std::exp(noise * random.Normal());
  };
  return *Interleave(options, run);
}

TEST(BenchInterleave, IterationsAreExact) {
  for (const int64_t n : {1, 2, 7, 50, 161}) {
    InterleaveOptions options;
    options.iterations = n;
    const InterleaveResult r = Measured(options, 2, 0.01);
    EXPECT_EQ(r.a_s.size(), static_cast<size_t>(n));
    EXPECT_EQ(r.b_s.size(), static_cast<size_t>(n));
    EXPECT_EQ(r.stopped_by, StopReason::kIterations);
    EXPECT_EQ(r.verdict == Verdict::kFaster, n >= kLeastPairs);
  }
}

// A loaded machine: every other run is interrupted, some for long.
TEST(BenchInterleave, FindsASmallDifferenceBesideALoad) {
  InterleaveOptions options;
  options.iterations = 800;
  options.seed = 11;
  SeededRandom random(5);
  const auto run = [&](Side side, bool) -> Result<double> {
    const double interrupted = random.Unit() < 0.4 ? 4 * random.Exponential() : 0;
    return (side == Side::kA ? 1.05 : 1.0) * std::exp(0.01 * random.Normal()) + interrupted;
  };
  const InterleaveResult r = *Interleave(options, run);
  EXPECT_EQ(r.group_runs, 4);
  EXPECT_EQ(r.a_s.size(), 800u);
  EXPECT_EQ(r.verdict, Verdict::kFaster);
}

TEST(BenchInterleave, EqualSidesBesideALoadHaveNoFalseVerdicts) {
  int wrong = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    InterleaveOptions options;
    options.iterations = 163;  // the last group is not whole
    options.seed = static_cast<uint64_t>(trial);
    SeededRandom random(1000 + static_cast<uint64_t>(trial));
    const auto run = [&](Side, bool) -> Result<double> {
      return std::exp(0.01 * random.Normal()) + (random.Unit() < 0.4 ? 4 * random.Exponential() : 0);
    };
    const Verdict verdict = Interleave(options, run)->verdict;
    wrong += verdict == Verdict::kFaster || verdict == Verdict::kSlower ? 1 : 0;
  }
  EXPECT_LE(wrong, kTrials / 100);
}

TEST(BenchInterleave, StopsWhenTheIntervalIsNarrowEnough) {
  InterleaveOptions options;
  options.precision = 0.005;
  const InterleaveResult r = Measured(options, 1.2, 0.02);
  EXPECT_EQ(r.stopped_by, StopReason::kPrecision);
  EXPECT_EQ(r.verdict, Verdict::kFaster);
  EXPECT_LE(std::expm1((r.estimate.high - r.estimate.low) / 2), 0.005);
  EXPECT_LE(r.estimate.low, std::log(1.2));
  EXPECT_GE(r.estimate.high, std::log(1.2));
}

TEST(BenchInterleave, EqualSidesAreTheSameAndASlowerOneIsSlower) {
  EXPECT_EQ(Measured({}, 1, 0.01).verdict, Verdict::kSame);
  EXPECT_EQ(Measured({}, 0.9, 0.01).verdict, Verdict::kSlower);
}

TEST(BenchInterleave, AFailingRunEndsIt) {
  const auto run = [](Side side, bool) -> Result<double> {
    if (side == Side::kB) return InvalidInput("no");
    return 1.0;
  };
  EXPECT_FALSE(Interleave({}, run).ok());
}

TEST(BenchInterleave, DisturbedPairsDoNotCount) {
  InterleaveOptions options;
  options.iterations = 50;
  int64_t timed_runs = 0, asked = 0;
  const auto run = [&](Side side, bool timed) -> Result<double> {
    timed_runs += timed ? 1 : 0;
    return (side == Side::kA ? 2.0 : 1.0) + (asked % 3 == 2 ? 9 : 0);
  };
  // The question after the warm-up has an answer that does not count either.
  const auto spoiled = [&](bool timed) { return !timed || asked++ % 3 == 2; };
  const InterleaveResult r = *Interleave(options, run, {}, spoiled);
  EXPECT_EQ(r.a_s, std::vector<double>(50, 2.0));
  EXPECT_EQ(r.b_s, std::vector<double>(50, 1.0));
  EXPECT_EQ(r.rejected_pairs, 24);
  EXPECT_EQ(timed_runs, 2 * (50 + 24));
}

TEST(BenchInterleave, OnlyDisturbedPairsAreAnError) {
  const auto run = [](Side, bool) -> Result<double> { return 1.0; };
  for (const double budget_s : {1e-9, 1e9}) {
    InterleaveOptions options;
    options.budget_s = budget_s;
    const auto r = Interleave(options, run, {}, [](bool) { return true; });
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.error().code, ErrorCode::kLimit);
    EXPECT_NE(r.error().message.find(budget_s < 1 ? "1 of 1 pairs" : "52 of 52 pairs"), std::string::npos)
        << r.error().message;
  }
}

TEST(BenchGpus, AreChosenAsCudaDoes) {
  EXPECT_TRUE(ListsGpu("0", 0, "GPU-a1"));
  EXPECT_TRUE(ListsGpu("3, 1", 1, ""));
  EXPECT_TRUE(ListsGpu("GPU-a", 5, "GPU-a1"));
  EXPECT_FALSE(ListsGpu("", 0, "GPU-a1"));
  EXPECT_FALSE(ListsGpu("10", 1, "GPU-a1"));
  EXPECT_FALSE(ListsGpu("GPU-", 0, "GPU-a1"));
  EXPECT_FALSE(ListsGpu("GPU-a12", 0, "GPU-a1"));
  EXPECT_FALSE(ListsGpu("MIG-a1", 0, "GPU-a1"));
  EXPECT_TRUE(ListsGpu("0,-1,1", 0, "GPU-a1"));
  EXPECT_FALSE(ListsGpu("0,-1,1", 1, "GPU-a1")) << "what is not valid ends the list";
}

TEST(BenchInterleave, TheSummaryHasTheQuantiles) {
  const TimeSummary s = SummaryOf({0.004, 0.001, 0.003, 0.002, 0.005});
  EXPECT_DOUBLE_EQ(s.median_ms, 3);
  EXPECT_DOUBLE_EQ(s.mean_ms, 3);
  EXPECT_DOUBLE_EQ(s.p25_ms, 2);
  EXPECT_DOUBLE_EQ(s.max_ms, 5);
  EXPECT_EQ(s.runs, 5);
}

Command Parsed(const char* text) { return *ParseCommand(text); }
bool GoOn() { return true; }

TEST(BenchProcess, MeasuresTimeMemoryAndStatus) {
  auto process = TimedProcess::Make(Parsed("/bin/sh -c 'echo out; echo err >&2; exit 3'"));
  ASSERT_TRUE(process.ok());
  const auto run = process->Run(GoOn);
  EXPECT_EQ(run->status, 3);
  EXPECT_GT(run->wall_s, 0);
  EXPECT_EQ(*process->Output(100), "out\n");
  EXPECT_EQ(process->ErrorTail(), "err");
  EXPECT_FALSE(process->Output(2).ok());
  // 64 MB that are written to; no other process of this test has as much.
  auto large = TimedProcess::Make(Parsed("dd if=/dev/zero of=/dev/null bs=64M count=1"));
  const auto used = large->Run(GoOn, StartBy::kFork);
  EXPECT_EQ(used->status, 0);
  EXPECT_GT(used->peak_rss_bytes.value_or(0), 60 << 20);
  EXPECT_FALSE(TimedProcess::Make(Parsed("no-such-program-anywhere")).ok());
}

TEST(BenchProcess, ARunIsEndedWithWhatItStarted) {
  auto process = TimedProcess::Make(Parsed("sleep 1000"));
  const auto run = process->Run([] { return false; });
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, ErrorCode::kCancelled);
}

TEST(BenchPair, OutputsAreCompared) {
  const auto check = [](const char* a, const char* b, PairOptions options = {}) {
    auto pair = CommandPair::Make(Parsed(a), Parsed(b), std::move(options));
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(pair->Run(Side::kA, i > 0, GoOn).ok());
      EXPECT_TRUE(pair->Run(Side::kB, i > 0, GoOn).ok());
    }
    return pair->Outputs();
  };
  EXPECT_EQ(check("echo 1", "echo 1").equal, true);
  EXPECT_EQ(check("echo 1", "echo 2").equal, false);
  EXPECT_EQ(check("echo 1", "echo 1.01", {{}, 0.1, true}).equal, true);
  EXPECT_EQ(check("date +%N", "echo 2").equal, std::nullopt);
  EXPECT_EQ(check("echo 1", "echo 2", {{}, 0, false}).equal, std::nullopt);
}

TEST(BenchPair, AFailingCommandIsNamed) {
  auto pair = CommandPair::Make(Parsed("true"), Parsed("/bin/sh -c 'echo broken >&2; exit 7'"), {});
  const auto run = pair->Run(Side::kB, false, GoOn);
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.error().message.find("B failed with status 7"), std::string::npos);
  EXPECT_NE(run.error().message.find("broken"), std::string::npos);
}

// A machine made of files.
class FakeMachine {
 public:
  FakeMachine() : folder_(*TempDir::Make("nl-machine-")) {
    Write("proc/meminfo", "MemTotal: 100 kB\nSwapTotal:  1000000 kB\nSwapFree: 1000000 kB\n");
    Write("proc/cpuinfo", "processor : 0\nflags\t\t: fpu vme\n");
    Write("proc/loadavg", "0.10 0.10 0.10 1/100 1\n");
    Write("proc/self/status", "Name: x\nCpus_allowed_list:\t0-1\n");
    Write("proc/self/cgroup", "0::/user/me\n");
    Write("sys/fs/cgroup/user/me/cpu.max", "max 100000\n");
    Write("sys/fs/cgroup/user/me/memory.max", "max\n");
    Write("sys/devices/system/node/node0/cpulist", "0-1\n");
    Write("sys/devices/system/node/node1/cpulist", "2-3\n");
    for (int i = 0; i < 4; ++i)
      Write("sys/devices/system/cpu/cpu" + std::to_string(i) + "/cpufreq/scaling_governor", "performance\n");
  }
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = folder_.path() + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  void Remove(const std::string& path) { std::filesystem::remove_all(folder_.path() + "/" + path); }
  CheckState State(const std::string& name, bool allow = false) const {
    for (const EnvironmentCheck& c : CheckEnvironment(Validity::kStrict, allow, folder_.path()).checks) {
      if (c.name == name) return c.state;
    }
    ADD_FAILURE() << name;
    return CheckState::kOk;
  }
  EnvironmentReply All() const { return CheckEnvironment(Validity::kStrict, false, folder_.path()); }

 private:
  TempDir folder_;
};

TEST(BenchEnvironment, AQuietMachineIsFine) {
  const FakeMachine machine;
  EXPECT_EQ(machine.All().Count(CheckState::kOk), 7) << EnvironmentText(machine.All());
}

TEST(BenchEnvironment, EveryDisturbanceIsFound) {
  FakeMachine m;
  m.Write("proc/meminfo", "SwapTotal: 1000000 kB\nSwapFree: 500000 kB\n");
  EXPECT_EQ(m.State("swap"), CheckState::kError);
  m.Write("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n");
  EXPECT_EQ(m.State("governor"), CheckState::kError);
  m.Write("sys/fs/cgroup/user/cpu.max", "200000 100000\n");  // of a folder above
  EXPECT_EQ(m.State("cgroup_cpu"), CheckState::kError);
  m.Write("sys/fs/cgroup/user/me/memory.max", "1000000\n");
  EXPECT_EQ(m.State("cgroup_memory"), CheckState::kError);
  m.Write("proc/self/status", "Cpus_allowed_list:\t1-2\n");
  EXPECT_EQ(m.State("affinity"), CheckState::kError);
  m.Write("proc/cpuinfo", "flags : fpu hypervisor vme\n");
  EXPECT_EQ(m.State("virtualization"), CheckState::kError);
  EXPECT_EQ(m.State("virtualization", true), CheckState::kWarning);
  m.Write("proc/loadavg", "3.9 1 1 1/1 1\n");
  EXPECT_EQ(m.State("load"), CheckState::kWarning);
}

TEST(BenchEnvironment, WhatCannotBeReadIsAWarning) {
  FakeMachine m;
  m.Remove("proc");
  m.Remove("sys");
  EXPECT_EQ(m.All().Count(CheckState::kWarning), 7) << EnvironmentText(m.All());
}

TEST(BenchEnvironment, GpusThatDisturbAreFound) {
  const auto state = [](const GpuSurroundings& around, std::string_view name) {
    for (const EnvironmentCheck& c : CheckGpus(around)) {
      if (c.name == name) return c.state;
    }
    ADD_FAILURE() << name;
    return CheckState::kOk;
  };
  GpuSurroundings around;
  EXPECT_EQ(CheckGpus(around).size(), 1u);
  EXPECT_EQ(state(around, "gpu"), CheckState::kOk);
  for (const char* nothing : {"", "-1"}) {
    around.visible = nothing;
    EXPECT_EQ(state(around, "gpu"), CheckState::kOk) << nothing;
  }
  around.visible = "0";
  EXPECT_EQ(state(around, "gpu"), CheckState::kError);

  around.gpus.resize(1);
  around.gpus[0].persistence = true;
  for (const EnvironmentCheck& c : CheckGpus(around)) EXPECT_EQ(c.state, CheckState::kOk) << c.text;
  around.gpus[0].persistence = false;
  EXPECT_EQ(state(around, "gpu_persistence"), CheckState::kWarning);
  around.gpus[0].persistence.reset();
  EXPECT_EQ(state(around, "gpu_persistence"), CheckState::kWarning);
  around.others = {"process 4711 (python3)"};
  EXPECT_EQ(state(around, "gpu_processes"), CheckState::kWarning);
  around.others.clear();
  around.others_problem = "libnvidia-ml.so.1 is missing";
  EXPECT_EQ(state(around, "gpu_processes"), CheckState::kWarning);
  around.gpus.resize(2);
  EXPECT_EQ(state(around, "gpu"), CheckState::kOk);  // one was chosen
  around.visible.reset();
  EXPECT_EQ(state(around, "gpu"), CheckState::kWarning);
}

}  // namespace
}  // namespace nl::bench
