// SPDX-License-Identifier: Apache-2.0
// Simulated runs with planted causes: a part of what bench/compare_truth measures, with the same marks.
#include <gtest/gtest.h>

#include "testing/synthetic/cases.h"

namespace nl::synthetic {
namespace {

std::string Describe(const PairResult& r, size_t plant) {
  const Told& t = r.told[plant];
  std::string out = fmt::format("{}: truth {:+.3f} ms, found {:+.3f} as number {}", r.pair->name, t.truth_ms,
                                t.delta_ms, t.rank + 1);
  for (size_t i = 0; i < std::min<size_t>(3, r.comparison.contributions.size()); ++i) {
    const Contribution& c = r.comparison.contributions[i];
    out += fmt::format("; {:+.3f} {}", c.delta_ms(), CauseName(c.cause));
  }
  return out + "\n";
}

struct Marks {
  int pairs = 0, first = 0, sized = 0;
  std::string missed;
};

// Every `stride`-th pair.
Marks Measure(const std::vector<PairCase>& cases, size_t stride, size_t among, bool noise) {
  Marks out;
  for (size_t i = 0; i < cases.size(); i += stride) {
    const uint64_t seed = compare::HashPair(SeedOf(cases[i].name), 1);
    const PairResult r = noise ? RunPair(cases[i], RunNoise(seed), RunNoise(seed + 1))
                               : RunPair(cases[i], NoNoise(), NoNoise());
    EXPECT_EQ(r.error, "") << cases[i].name;
    EXPECT_LE(std::abs(r.comparison.residual_ms), 0.001 * std::abs(r.comparison.delta_ms()) + 1e-6)
        << cases[i].name;
    for (size_t k = 0; k < r.told.size(); ++k) {
      const Told& t = r.told[k];
      const bool first = t.rank >= 0 && t.rank < static_cast<int>(among);
      const bool sized = t.Within(0.05, 0.005 * r.comparison.wall_a_ms);
      ++out.pairs;
      out.first += first;
      out.sized += sized;
      if (!first || !sized) out.missed += Describe(r, k);
    }
  }
  return out;
}

// Odd strides, so that causes come done and undone.
TEST(CompareTruth, ThePlantedCauseComesFirst) {
  const Marks m = Measure(SingleCases(), 7, 1, true);
  EXPECT_GE(m.pairs, 50);
  EXPECT_GE(100 * m.first, 95 * m.pairs) << m.first << " of " << m.pairs << "\n" << m.missed;
}

// Of all pairs 95 % (compare_truth --exact); those picked here have more of the hard ones.
TEST(CompareTruth, WithoutNoiseTheSizeIsRight) {
  const Marks m = Measure(SingleCases(), 9, 1, false);
  EXPECT_GE(100 * m.sized, 94 * m.pairs) << m.sized << " of " << m.pairs << "\n" << m.missed;
}

TEST(CompareTruth, OfTwoCausesBothAreAmongTheFirstThree) {
  const Marks m = Measure(DoubleCases(), 3, 3, true);
  EXPECT_GE(100 * m.first, 95 * m.pairs) << m.first << " of " << m.pairs << "\n" << m.missed;
}

TEST(CompareTruth, RepeatsOfTheSameProgramAreNotAChange) {
  int pairs = 0, wrong = 0;
  std::string wrong_pairs;
  for (const std::string& world : RepeatWorlds()) {
    for (uint64_t i = 0; i < 3; ++i) {
      const PairCase pair{world + ": nothing", World(world), {plants::Nothing()}, false};
      const uint64_t seed = compare::HashPair(SeedOf(world), 31 + i);
      const PairResult r = RunPair(pair, RunNoise(seed), RunNoise(seed + 1));
      const VerdictClass verdict = r.comparison.verdict.verdict;
      ++pairs;
      if (verdict != VerdictClass::kRegressed && verdict != VerdictClass::kImproved) continue;
      ++wrong;
      wrong_pairs += Describe(r, 0);
    }
  }
  EXPECT_LE(100 * wrong, pairs) << wrong << " of " << pairs << "\n" << wrong_pairs;
}

// What the simulation itself promises.
TEST(Simulator, TheSameSeedGivesTheSameRun) {
  const Scenario s = World("llm");
  EXPECT_EQ(WallMs(s, RunNoise(5)), WallMs(s, RunNoise(5)));
  EXPECT_NE(WallMs(s, RunNoise(5)), WallMs(s, RunNoise(6)));
}

TEST(Simulator, TheWallIsTheOneThatIsRecorded) {
  for (const std::string& world : RepeatWorlds()) {
    const Program program = MakeProgram(World(world));
    testing_analyze::RunBuilder builder;
    const Simulated simulated = Simulate(program, RunNoise(3), &builder);
    Analysis run = builder.Finish();
    const auto timeline = run.Need<TimelineFacts>();
    ASSERT_TRUE(timeline.ok());
    EXPECT_EQ((*timeline)->wall_ns(), simulated.wall_ns) << world;
    EXPECT_EQ(static_cast<int64_t>((*timeline)->work.size()), simulated.works) << world;
  }
}

// The noise of a call is its own: what is planted elsewhere does not change it.
TEST(Simulator, APlantOfNoSizeChangesNothing) {
  Scenario with = World("llm");
  with.edits.push_back(plants::After({"", "mlp.mul"}, [](Writer&) {}));
  EXPECT_EQ(WallMs(with, RunNoise(9)), WallMs(World("llm"), RunNoise(9)));
}

// Work starts neither before its launch nor before what is ahead of it on its stream.
TEST(Simulator, WorkKeepsTheOrderOfItsStream) {
  for (const std::string& world : RepeatWorlds()) {
    const Program program = MakeProgram(World(world));
    testing_analyze::RunBuilder builder;
    Simulate(program, RunNoise(4), &builder);
    Analysis run = builder.Finish();
    const TimelineFacts& t = **run.Need<TimelineFacts>();
    std::vector<int64_t> free_ns(t.streams.size(), INT64_MIN);
    for (size_t i = 0; i < t.work.size(); ++i) {
      ASSERT_GE(t.work.start_ns[i], free_ns[t.work.stream[i]]) << world;
      free_ns[t.work.stream[i]] = t.work.end_ns[i];
      ASSERT_NE(t.work.launch[i], kNone);
      ASSERT_GT(t.work.start_ns[i], t.host.start_ns[t.work.launch[i]]) << world;
    }
  }
}

}  // namespace
}  // namespace nl::synthetic
