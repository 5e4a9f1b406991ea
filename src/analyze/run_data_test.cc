// SPDX-License-Identifier: Apache-2.0
#include "analyze/run_data.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace nl {
namespace {

RunColumns TwoKernels() {
  RunColumns columns;
  for (const int64_t start_ns : {10, 20}) {
    KernelRow row;
    row.start_ns = start_ns;
    row.dur_ns = 5;
    columns.kernel.Add(row);
  }
  return columns;
}

TEST(RunData, DeclaredColumnsAreThoseOfTheRun) {
  const RunColumns columns = TwoKernels();
  const RunData data(columns, NL_READS(Kernel, start_ns, dur_ns), "pass p");
  EXPECT_EQ(data.kernel.size(), 2u);
  EXPECT_EQ(data.kernel.start_ns.begin(), columns.kernel.start_ns.data());
  EXPECT_TRUE(std::ranges::equal(data.kernel.start_ns, columns.kernel.start_ns));
  EXPECT_EQ(data.kernel.dur_ns[1], 5);
  EXPECT_TRUE(data.kernel.start_ns.declared());
  EXPECT_FALSE(data.kernel.name.declared());
}

// A loop over a column that is not there would look like a run without events.
TEST(RunDataDeathTest, AnUndeclaredColumnEndsTheProgramHoweverItIsRead) {
  const RunColumns columns = TwoKernels();
  const RunData data(columns, NL_READS(Kernel, start_ns), "pass p");
  constexpr const char* kMessage = "pass p reads the column kernel.dur_ns and does not declare it";
  EXPECT_DEATH((void)data.kernel.dur_ns[0], kMessage);
  EXPECT_DEATH((void)data.kernel.dur_ns.size(), kMessage);
  EXPECT_DEATH((void)data.kernel.dur_ns.empty(), kMessage);
  EXPECT_DEATH((void)data.kernel.dur_ns.end(), kMessage);
}

TEST(RunDataDeathTest, RowsOfATableWithoutDeclaredColumnsCannotBeCounted) {
  const RunColumns columns = TwoKernels();
  const RunData data(columns, NL_READS(Kernel, start_ns), "pass p");
  EXPECT_DEATH((void)data.memcpy.size(), "pass p counts the rows of memcpy and declares none of its columns");
}

TEST(RunDataDeathTest, ARowBeyondTheLastIsNamed) {
  const RunColumns columns = TwoKernels();
  const RunData data(columns, NL_READS(Kernel, start_ns), "pass p");
  EXPECT_DEATH((void)data.kernel.start_ns[2], "row 2 of kernel.start_ns, which has 2 rows");
}

TEST(RunData, ShowAddsColumnsToAViewInPlace) {
  const RunColumns columns = TwoKernels();
  RunData data(columns, {}, "pass p");
  const KernelView& kernel = data.kernel;
  EXPECT_FALSE(kernel.start_ns.declared());
  data.Show(columns, NL_READS(Kernel, start_ns), "pass p");
  EXPECT_EQ(kernel.start_ns[0], 10);
}

TEST(Reads, AUnionCoversItsPartsAndNothingElse) {
  constexpr Reads kBoth = NL_READS(Kernel, start_ns) | NL_READS(Step, name);
  static_assert(kBoth.Covers(NL_READS(Step, name)));
  static_assert(!kBoth.Covers(NL_READS(Step, number)));
  static_assert(Reads::All().Covers(kBoth) && !kBoth.Covers(Reads::All()));
}

}  // namespace
}  // namespace nl
