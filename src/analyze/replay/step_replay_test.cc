// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/step_replay.h"

#include <gtest/gtest.h>

#include "analyze/facts/critical_path.h"
#include "analyze/replay/fixes.h"
#include "testing/step_script.h"

namespace nl::replay {
namespace {

using testing_analyze::StepScript;

constexpr int64_t kUs = 1000, kMs = 1'000'000;

class Replayed {
 public:
  explicit Replayed(StepScript& script) : analysis_(script.run.Finish()) {
    const auto* path = *analysis_.Need<CriticalPathFacts>();
    steps_ = std::make_unique<StepReplay>(*path->graph, **analysis_.Need<TimelineFacts>(), analysis_.data(),
                                          **analysis_.Need<PhasesFacts>());
  }
  const StepReplay& steps() const { return *steps_; }
  double GainUs(FixKind kind, const FixTargets& targets = {}, double left = 0) const {
    Plan plan = steps_->unchanged();
    ApplyFix(*steps_, kind, targets, left, plan);
    return (steps_->StepNs(steps_->unchanged()) - steps_->StepNs(plan)) / 1e3;
  }
  // Nodes of the host tree by name.
  FixTargets Named(std::string_view name) const {
    FixTargets out;
    const HostTree& h = steps_->timeline().host;
    for (uint32_t i = 0; i < h.size(); ++i) {
      if (steps_->data().Text(h.name[i]) == name) out.nodes.push_back(i);
    }
    return out;
  }

 private:
  Analysis analysis_;
  std::unique_ptr<StepReplay> steps_;
};

TEST(StepReplay, NoChangeGivesTheRecordedStep) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 10; ++i) s.Op("aten::mm", 50 * kUs, 5 * kUs);
  });
  const Replayed r(s);
  ASSERT_TRUE(r.steps().usable());
  EXPECT_EQ(r.steps().steps(), 6);
  EXPECT_NEAR(r.steps().StepNs(r.steps().recorded()), 500 * kUs, 2 * kUs);
  EXPECT_NEAR(r.steps().StepNs(r.steps().unchanged()), 500 * kUs, 2 * kUs) << "no recorder, no price";
}

TEST(StepReplay, GraphsGainTheHostOfAStepThatWaitsForIt) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 10; ++i) s.Op("aten::mm", 50 * kUs, 5 * kUs);
  });
  // 500 µs of host become one launch and 10 kernels of 5.7 µs, which overlap with it.
  EXPECT_NEAR(Replayed(s).GainUs(FixKind::kGraphs), 500 - 57, 15);
}

TEST(StepReplay, GraphsGainNothingWhereTheDeviceIsTheLongerOne) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 10; ++i) s.Op("aten::mm", 10 * kUs, 50 * kUs);
  });
  const Replayed r(s);
  EXPECT_NEAR(r.steps().StepNs(r.steps().unchanged()), 500 * kUs, 15 * kUs);
  EXPECT_LT(r.GainUs(FixKind::kGraphs), 10);
}

TEST(StepReplay, FasterKernelsGainOnlyWhereTheDeviceIsTheLongerOne) {
  StepScript waits;
  waits.Steps(6, [&] {
    for (int i = 0; i < 10; ++i) waits.Op("aten::mm", 50 * kUs, 5 * kUs);
  });
  const Replayed host(waits);
  EXPECT_LT(host.GainUs(FixKind::kKernels, host.Named("aten::mm"), 0.5), 5);
  StepScript busy;
  busy.Steps(6, [&] {
    for (int i = 0; i < 10; ++i) busy.Op("aten::mm", 10 * kUs, 50 * kUs);
  });
  const Replayed device(busy);
  EXPECT_NEAR(device.GainUs(FixKind::kKernels, device.Named("aten::mm"), 0.5), 250, 20);
}

TEST(StepReplay, HostCodeIsAGapAndStaysUnderGraphs) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 10; ++i) s.Op("aten::mm", 50 * kUs, 5 * kUs);
    s.host_ns += 2 * kMs;
  });
  const Replayed r(s);
  ASSERT_EQ(r.steps().gaps().size(), 6u);
  FixTargets gaps;
  for (uint32_t i = 0; i < 6; ++i) gaps.gaps.push_back(i);
  EXPECT_NEAR(r.GainUs(FixKind::kHost, gaps), 2000, 20);
  EXPECT_NEAR(r.GainUs(FixKind::kGraphs), 500, 60) << "the host code is not the graph's";
}

TEST(StepReplay, AWaitInEveryStepGainsWhatTheDeviceAndTheHostDidOneAfterTheOther) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 4; ++i) {
      s.Op("aten::mm", 50 * kUs, 40 * kUs);
      s.Wait();
    }
  });
  const Replayed r(s);
  // 50 + 40 + 3 µs become the longer of 50 and 40, and the code around the call is gone.
  EXPECT_NEAR(r.GainUs(FixKind::kSync, r.Named("cudaStreamSynchronize")), 4 * 43, 40);
}

TEST(StepReplay, FixesThatTakeTheSameTimeAreNotAddedUp) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 10; ++i) s.Op("aten::mm", 50 * kUs, 5 * kUs);
  });
  const Replayed r(s);
  Plan plan = r.steps().unchanged();
  ApplyFix(r.steps(), FixKind::kGraphs, {}, 0, plan);
  const double after_ns = r.steps().StepNs(plan);
  ApplyFix(r.steps(), FixKind::kFuse, r.Named("aten::mm"), 0.5, plan);
  EXPECT_LE(r.steps().StepNs(plan), after_ns);
  EXPECT_GT(r.steps().StepNs(plan), 0);
  EXPECT_LT(after_ns - r.steps().StepNs(plan), 40 * kUs) << "the host's time was gone already";
}

TEST(StepReplay, WorkOfAnotherStreamFromBeforeDoesNotHideTheStepsOwn) {
  StepScript s;
  const RowId call = s.run.Api(s.main, "cudaLaunchKernel", 0, 5 * kUs);
  s.run.Kernel("before", 8, 10 * kUs, 2 * kMs, call);
  s.host_ns = 20 * kUs;
  s.Steps(4, [&] {
    s.host_ns += 1 * kMs;
    for (int i = 0; i < 10; ++i) s.Op("aten::mm", 50 * kUs, 40 * kUs);
  });
  const Replayed r(s);
  ASSERT_TRUE(r.steps().usable());
  FixTargets gaps;
  for (uint32_t i = 0; i < r.steps().gaps().size(); ++i) gaps.gaps.push_back(i);
  Plan plan = r.steps().unchanged();
  ApplyFix(r.steps(), FixKind::kHost, gaps, 0, plan);
  ApplyFix(r.steps(), FixKind::kGraphs, {}, 0, plan);
  EXPECT_NEAR(r.steps().StepNs(plan), 407 * kUs, 20 * kUs) << "the kernels of a step take this long";
}

TEST(StepReplay, HostCodeBeforeTheStepsIsNotGained) {
  StepScript s;
  s.Op("aten::init", 50 * kUs, 5 * kUs);
  s.host_ns += 60 * kMs;
  s.Steps(4, [&] {
    for (int i = 0; i < 10; ++i) s.Op("aten::mm", 50 * kUs, 40 * kUs);
  });
  const Replayed r(s);
  ASSERT_TRUE(r.steps().usable());
  Plan plan = r.steps().unchanged();
  ApplyFix(r.steps(), FixKind::kGraphs, {}, 0, plan);
  EXPECT_NEAR(r.steps().StepNs(plan), 407 * kUs, 5 * kUs) << "the kernels of a step take this long";
}

TEST(StepReplay, WithoutStepsTheRunIsTheStep) {
  StepScript s;
  for (const char* name : {"aten::mm", "aten::add", "aten::relu", "aten::bmm"}) s.Op(name, 50 * kUs, 5 * kUs);
  const Replayed r(s);
  ASSERT_TRUE(r.steps().usable());
  EXPECT_TRUE(r.steps().whole());
  EXPECT_EQ(r.steps().steps(), 1);
  EXPECT_NEAR(r.steps().StepNs(r.steps().recorded()), 200 * kUs, 50 * kUs);
}

TEST(StepReplay, StepsAreReplayedInsteadOfTheRun) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 10; ++i) s.Op("aten::mm", 50 * kUs, 5 * kUs);
  });
  EXPECT_FALSE(Replayed(s).steps().whole());
}

}  // namespace
}  // namespace nl::replay
