// SPDX-License-Identifier: Apache-2.0
#include "analyze/totals.h"

#include "analyze/accounting.h"
#include "analyze/analysis.h"
#include "testing/test_run.h"

namespace nl {
namespace {

// Two nested ops and a third; two kernels of the inner op, one of the third, on two streams.
constexpr char kNestedOpsTrace[] =
    R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Test GPU"}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 0.000, "dur": 100.000, "args": {"External id": 1, "Input Dims": [[2, 4]]}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10.000, "dur": 50.000, "args": {"External id": 2, "Input Dims": [[2, 4], [4, 8]]}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 200.000, "dur": 20.000, "args": {"External id": 3, "Input Dims": [[9, 9], [9, 9]]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 20.000, "dur": 5.000, "args": {"External id": 2, "correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm_a", "pid": 0, "tid": 7, "ts": 30.001, "dur": 40.000, "args": {"External id": 2, "correlation": 7, "device": 0, "stream": 7, "grid": [1, 2, 3], "block": [32, 1, 1]}},
{"ph": "X", "cat": "kernel", "name": "gemm_a", "pid": 0, "tid": 8, "ts": 50.001, "dur": 40.000, "args": {"External id": 2, "correlation": 8, "device": 0, "stream": 8, "grid": [9, 2, 3], "block": [32, 1, 1]}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 8, "ts": 210.000, "dur": 10.000, "args": {"External id": 3, "correlation": 9, "device": 0, "stream": 8}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 215.000, "dur": 10.000, "args": {"device": 0, "stream": 7, "bytes": 4096}}
]})json";

TEST(Totals, SelfTimeLeavesOutTheOpsInside) {
  TestRun run(kNestedOpsTrace);
  const auto ops = *OperatorTotals(*run.snapshot, {});
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].name, "aten::mm");
  EXPECT_EQ(ops[0].calls, 2);
  EXPECT_EQ(ops[0].total_ns, 70000);
  EXPECT_EQ(ops[0].self_ns, 70000);
  EXPECT_EQ(ops[0].device_ns, 90000);
  EXPECT_EQ(ops[1].name, "aten::linear");
  EXPECT_EQ(ops[1].self_ns, 50000);
  EXPECT_EQ(ops[1].device_ns, 0) << "the kernels are the inner op's";
  EXPECT_EQ(ops[1].device_all_ns, 80000) << "and count for the outer one inclusively";
}

TEST(Totals, ByShapeSplitsEqualNames) {
  TestRun run(kNestedOpsTrace);
  TotalsFilter filter;
  filter.by_shape = true;
  EXPECT_EQ((*OperatorTotals(*run.snapshot, filter)).size(), 3u);
  const auto kernels = *KernelTotals(*run.snapshot, filter);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].shapes, "1x2x3 / 32x1x1");
}

TEST(Totals, StreamFilterTakesOnlyItsKernels) {
  TestRun run(kNestedOpsTrace);
  TotalsFilter filter;
  filter.stream = 7;
  const auto kernels = *KernelTotals(*run.snapshot, filter);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].calls, 1);
  EXPECT_EQ(kernels[0].total_ns, 40000);
}

TEST(Totals, DeviceTimeIsUnionNotSum) {
  TestRun run(kNestedOpsTrace);
  const RunTime time = *AccountRun(*run.snapshot);
  ASSERT_EQ(time.devices.size(), 1u);
  const TimeParts& d = time.devices[0];
  EXPECT_EQ(d.Of(WorkClass::kCompute), 60000);  // 30.001 .. 90.001
  EXPECT_EQ(d.Of(WorkClass::kCommunication), 10000);
  EXPECT_EQ(d.Of(WorkClass::kMemory), 10000);
  EXPECT_EQ(d.overlap_ns(), 5000);
  EXPECT_EQ(d.busy_ns(), 75000);
  EXPECT_EQ(time.wall_ns, 225000);
}

// `summary` loads fewer columns than `overlap`: both must give the same time.
TEST(Totals, AccountRunAgreesWithTheAccountingPass) {
  TestRun run(kNestedOpsTrace);
  const std::vector<Interval> pauses = {{5'000, 20'000}, {100'000, 150'000}};
  const RunTime quick = *AccountRun(*run.snapshot, pauses);
  Json document;
  for (const Interval& p : pauses)
    document["capture"]["pauses"].push_back({{"start_ns", p.start_ns}, {"end_ns", p.end_ns}});
  Analysis analysis(*run.snapshot, document, {});
  const AccountingFacts& facts = **analysis.Need<AccountingFacts>();
  EXPECT_EQ(quick.wall_ns, facts.wall_ns);
  EXPECT_EQ(quick.keys, analysis.facts().Get<TimelineFacts>().devices);
  EXPECT_EQ(quick.items, facts.items);
  ASSERT_EQ(quick.devices.size(), facts.devices.size());
  for (size_t i = 0; i < quick.devices.size(); ++i) {
    EXPECT_EQ(quick.devices[i].by_mask, facts.devices[i].by_mask);
    EXPECT_EQ(quick.devices[i].paused_ns, facts.devices[i].paused_ns);
    EXPECT_GT(quick.devices[i].paused_ns, 0);
  }
}

TEST(Totals, CopiesAreSplitByMemories) {
  TestRun run(kNestedOpsTrace);
  const auto copies = *CopyTotals(*run.snapshot);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].kind, "HtoD");
  EXPECT_EQ(copies[0].src_memory, "Pageable");
  EXPECT_EQ(copies[0].dst_memory, "Device");
  EXPECT_EQ(copies[0].bytes, 4096);
}

TEST(Totals, PercentileInterpolatesBetweenRanks) {
  std::vector<int64_t> v{40, 10, 20, 30};
  EXPECT_DOUBLE_EQ(Percentile(v, 50), 25);
  EXPECT_DOUBLE_EQ(Percentile(v, 95), 38.5);
  EXPECT_DOUBLE_EQ(Percentile(v, 100), 40);
  std::vector<int64_t> one{5};
  EXPECT_DOUBLE_EQ(Percentile(one, 95), 5);
}

TEST(Totals, ImportFindsLinksAndPrecisionFacts) {
  TestRun run(kNestedOpsTrace);
  KernelColumns k;
  ASSERT_TRUE(run.snapshot->Load(k, {"api_call_id", "op_id"}).ok());
  EXPECT_EQ(k.api_call_id[0], static_cast<RowId>(0));
  EXPECT_EQ(k.api_call_id[1], RowId::kNull) << "correlation 8 has no launch in the trace";
  EXPECT_EQ(k.op_id[2], static_cast<RowId>(2));
  EXPECT_EQ(run.result.counters.Count("launch_not_recorded"), 2);
}

}  // namespace
}  // namespace nl
