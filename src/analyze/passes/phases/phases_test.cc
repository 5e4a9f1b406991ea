// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/phases.h"

#include <gtest/gtest.h>

#include <random>

#include "analyze/facts/timeline.h"
#include "analyze/passes/phases/find_period.h"
#include "base/json.h"
#include "base/record_json.h"
#include "model/run_document.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

constexpr int64_t kCallNs = 4000, kDispatchNs = 2000;

// One thread that launches kernels one after the other, and a stream that executes them in order.
struct PhaseProgram {
  RunBuilder run;
  ThreadId main = run.Thread("main");
  int64_t host_ns = 0, device_ns = 0;
  int64_t kernel_ns = 3000;  // of each kernel

  void Launch(const std::string& kernel) {
    const RowId call = run.Api(main, "cudaLaunchKernel", host_ns, kCallNs);
    device_ns = std::max(device_ns, host_ns + kCallNs);
    run.Kernel(kernel, 7, device_ns, kernel_ns, call);
    device_ns += kernel_ns;
    host_ns += kCallNs + kDispatchNs;
  }
  void Launch(std::initializer_list<const char*> kernels) {
    for (const char* kernel : kernels) Launch(std::string(kernel));
  }
  void LaunchGraph(int kernels) {
    const RowId call = run.Api(main, "cudaGraphLaunch", host_ns, kCallNs);
    device_ns = std::max(device_ns, host_ns + kCallNs);
    for (int i = 0; i < kernels; ++i) {
      run.Kernel("graph" + std::to_string(i), 7, device_ns, kernel_ns, call);
      device_ns += kernel_ns;
    }
    host_ns += kCallNs + kDispatchNs;
  }
  // Returns when the device is done.
  void Synchronize() {
    const int64_t end_ns = std::max(host_ns + kCallNs, device_ns);
    run.Api(main, "cudaDeviceSynchronize", host_ns, end_ns - host_ns);
    host_ns = end_ns;
  }
  void Pause(int64_t ns) { host_ns += ns; }
  // Three layers of the same two kernels, and a head.
  void LayeredStep() {
    for (int layer = 0; layer < 3; ++layer) Launch({"gemm", "relu"});
    Launch({"head"});
  }
  // Kernels that never repeat.
  void StartUp(int kernels) {
    for (int i = 0; i < kernels; ++i) Launch("init" + std::to_string(i));
  }
};

struct PhaseAnalysis {
  explicit PhaseAnalysis(RunBuilder& run) : analysis(run.Finish()) {
    const auto made = analysis.Need<PhasesFacts>();
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    facts = *made;
    timeline = *analysis.Need<TimelineFacts>();
    ExpectWhole();
  }
  // The spans follow one another from the start of the run to its end, and steps do not overlap.
  void ExpectWhole() const {
    ASSERT_FALSE(facts->spans.empty());
    int64_t at_ns = timeline->first_start_ns, sum_ns = 0, steps = 0;
    for (const PhasesFacts::Span& span : facts->spans) {
      EXPECT_EQ(span.start_ns, at_ns);
      EXPECT_GE(span.end_ns, span.start_ns);
      at_ns = span.end_ns;
      sum_ns += span.end_ns - span.start_ns;
      steps += span.steps;
    }
    EXPECT_EQ(at_ns, timeline->last_end_ns);
    EXPECT_EQ(sum_ns, timeline->wall_ns());
    EXPECT_EQ(steps, static_cast<int64_t>(facts->steps.size()));
    int64_t steady = 0, end_ns = timeline->first_start_ns;
    for (const PhasesFacts::Step& step : facts->steps) {
      EXPECT_GE(step.start_ns, end_ns);
      EXPECT_GT(step.end_ns, step.start_ns);
      EXPECT_LT(step.group, facts->groups);
      end_ns = step.end_ns;
      steady += step.steady;
    }
    EXPECT_LE(end_ns, timeline->last_end_ns);
    EXPECT_EQ(steady, facts->steady_steps);
    EXPECT_EQ(facts->reason.empty(), facts->steady_steps > 0) << facts->reason;
  }
  const PhasesFacts::Span* Find(PhaseKind what) const {
    for (const PhasesFacts::Span& span : facts->spans) {
      if (span.what == what) return &span;
    }
    return nullptr;
  }
  const PhasesFacts* operator->() const { return facts; }

  Analysis analysis;
  const PhasesFacts* facts = nullptr;
  const TimelineFacts* timeline = nullptr;
};

TEST(PhasesPass, LabelledStepsAreTheStepsAsTheyAre) {
  PhaseProgram p;
  for (int i = 0; i < 6; ++i) {
    const int64_t start_ns = p.host_ns;
    p.LayeredStep();
    p.Synchronize();
    p.run.Step("ProfilerStep#" + std::to_string(i), i, start_ns, p.host_ns - start_ns);
  }
  const int64_t end_ns = p.host_ns;
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->source, StepSource::kLabels);
  EXPECT_EQ(a->label, "ProfilerStep");
  ASSERT_EQ(a->steps.size(), 6u);
  EXPECT_EQ(a->groups, 1u);
  EXPECT_EQ(a->steady_steps, 6);
  EXPECT_EQ(a->step_ns, end_ns / 6);
  EXPECT_EQ(a->steps[2].start_ns, 2 * end_ns / 6);
  ASSERT_EQ(a->spans.size(), 1u) << "the first label begins with the run";
  EXPECT_EQ(a->spans[0].what, PhaseKind::kSteady);
}

TEST(PhasesPass, TheLabelWithMostSpansIsTheLoop) {
  PhaseProgram p;
  for (int i = 0; i < 2; ++i) {
    const int64_t outer_ns = p.host_ns;
    for (int k = 0; k < 4; ++k) {
      const int64_t start_ns = p.host_ns;
      p.LayeredStep();
      p.run.Step("LLM@decode_step", 4 * i + k, start_ns, p.host_ns - start_ns);
    }
    p.run.Step("ProfilerStep#" + std::to_string(i), i, outer_ns, p.host_ns - outer_ns);
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->label, "LLM@decode_step");
  EXPECT_EQ(a->steps.size(), 8u);
}

TEST(PhasesPass, WhatRepeatsIsTheStepAndNotItsLayer) {
  PhaseProgram p;
  p.StartUp(5);
  p.Pause(100'000);
  const int64_t first_ns = p.host_ns;
  int64_t next_ns = 0;
  for (int i = 0; i < 10; ++i) {
    if (i == 1) next_ns = p.host_ns;
    p.LayeredStep();
    p.Pause(20'000);
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->source, StepSource::kRepetition);
  EXPECT_EQ(a->label, "");
  ASSERT_EQ(a->steps.size(), 10u);
  EXPECT_EQ(a->steps[0].start_ns, first_ns) << "a step begins after the pause";
  EXPECT_EQ(a->steps[1].start_ns, next_ns);
  EXPECT_EQ(a->step_ns, next_ns - first_ns);
  const PhasesFacts::Span* startup = a.Find(PhaseKind::kStartup);
  ASSERT_NE(startup, nullptr);
  EXPECT_EQ(startup->end_ns, first_ns);
  EXPECT_EQ(startup->steps, 0);
  EXPECT_EQ(a.Find(PhaseKind::kWarmup), nullptr);
}

// Deep models: the layer repeats 40 times before anything else comes.
TEST(PhasesPass, ManyLayersAreStillOneStep) {
  PhaseProgram p;
  for (int i = 0; i < 12; ++i) {
    p.Launch({"embedding"});
    for (int layer = 0; layer < 40; ++layer)
      p.Launch({"norm", "qkv", "flash_fwd", "out", "norm", "up", "down"});
    p.Launch({"norm", "logits", "argmax"});
    p.Synchronize();
  }
  const PhaseAnalysis a(p.run);
  ASSERT_EQ(a->steps.size(), 12u);
  EXPECT_EQ(a->groups, 1u);
  EXPECT_GE(a->steady_steps, 11);
}

// Nothing but a pause of the host shows where a step of equal layers begins.
TEST(PhasesPass, APauseSeparatesStepsOfEqualLayers) {
  PhaseProgram p;
  for (int i = 0; i < 9; ++i) {
    for (int layer = 0; layer < 12; ++layer) p.Launch({"gemm", "relu"});
    p.Pause(50'000);
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->steps.size(), 9u);
}

// Only the call that waits shows where a step of these layers ends.
TEST(PhasesPass, ACallThatWaitsSeparatesStepsOfEqualLayers) {
  PhaseProgram p;
  for (int i = 0; i < 9; ++i) {
    for (int layer = 0; layer < 12; ++layer) {
      p.Launch({"gemm"});
      p.Pause(30'000);
      p.Launch({"relu"});
    }
    p.Synchronize();  // returns at once: every pause in a layer is longer
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->steps.size(), 9u);
}

// The first step executes other kernels at first, so what repeats begins in its middle.
TEST(PhasesPass, AStepBeginsAfterThePauseEvenIfTheRepetitionDoesNot) {
  PhaseProgram p;
  std::vector<int64_t> starts_ns;
  for (int i = 0; i < 8; ++i) {
    p.Pause(80'000);
    starts_ns.push_back(p.host_ns);
    for (int k = 0; k < 12; ++k) p.Launch((i == 0 && k < 6 ? "tune" : "k") + std::to_string(k));
  }
  const PhaseAnalysis a(p.run);
  ASSERT_GE(a->steps.size(), 7u);
  for (size_t i = 1; i <= 7; ++i) EXPECT_EQ(a->steps[a->steps.size() - i].start_ns, starts_ns[8 - i]);
}

TEST(PhasesPass, APartOfAStepBeforeTheLoopIsStartUp) {
  PhaseProgram p;
  for (int k = 0; k < 10; ++k) p.Launch("k" + std::to_string(k));  // as a step begins
  p.StartUp(40);
  const int64_t first_ns = p.host_ns;
  for (int i = 0; i < 9; ++i) {
    for (int k = 0; k < 20; ++k) p.Launch("k" + std::to_string(k));
    p.Pause(40'000);
  }
  const PhaseAnalysis a(p.run);
  ASSERT_EQ(a->steps.size(), 9u);
  EXPECT_EQ(a->steps[0].start_ns, first_ns);
}

TEST(PhasesPass, RunsOfEqualKernelsOfManyKindsAreNotSteps) {
  PhaseProgram p;
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 30; ++k) p.Launch("k" + std::to_string(i));
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->source, StepSource::kNone);
}

// One attention kernel per period and no wait: a single forward pass shows its layers.
TEST(PhasesPass, ALayerOfOneForwardPassIsNotAStep) {
  PhaseProgram p;
  for (int layer = 0; layer < 24; ++layer)
    p.Launch({"norm", "qkv_gemm", "flash_fwd_kernel", "out_gemm", "norm", "up_gemm", "down_gemm"});
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->source, StepSource::kNone);
  EXPECT_NE(a->reason.find("layer"), std::string::npos) << a->reason;
}

TEST(PhasesPass, KernelsThatDifferNowAndThenDoNotEndTheSteps) {
  PhaseProgram p;
  for (int i = 0; i < 20; ++i) {
    for (int layer = 0; layer < 6; ++layer)
      p.Launch({"norm", i % 7 == 3 && layer == 2 ? "gemm_split" : "gemm", "softmax", "gemm2"});
    if (i == 11) p.Launch({"extra"});
    p.Launch({"head", "argmax"});
    p.Pause(30'000);
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->steps.size(), 20u);
  EXPECT_GE(a->steady_steps, 19) << "the step with one kernel more may be of another group";
}

TEST(PhasesPass, StepsThatAllDifferALittleAreStillSteps) {
  PhaseProgram p;
  std::mt19937 random(9);
  for (int i = 0; i < 30; ++i) {
    const uint32_t other = random() % 40;
    for (uint32_t k = 0; k < 40; ++k) p.Launch((k == other ? "other" : "k") + std::to_string(k));
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->steps.size(), 30u);
  EXPECT_EQ(a->groups, 1u);
}

TEST(PhasesPass, SlowFirstStepsAreWarmUp) {
  PhaseProgram p;
  p.StartUp(6);
  for (int i = 0; i < 12; ++i) {
    if (i == 0) p.Launch({"autotune_a", "autotune_b"});
    p.LayeredStep();
    p.Pause(i == 0 ? 400'000 : i == 1 ? 60'000 : 10'000);
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->steady_steps, 10);
  const PhasesFacts::Span* warmup = a.Find(PhaseKind::kWarmup);
  ASSERT_NE(warmup, nullptr);
  EXPECT_EQ(warmup->steps, 2);
  EXPECT_FALSE(a->steps[1].steady);
  EXPECT_TRUE(a->steps[2].steady);
}

TEST(PhasesPass, AStepThatLoadsCodeIsWarmUp) {
  PhaseProgram p;
  for (int i = 0; i < 8; ++i) {
    const int64_t start_ns = p.host_ns;
    if (i == 0) {
      p.run.Api(p.main, "cuModuleLoadData", p.host_ns, 200'000);
      p.host_ns += 200'000;
    }
    p.Launch({"a", "b"});
    p.Pause(i == 0 ? 800'000 : 1'000'000);  // as long as the others: only the load shows it
    p.run.Step("train", i, start_ns, p.host_ns - start_ns);
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->steady_steps, 7);
  EXPECT_FALSE(a->steps[0].steady);
}

// The host launches 20 steps in 1 ms each while the device needs 5 ms.
TEST(PhasesPass, AHostThatRunsAheadDoesNotShortenTheStep) {
  PhaseProgram p;
  p.kernel_ns = 2'500'000;
  for (int i = 0; i < 20; ++i) {
    const int64_t start_ns = p.host_ns;
    p.Launch({"a", "b"});
    p.host_ns = start_ns + 1'000'000;
    p.run.Step("step", i, start_ns, 1'000'000);
  }
  const int64_t device_end_ns = p.device_ns;
  p.Synchronize();
  p.Launch({"last"});
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->steady_steps, 20);
  EXPECT_EQ(a->step_ns, 5'000'000);
  EXPECT_EQ(a->steady_end_ns, device_end_ns) << "the work of steady steps belongs to the steady phase";
  ASSERT_NE(a.Find(PhaseKind::kTail), nullptr);
}

TEST(PhasesPass, TwoKindsOfLabelledStepsAreTwoGroups) {
  PhaseProgram p;
  for (int i = 0; i < 12; ++i) {
    const int64_t start_ns = p.host_ns;
    if (i % 2 == 0) {
      p.LayeredStep();
    } else {
      p.Launch({"copy", "copy", "scan", "sort", "scan"});
    }
    p.run.Step("step", i, start_ns, p.host_ns - start_ns);
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->groups, 2u);
  EXPECT_EQ(a->steps[0].group, 0u) << "seven kernels take longer than five";
  EXPECT_EQ(a->steps[1].group, 1u);
  EXPECT_EQ(a->steady_steps, 6);
  EXPECT_FALSE(a->steps[1].steady);
  EXPECT_EQ(a->step_ns, 7 * (kCallNs + kDispatchNs)) << "the other group's time is not in it";
}

TEST(PhasesPass, StepsOfAsManyOtherKernelsAreAnotherGroup) {
  PhaseProgram p;
  for (int i = 0; i < 8; ++i) {
    const int64_t start_ns = p.host_ns;
    for (int k = 0; k < 12; ++k) p.Launch((i % 2 == 0 ? "a" : "b") + std::to_string(k));
    p.run.Step("step", i, start_ns, p.host_ns - start_ns);
  }
  EXPECT_EQ(PhaseAnalysis(p.run)->groups, 2u);
}

TEST(PhasesPass, StepsWithMoreOfTheSameKernelsAreAnotherGroup) {
  PhaseProgram p;
  for (int i = 0; i < 8; ++i) {
    const int64_t start_ns = p.host_ns;
    for (int k = 0; k < (i % 2 == 0 ? 20 : 22); ++k) p.Launch({"same"});
    p.run.Step("step", i, start_ns, p.host_ns - start_ns);
  }
  EXPECT_EQ(PhaseAnalysis(p.run)->groups, 2u);
}

TEST(PhasesPass, LabelledStepsWhoseWorkVariesAreOneGroup) {
  PhaseProgram p;
  for (int i = 0; i < 12; ++i) {
    const int64_t start_ns = p.host_ns;
    for (int k = 0; k < 20 + 2 * i; ++k) p.Launch("k" + std::to_string(k));
    p.run.Step("step", i, start_ns, p.host_ns - start_ns);
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->groups, 1u);
  EXPECT_EQ(a->steady_steps, 12);
}

// An operator may execute one kernel or two, depending on sizes.
TEST(PhasesPass, StepsOfTheSameOperatorsAreOneGroup) {
  PhaseProgram p;
  for (int i = 0; i < 6; ++i) {
    const int64_t start_ns = p.host_ns;
    for (int k = 0; k < 4; ++k) {
      const RowId op = p.run.Op(p.main, "aten::mm", p.host_ns, 2 * (kCallNs + kDispatchNs));
      p.Launch(i % 2 == 0 ? "gemm" : "split_gemm");
      if (i % 2 == 1) p.Launch({"reduce"});
      for (RowId& of : p.run.data().kernel.op_id) of = IsNull(of) ? op : of;
    }
    p.run.Step("step", i, start_ns, p.host_ns - start_ns);
  }
  EXPECT_EQ(PhaseAnalysis(p.run)->groups, 1u);
}

// Decode steps with a prefill of other kernels now and then.
TEST(PhasesPass, WhatInterruptsDetectedStepsIsAnotherGroup) {
  PhaseProgram p;
  for (const int steps : {9, 14, 7, 11}) {
    for (int i = 0; i < 25; ++i) p.Launch("prefill" + std::to_string(i));
    for (int i = 0; i < steps; ++i) {
      p.LayeredStep();
      p.Synchronize();
    }
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->groups, 2u);
  int64_t main = 0;
  for (const PhasesFacts::Step& step : a->steps) main += step.group == 0;
  EXPECT_EQ(main, 9 + 14 + 7 + 11);
  EXPECT_EQ(static_cast<int64_t>(a->steps.size()) - main, 3) << "the first prefill is before the first step";
}

TEST(PhasesPass, GraphLaunchesAreSteps) {
  PhaseProgram p;
  std::mt19937 random(3);
  for (int i = 0; i < 6; ++i) {
    for (uint32_t k = random() % 5; k > 0; --k) p.Launch("schedule" + std::to_string(random() % 100));
    p.LaunchGraph(30);
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->source, StepSource::kGraphLaunches);
  EXPECT_EQ(a->steps.size(), 6u);
}

TEST(PhasesPass, WithoutLaunchesStepsAreFoundOnTheDevice) {
  RunBuilder run;
  int64_t at_ns = 0;
  for (int i = 0; i < 8; ++i) {
    for (const char* name : {"a", "b", "a", "b", "c"}) {
      run.Kernel(name, 7, at_ns, 100);
      at_ns += 110;
    }
    at_ns += 500;
  }
  const PhaseAnalysis a(run);
  EXPECT_EQ(a->source, StepSource::kRepetition);
  ASSERT_EQ(a->steps.size(), 8u);
  EXPECT_EQ(a->steps[1].start_ns, 5 * 110 + 500);
}

// PyTorch runs the backward pass on a thread of its own while the main one waits.
TEST(PhasesPass, ThreadsThatTakeTurnsAreOneSequence) {
  PhaseProgram p;
  const ThreadId main = p.main;
  const ThreadId autograd = p.run.Thread("autograd");
  p.run.data().thread.process_id[1] = p.run.data().thread.process_id[0];
  int64_t second_ns = 0;
  for (int i = 0; i < 8; ++i) {
    if (i == 1) second_ns = p.host_ns;
    for (int k = 0; k < 30; ++k) p.Launch("forward" + std::to_string(k % 10));
    p.main = autograd;
    for (int k = 0; k < 60; ++k) p.Launch("backward" + std::to_string(k % 20));
    p.main = main;
    p.Launch({"adam", "adam"});
    p.Pause(200'000);
  }
  const PhaseAnalysis a(p.run);
  ASSERT_EQ(a->steps.size(), 8u);
  EXPECT_EQ(a->steps[0].start_ns, 0);
  EXPECT_EQ(a->steps[1].start_ns, second_ns) << "a step begins with its forward pass";
}

TEST(PhasesPass, WithoutRepetitionTheRunIsOnePhase) {
  PhaseProgram p;
  p.StartUp(50);
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->source, StepSource::kNone);
  EXPECT_EQ(a->reason, "no sequence of kernels repeats three times and covers half of the launches");
  ASSERT_EQ(a->spans.size(), 1u);
  EXPECT_EQ(a->spans[0].what, PhaseKind::kWhole);
  EXPECT_EQ(a->step_ns, 0);
}

TEST(PhasesPass, KernelsInRandomOrderAreNotSteps) {
  PhaseProgram p;
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) p.Launch("k" + std::to_string(random() % 6));
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->source, StepSource::kNone) << a->steps.size() << " steps";
}

TEST(PhasesPass, ASmallPartThatRepeatsIsNotTheRun) {
  PhaseProgram p;
  p.StartUp(200);
  for (int i = 0; i < 6; ++i) p.LayeredStep();
  p.StartUp(400);
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->source, StepSource::kNone);
}

TEST(PhasesPass, OneLabelledStepIsNotASteadyPhase) {
  PhaseProgram p;
  for (int i = 0; i < 10; ++i) p.LayeredStep();
  p.run.Step("ProfilerStep#3", 3, 0, p.host_ns);
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->source, StepSource::kLabels);
  EXPECT_EQ(a->reason, "only 1 step");
  EXPECT_EQ(a->spans[0].what, PhaseKind::kWhole);
  EXPECT_EQ(a->spans[0].steps, 1);
}

TEST(PhasesPass, ALongPauseEndsTheSteadyPhase) {
  PhaseProgram p;
  for (int i = 0; i < 30; ++i) {
    const int64_t start_ns = p.host_ns;
    p.LayeredStep();
    p.run.Step("step", i, start_ns, p.host_ns - start_ns);
    if (i == 9) p.Pause(10'000'000);
  }
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->steady_steps, 20);
  EXPECT_FALSE(a->steps[9].steady);
  EXPECT_TRUE(a->steps[10].steady);
}

TEST(PhasesPass, LabelsBeyondTheRunAreCutToIt) {
  PhaseProgram p;
  for (int i = 0; i < 4; ++i) p.LayeredStep();
  const int64_t far_ns = int64_t{1} << 60;
  p.run.Step("step", 0, -far_ns, 2 * far_ns);
  p.run.Step("step", 1, far_ns, far_ns);
  const PhaseAnalysis a(p.run);
  ASSERT_EQ(a->steps.size(), 1u);
  EXPECT_EQ(a->steps[0].start_ns, a.timeline->first_start_ns);
  EXPECT_EQ(a->steps[0].end_ns, a.timeline->last_end_ns);
}

TEST(PhasesPass, ExtremeTimesAndMissingNamesAreTakenAsTheyAre) {
  const int64_t far_ns = int64_t{1} << 61;
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  for (int i = 0; i < 40; ++i) {
    const int64_t at_ns = i % 2 == 0 ? -far_ns : far_ns;
    const RowId call = run.Api(main, "cudaLaunchKernel", at_ns, far_ns);
    run.Kernel(i % 3 == 0 ? "a" : "b", 7, at_ns, far_ns, call);
    run.data().kernel.name.back() = StringId::kNull;
  }
  const PhaseAnalysis a(run);
  EXPECT_FALSE(a->spans.empty());
}

TEST(PhasesPass, DurationsWithoutTimesHaveNoPhases) {
  PhaseProgram p;
  for (int i = 0; i < 10; ++i) p.LayeredStep();
  p.run.document()["clock"]["source"] = kClockOfOrder;
  const PhaseAnalysis a(p.run);
  EXPECT_EQ(a->source, StepSource::kNone);
  EXPECT_EQ(a->reason, "only durations were recorded, not when the work ran");
}

// Each of six threads repeats itself, but none of them is the program.
TEST(PhasesPass, ManyThreadsThatLaunchAtOnceHaveNoSteps) {
  RunBuilder run;
  std::vector<ThreadId> threads;
  for (int i = 0; i < 6; ++i) {
    threads.push_back(run.Thread("worker"));
    run.data().thread.process_id.back() = run.data().thread.process_id.front();
  }
  for (int i = 0; i < 240; ++i) {
    const int64_t at_ns = 1000 * i;
    const RowId call = run.Api(threads[static_cast<size_t>(i % 6)], "cudaLaunchKernel", at_ns, 500);
    run.Kernel("k" + std::to_string(i / 6 % 5), i % 6, at_ns + 600, 300, call);
  }
  const PhaseAnalysis a(run);
  EXPECT_EQ(a->source, StepSource::kNone);
  EXPECT_EQ(a->reason, "many threads or streams share the work, so its order does not repeat");
}

TEST(PhasesPass, ARunWithoutDeviceWorkHasAReason) {
  RunBuilder run;
  run.Op(run.Thread("main"), "aten::mm", 0, 100);
  const PhaseAnalysis a(run);
  EXPECT_EQ(a->reason, "no device work was recorded");
}

// 42 % of the tokens after the first quarter repeat in one period, then 58 %.
TEST(PhasesPass, ARepetitionCoversHalfOfTheLaunchesAfterTheFirstQuarter) {
  for (const uint32_t repeated : {420u, 580u}) {
    std::vector<uint32_t> tokens;
    while (tokens.size() < 333) tokens.push_back(static_cast<uint32_t>(tokens.size()) + 4);
    for (uint32_t i = 0; i < repeated; ++i) tokens.push_back(i % 4);
    while (tokens.size() < 1333) tokens.push_back(static_cast<uint32_t>(tokens.size()) + 4);
    const std::vector<uint32_t> kernels(1400, 1);
    const auto found = passes::phases::FindRepetition(tokens, kernels, 8);
    EXPECT_EQ(found.period, repeated < 500 ? 0u : 4u);
  }
}

// Any program: the spans sum to the wall time, and nothing ends the program.
TEST(PhasesPass, RandomProgramsAreDividedWithoutARest) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    PhaseProgram p;
    const uint32_t names = 1 + random() % 9, length = 1 + random() % 12;
    std::vector<std::string> step(length);
    for (std::string& name : step) name = "k" + std::to_string(random() % names);
    const uint32_t steps = random() % 30;
    p.StartUp(static_cast<int>(random() % 20));
    for (uint32_t i = 0; i < steps; ++i) {
      for (const std::string& name : step) {
        if (random() % 20 != 0) p.Launch(name);
        if (random() % 40 == 0) p.Synchronize();
        if (random() % 40 == 0) p.LaunchGraph(1 + static_cast<int>(random() % 3));
      }
      if (random() % 2 == 0) p.Pause(static_cast<int64_t>(random() % 50'000));
    }
    const PhaseAnalysis a(p.run);  // checks itself
    if (::testing::Test::HasFailure()) FAIL() << "round " << round;
  }
}

TEST(PhasesPass, TheSectionHasTheSpansInMilliseconds) {
  PhaseProgram p;
  p.host_ns = 7'000'000;  // the run does not begin at 0
  p.StartUp(5);
  for (int i = 0; i < 10; ++i) {
    p.LayeredStep();
    p.Pause(20'000);
  }
  const PhaseAnalysis a(p.run);
  const Described section = a.analysis.Section("phases");
  ASSERT_FALSE(section.empty());
  const Json json = ToDocument(section.data(), section.info());
  EXPECT_EQ(json["source"], "repetition");
  EXPECT_TRUE(json["label"].is_null());
  EXPECT_TRUE(json["reason"].is_null());
  EXPECT_EQ(json["steps"], 10);
  EXPECT_NEAR(json["step_ms"].get<double>(), 0.062, 1e-9);
  EXPECT_EQ(json["spans"][0]["phase"], "startup");
  EXPECT_EQ(json["spans"][0]["start_ms"], 0.0);
  double share = 0;
  for (const Json& span : json["spans"]) share += span["share"].get<double>();
  EXPECT_NEAR(share, 1, 1e-12);
}

// The host launches everything at once, the device works for much longer: steps end with their device work,
// and begin where the device is done with those before.
TEST(PhasesPass, APartOfTheSteadyStepsHasTheirDeviceWork) {
  PhaseProgram p;
  p.kernel_ns = 100'000;
  p.StartUp(2);
  for (int i = 0; i < 10; ++i) p.LayeredStep();
  const PhaseAnalysis a(p.run);
  const PhasesFacts& facts = *a.facts;
  ASSERT_EQ(facts.steady_steps, 10);
  const size_t first = static_cast<size_t>(
      std::find_if(facts.steps.begin(), facts.steps.end(), [](const auto& step) { return step.steady; }) -
      facts.steps.begin());
  const Interval all = SteadyPart(facts, first, first + 9);
  EXPECT_EQ(all, (Interval{facts.steady_start_ns, facts.steady_end_ns}));
  const Interval head = SteadyPart(facts, first, first + 3), tail = SteadyPart(facts, first + 4, first + 9);
  EXPECT_EQ(head.start_ns, all.start_ns);
  EXPECT_EQ(head.end_ns, tail.start_ns);
  EXPECT_EQ(tail.end_ns, all.end_ns);
  EXPECT_EQ(tail.end_ns - tail.start_ns, 6 * 7 * p.kernel_ns);
}

TEST(PhasesPass, TheSteadyPhaseIsTheDefaultWhereMuchIsSomethingElse) {
  for (const bool slow_start : {false, true}) {
    PhaseProgram p;
    p.StartUp(1);
    if (slow_start) p.Pause(800'000);
    for (int i = 0; i < 20; ++i) {
      p.LayeredStep();
      p.Pause(20'000);
    }
    const PhaseAnalysis a(p.run);
    ASSERT_EQ(a.facts->steady_steps, 20);
    EXPECT_EQ(IsSteadyByDefault(*a.facts, a.timeline->wall_ns()), slow_start);
  }
}

}  // namespace
}  // namespace nl
