// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "import/adapters/ncu/counter_map.h"
#include "import/adapters/ncu/metric_value.h"
#include "import/adapters/ncu/page.h"
#include "testing/import_fixture.h"

namespace nl::adapters::ncu {
namespace {

using testing_import::FirstDifference;
using testing_import::ImportPath;
using testing_import::Outcome;
using testing_import::TraceFile;

TEST(MetricValue, NumbersAreReadAsPrinted) {
  const std::pair<const char*, double> texts[] = {{"0", 0},
                                                  {"20,159", 20159},
                                                  {"20,945.02", 20945.02},
                                                  {"13,858,097,765,544,360", 13858097765544360.0},
                                                  {"-0.069022", -0.069022},
                                                  {"1.5e+09", 1.5e9},
                                                  {".5", 0.5},
                                                  {"5.", 5},
                                                  {"1234567", 1234567},
                                                  {"103,996,501,783,930.34", 103996501783930.34}};
  for (const auto& [text, value] : texts) {
    ASSERT_TRUE(ParseNumber(text)) << text;
    EXPECT_EQ(*ParseNumber(text), value) << text;
  }
  for (const char* text : {"", "-", "n/a", "no data", "nan", "inf", "1,23", "12,34,567", "1,", ",1",
                           "1234,567", "1.2.3", "1 2", "0x10", "(1, 1, 1)", "1e", "1e999", "--1"})
    EXPECT_FALSE(ParseNumber(text)) << text;
}

// Against the library's own reading of the same decimal text.
TEST(MetricValue, ScalingRoundsOnce) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t whole = random() >> (random() % 60);
    const int decimals = static_cast<int>(random() % 7), exponent = static_cast<int>(random() % 16) - 2;
    std::string digits = std::to_string(whole);
    if (decimals > 0)
      digits += "." + std::to_string(random() % 1000000).substr(0, static_cast<size_t>(decimals));
    const double expected = std::strtod((digits + "e" + std::to_string(exponent)).c_str(), nullptr);
    ASSERT_EQ(ParseNumber(digits, exponent), expected) << digits << " e" << exponent;
  }
}

TEST(MetricValue, UnitsLoseTheirPrefix) {
  struct Case {
    const char *written, *name;
    int exponent;
  };
  for (const Case& c : {Case{"us", "ns", 3},
                        {"msecond", "ns", 6},
                        {"Kbyte", "byte", 3},
                        {"Gbyte/s", "byte/s", 9},
                        {"Gbyte/second", "byte/s", 9},
                        {"byte/nsecond", "byte/s", 9},
                        {"Kbyte/block", "byte/block", 3},
                        {"Ghz", "Hz", 9},
                        {"cycle/nsecond", "Hz", 9},
                        {"%", "%", 0},
                        {"inst/cycle", "inst/cycle", 0},
                        {"", "", 0},
                        {"%/Kbyte", "%/Kbyte", 0},
                        {"register/thread", "register/thread", 0}}) {
    const Unit unit = ParseUnit(c.written);
    EXPECT_EQ(unit.name, c.name) << c.written;
    EXPECT_EQ(unit.exponent, c.exponent) << c.written;
  }
}

TEST(MetricValue, SizesAreThreeNumbers) {
  int32_t size[3];
  for (const char* text : {"(132, 2, 1)", "132, 2, 1", "132x2x1", "(132,2,1)"}) {
    ASSERT_TRUE(ParseSize(text, size)) << text;
    EXPECT_EQ(size[0] * 1000 + size[1] * 10 + size[2], 132021);
  }
  for (const char* text :
       {"", "()", "(1, 2)", "(1, 2, 3, 4)", "(1, 2, x)", "(-1, 1, 1)", "(99999999999, 1, 1)"})
    EXPECT_FALSE(ParseSize(text, size)) << text;
}

TEST(CounterMap, KnowsBothSpellingsAndNeedsTheRightUnit) {
  EXPECT_EQ(FindInput("Duration", "ns").input, Input::kDurationNs);
  EXPECT_EQ(FindInput("gpu__time_duration.sum", "ns").input, Input::kDurationNs);
  EXPECT_EQ(FindInput("gpu__time_duration.sum", "").input, Input::kNone);
  EXPECT_EQ(FindInput("Memory Throughput", "%").input, Input::kNone);
  EXPECT_EQ(FindInput("Memory Throughput", "byte/s").input, Input::kDramRate);
  EXPECT_EQ(FindInput("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "inst").input,
            Input::kStallSync);
  EXPECT_EQ(FindInput("smsp__average_warps_issue_stalled_selected_per_issue_active.ratio", "inst").input,
            Input::kNone);
  EXPECT_EQ(FindInput("sm__ops_path_tensor_src_bf16_dst_fp32.sum", "").input, Input::kTensorFlops);
  EXPECT_EQ(FindInput("sm__ops_path_tensor_src_int8.sum", "").input, Input::kNone);
  EXPECT_EQ(FindInput("sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum", "").input,
            Input::kNone);
  EXPECT_EQ(FindInput("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", "inst").factor, 4);
}

TEST(CounterMap, MakesCountersOfMetrics) {
  KernelInputs inputs;
  const auto put = [&](const char* name, const char* unit, double value) {
    inputs.Put(FindInput(name, unit), value);
  };
  put("gpu__time_duration.sum", "ns", 10000);
  put("sm__warps_active.avg.pct_of_peak_sustained_active", "%", 100.2);
  put("dram__bytes.sum.per_second", "byte/s", 3e12);
  put("smsp__average_warp_latency_per_inst_issued.ratio", "cycle", 50);
  put("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "inst", 20);
  put("smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "inst", 5);
  put("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed", "inst/cycle", 8);
  put("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed", "inst/cycle", 4);
  put("smsp__cycles_elapsed.avg", "cycle", 100);
  KernelCounterRow row;
  ASSERT_TRUE(inputs.Fill(row));
  EXPECT_EQ(row.dur_ns, 10000);
  EXPECT_EQ(row.achieved_occupancy, 1);
  EXPECT_EQ(row.dram_bytes, 3e7);
  EXPECT_TRUE(IsNull(row.dram_read_bytes));
  EXPECT_EQ(row.stall_memory, 0.5);
  EXPECT_TRUE(IsNull(row.stall_sync));
  EXPECT_TRUE(IsNull(row.flops)) << "tensor pipes were not counted";
  put("sm__ops_path_tensor_src_bf16_dst_fp32.sum", "", 1000);
  ASSERT_TRUE(inputs.Fill(row));
  EXPECT_EQ(row.flops, 1000 + 100 * (8 * 2 + 4));
  inputs.Clear();
  put("gpu__time_duration.sum", "ns", 10000);
  EXPECT_FALSE(inputs.Fill(row)) << "a duration is not a counter";
}

TEST(Page, TellsTheColumnsApart) {
  Page page;
  ASSERT_TRUE(ParseHeader(
      R"("ID","Process ID","thread Domain:Push/Pop_Range:PL","Kernel Name","New","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name")",
      page));
  EXPECT_TRUE(page.details);
  EXPECT_EQ(page.launch_columns, 5u);
  EXPECT_EQ(page.At(Role::kNvtxPushPop), 2);
  EXPECT_EQ(page.At(Role::kOther), 4);
  EXPECT_EQ(page.At(Role::kMetricValue), 8);
  EXPECT_EQ(page.At(Role::kSpeedup), -1);
  ASSERT_TRUE(ParseHeader("ID,Kernel Name,Device,CC,a__b.sum,c__d.sum", page));
  EXPECT_FALSE(page.details);
  EXPECT_FALSE(page.quoted);
  EXPECT_EQ(page.launch_columns, 4u);
  EXPECT_EQ(page.roles[5], Role::kMetric);
  EXPECT_FALSE(ParseHeader(R"("ID","Name")", page));
  EXPECT_FALSE(ParseHeader(R"("ID","Kernel Name)", page));
  EXPECT_TRUE(LooksLikeHeader(R"("ID","Process ID","Kernel Name")"));
  EXPECT_FALSE(LooksLikeHeader(R"("0","1","Kernel Name")"));
}

TEST(NcuAdapter, IsFoundBehindOtherOutput) {
  const std::string noise(30000, 'x');
  const std::string head = "==PROF== Connected\n" + noise + "\n\"ID\",\"Process ID\",\"Kernel Name\"\n";
  const Result<const Adapter*> found = DetectAdapter(head, "out.txt");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)->Info().name, "ncu");
  EXPECT_FALSE(DetectAdapter("\"ID\",\"Name\"\n1,2\n", "a.csv").ok());
}

}  // namespace
}  // namespace nl::adapters::ncu
