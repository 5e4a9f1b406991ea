// SPDX-License-Identifier: Apache-2.0
#include "import/rows/join_kernels.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace nl {
namespace {

class JoinKernelsTest : public ::testing::Test {
 protected:
  static void Add(KernelColumns& to, StringPool& strings, const char* name, int64_t start_ns, int32_t grid,
                  int32_t block = 128, int64_t dur_ns = NullOf<int64_t>::value) {
    KernelRow row;
    row.name = strings.Add(name);
    row.start_ns = start_ns;
    row.dur_ns = dur_ns;
    if (grid > 0) {
      row.grid_x = grid;
      row.block_x = block;
      row.grid_y = row.grid_z = row.block_y = row.block_z = 1;
    }
    to.Add(row);
  }
  void Run(const char* name, int64_t start_ns, int32_t grid, int32_t block = 128) {
    Add(run_, run_strings_, name, start_ns, grid, block);
  }
  void Report(const char* name, int64_t start_ns, int32_t grid, int32_t block = 128) {
    Add(report_, report_strings_, name, start_ns, grid, block);
  }
  // Executions with these durations, one after the other.
  void RunOf(const char* name, int32_t grid, std::initializer_list<int64_t> durations) {
    for (const int64_t dur_ns : durations) Add(run_, run_strings_, name, ++now_, grid, 128, dur_ns);
  }
  void ReportOf(const char* name, int32_t grid, std::initializer_list<int64_t> durations) {
    for (const int64_t dur_ns : durations) Add(report_, report_strings_, name, ++now_, grid, 128, dur_ns);
  }
  SameKernelJoin JoinSame() { return JoinSameKernels({run_, run_strings_}, {report_, report_strings_}); }
  KernelJoin Join() { return JoinKernels({run_, run_strings_}, {report_, report_strings_}); }

  KernelColumns run_, report_;
  StringPool run_strings_, report_strings_;
  int64_t now_ = 0;
};

TEST_F(JoinKernelsTest, PairsByNameLaunchAndOrder) {
  // Rows of the run are not in the order they ran.
  Run("void gemm<0, 4>(Params)", 300, 64);
  Run("void gemm<0, 4>(Params)", 100, 64);
  Run("void gemm<0, 4>(Params)", 200, 32);
  Run("softmax", 250, 8);
  // As another tool spells them.
  Report("gemm<(bool)0, (int)4>(Params)", 0, 64);
  Report("gemm<(bool)0, (int)4>(Params)", 10, 32);
  Report("gemm<(bool)0, (int)4>(Params)", 20, 64);
  const KernelJoin join = Join();
  EXPECT_EQ(join.run_row, (std::vector<int64_t>{1, 2, 0}));
  EXPECT_EQ(join.matched, 3);
  EXPECT_TRUE(join.unmatched.empty());
}

TEST_F(JoinKernelsTest, SaysWhyTheOthersAreNotThere) {
  Run("gemm", 1, 64);
  Report("gemm", 1, 64);
  Report("gemm", 2, 64);
  Report("gemm", 3, 65);
  Report("norm", 4, 1);
  Report("norm", 5, 1);
  const KernelJoin join = Join();
  EXPECT_EQ(join.run_row, (std::vector<int64_t>{0, -1, -1, -1, -1}));
  ASSERT_EQ(join.unmatched.size(), 3u);
  EXPECT_EQ(join.unmatched[0].why, JoinFailure::kNoSuchKernel);
  EXPECT_EQ(join.unmatched[0].kernel, "norm");
  EXPECT_EQ(join.unmatched[0].executions, 2);
  for (const KernelJoin::Unmatched& u : join.unmatched) {
    if (u.why == JoinFailure::kOtherLaunch) {
      EXPECT_EQ(u.grid, "(65, 1, 1)");
      EXPECT_EQ(u.instead, "(64, 1, 1) x (128, 1, 1)");
    }
  }
}

TEST_F(JoinKernelsTest, WithoutLaunchesTheNameAndOrderDecide) {
  Run("gemm", 1, 0);
  Run("gemm", 2, 0);
  Report("gemm", 1, 64);
  Report("gemm", 2, 32);
  EXPECT_EQ(Join().run_row, (std::vector<int64_t>{0, 1}));
}

TEST_F(JoinKernelsTest, AKernelOfTheRunIsTakenOnce) {
  Run("gemm", 1, 64);
  Run("gemm", 2, 32);
  Report("gemm", 1, 0);   // the first of that name
  Report("gemm", 2, 64);  // the same kernel again
  Report("gemm", 3, 32);
  EXPECT_EQ(Join().run_row, (std::vector<int64_t>{0, -1, 1}));
}

TEST_F(JoinKernelsTest, NothingJoinsNothing) {
  const KernelJoin join = Join();
  EXPECT_EQ(join.matched, 0);
  EXPECT_TRUE(join.run_row.empty());
}

TEST_F(JoinKernelsTest, OneResultStandsForAllExecutionsOfItsLaunch) {
  RunOf("void gemm<0, 4>(Params)", 64, {3000, 1000, 1010});
  RunOf("void gemm<0, 4>(Params)", 32, {500});  // not measured
  RunOf("softmax", 8, {200, 200});
  ReportOf("softmax", 8, {260});
  ReportOf("gemm<(bool)0, (int)4>(Params)", 64, {1300});
  const SameKernelJoin join = JoinSame();
  EXPECT_EQ(join.other_row, (std::vector<int64_t>{1, 1, 1, -1, 0, 0}));
  EXPECT_EQ(join.matched, 2);
  EXPECT_TRUE(join.unmatched.empty());
  // The execution that it is most likely of.
  EXPECT_EQ(join.run_row, (std::vector<int64_t>{4, 2}));
}

TEST_F(JoinKernelsTest, OfSeveralResultsTheOneNearestInDurationStandsForAnExecution) {
  RunOf("gemm", 64, {100, 1000, 390, 310});
  ReportOf("gemm", 64, {1000, 100});
  const SameKernelJoin join = JoinSame();
  // By ratio: 1000 is 2.6 times 390, and 390 is 3.9 times 100, though nearer to it by difference.
  EXPECT_EQ(join.other_row, (std::vector<int64_t>{1, 0, 0, 1}));
  EXPECT_EQ(join.run_row, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(join.matched, 2);
}

TEST_F(JoinKernelsTest, AResultOfAnotherLaunchStandsForNothing) {
  RunOf("gemm", 64, {100});
  ReportOf("gemm", 65, {100});
  ReportOf("norm", 1, {100});
  const SameKernelJoin join = JoinSame();
  EXPECT_EQ(join.other_row, (std::vector<int64_t>{-1}));
  EXPECT_EQ(join.run_row, (std::vector<int64_t>{-1, -1}));
  EXPECT_EQ(join.matched, 0);
  ASSERT_EQ(join.unmatched.size(), 2u);
  for (const KernelJoin::Unmatched& u : join.unmatched)
    EXPECT_EQ(u.why, u.kernel == "norm" ? JoinFailure::kNoSuchKernel : JoinFailure::kOtherLaunch);
}

TEST_F(JoinKernelsTest, WithoutDurationsTheFirstResultStandsForAll) {
  Run("gemm", 1, 64);
  Run("gemm", 2, 64);
  Report("gemm", 1, 64);
  Report("gemm", 2, 64);
  EXPECT_EQ(JoinSame().other_row, (std::vector<int64_t>{0, 0}));
}

}  // namespace
}  // namespace nl
