// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nlcap/counter_totals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nl::adapters::nlcap {
namespace {

void Set(RoleValues& to, CounterRole role, double value) { to.values[static_cast<size_t>(role)] = value; }

TEST(CounterTotals, NamesOfTheHardwareHaveRoles) {
  EXPECT_EQ(FindRole("TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed").role,
            CounterRole::kSmActive);
  EXPECT_EQ(FindRole("SM_A.TriageCompute.sm__thread_inst_executed_pred_on_realtime.sum").role,
            CounterRole::kThreadInstructions);
  EXPECT_EQ(FindRole("TPC.TriageCompute.sm__inst_executed_realtime.sum").role,
            CounterRole::kWarpInstructions);
  const RoleOf hit = FindRole("LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct");
  EXPECT_EQ(hit.role, CounterRole::kL2Hit);
  EXPECT_EQ(hit.factor, 2);
  EXPECT_EQ(FindRole("LTS.TriageAC.lts__average_t_sector_hit_rate_realtime.pct").role, CounterRole::kNone);
  EXPECT_EQ(FindRole("something.else").role, CounterRole::kNone);
}

// The softmax of bench/gpu/counters_check.py on an H200: 83.08 MB read in 100 us.
TEST(CounterTotals, SumsAreScaledToTheExecutionAndSharesAreOfActiveTime) {
  CounterTotals totals;
  RoleValues r;
  Set(r, CounterRole::kSmActive, 96.9);
  Set(r, CounterRole::kWarpsActive, 47.8);
  Set(r, CounterRole::kDramRead, 83.08e6);
  Set(r, CounterRole::kDramWrite, 83.05e6);
  Set(r, CounterRole::kSmCycles, 163'900);
  Set(r, CounterRole::kWarpInstructions, 48.26e6);
  Set(r, CounterRole::kThreadInstructions, 1477.4e6);
  for (int i = 0; i < 4; ++i) totals.Add(r, 100'000, 1, 1);
  EXPECT_EQ(totals.samples(), 4);
  KernelCounterRow row;
  totals.Fill(647'000, row);
  EXPECT_EQ(row.dur_ns, 647'000);
  EXPECT_NEAR(row.dram_read_bytes, 537.5e6, 0.1e6);
  EXPECT_NEAR(row.dram_bytes, row.dram_read_bytes + row.dram_write_bytes, 1);
  EXPECT_NEAR(row.achieved_occupancy, 0.4933, 1e-4);
  EXPECT_NEAR(row.sm_efficiency, 0.969, 1e-9);
  EXPECT_NEAR(row.sm_clock_hz, 1.639e9, 1e5);
  EXPECT_NEAR(row.warp_execution_efficiency, 0.9567, 1e-4);
  EXPECT_TRUE(std::isnan(row.l2_hit_rate));
  EXPECT_TRUE(std::isnan(row.tensor_active));
}

TEST(CounterTotals, IdleTimeInAReadingIsNotTheKernels) {
  CounterTotals totals;
  RoleValues r;
  Set(r, CounterRole::kSmActive, 45);
  Set(r, CounterRole::kDramRead, 900);
  totals.Add(r, 1000, 1, 0.5);
  KernelCounterRow row;
  totals.Fill(100, row);
  EXPECT_DOUBLE_EQ(row.sm_efficiency, 0.9);
  EXPECT_DOUBLE_EQ(row.dram_read_bytes, 180);
}

TEST(CounterTotals, HitRatesCountByTheirSectors) {
  CounterTotals totals;
  RoleValues many, few;
  Set(many, CounterRole::kL2Sectors, 900);
  Set(many, CounterRole::kL2Hit, 50);
  Set(few, CounterRole::kL2Sectors, 100);
  Set(few, CounterRole::kL2Hit, 100);
  totals.Add(many, 1000, 1, 1);
  totals.Add(few, 1000, 1, 1);
  KernelCounterRow row;
  totals.Fill(1, row);
  EXPECT_DOUBLE_EQ(row.l2_hit_rate, 0.55);
}

TEST(CounterTotals, NothingReadIsNull) {
  KernelCounterRow row;
  CounterTotals().Fill(100, row);
  EXPECT_TRUE(std::isnan(row.dram_bytes));
  EXPECT_TRUE(std::isnan(row.sm_efficiency));
}

}  // namespace
}  // namespace nl::adapters::nlcap
