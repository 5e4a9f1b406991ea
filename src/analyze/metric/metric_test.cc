// SPDX-License-Identifier: Apache-2.0
#include "analyze/metric/metric.h"

#include <gtest/gtest.h>

#include "model/kernel_name.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

MetricValue Value(Analysis& analysis, std::string_view spec) {
  const Result<MetricValue> value = ReadMetric(analysis, spec);
  EXPECT_TRUE(value.ok()) << spec << ": " << (value.ok() ? "" : value.error().ToString());
  return value.ok() ? *value : MetricValue();
}

Error ErrorOf(Analysis& analysis, std::string_view spec) {
  const Result<MetricValue> value = ReadMetric(analysis, spec);
  EXPECT_FALSE(value.ok()) << spec;
  return value.ok() ? Internal("none") : value.error();
}

// Two decode steps: each an aten::linear around an aten::addmm that launches one gemm; the second step also
// copies. Times in ns: wall 2000, busy 300 + 500 + 200.
void AddSteps(RunBuilder& run) {
  run.Device(0, "NVIDIA H200");
  const ThreadId main = run.Thread("main");
  run.Range(main, "LLM@decode_step", 0, 800);
  run.Step("LLM@decode_step", 0, 0, 800);
  run.Op(main, "aten::linear", 10, 200);
  run.Op(main, "aten::addmm", 20, 100);
  run.Kernel("void gemm<float*>(float*)", 7, 100, 300, run.Api(main, "cudaLaunchKernel", 30, 10));
  run.Range(main, "LLM@decode_step", 1000, 900);
  run.Step("LLM@decode_step", 1, 1000, 900);
  run.Op(main, "aten::linear", 1010, 200);
  run.Op(main, "aten::addmm", 1020, 100);
  run.Kernel("void gemm<float*>(float*)", 7, 1100, 500, run.Api(main, "cudaLaunchKernel", 1030, 10));
  run.Op(main, "aten::copy_", 1300, 100);
  run.Memcpy("HtoD", "Pageable", "Device", 1024, 7, 1800, 200, run.Api(main, "cudaMemcpyAsync", 1310, 10));
}

TEST(Metric, TimesOfTheRunSumToItsWall) {
  RunBuilder run;
  AddSteps(run);
  Analysis analysis = run.Finish();
  const MetricValue wall = Value(analysis, "wall");
  EXPECT_DOUBLE_EQ(wall.value, 2000e-6);
  EXPECT_EQ(wall.unit, "ms");
  EXPECT_FALSE(wall.larger_is_better);
  EXPECT_EQ(wall.samples, (std::vector<double>{800e-6, 900e-6}));
  EXPECT_DOUBLE_EQ(Value(analysis, "device").value, 1000e-6);
  EXPECT_DOUBLE_EQ(Value(analysis, "device").value + Value(analysis, "idle").value, wall.value);
}

TEST(Metric, StageIsTheMeanOfItsInstancesWithOrWithoutThePrefix) {
  RunBuilder run;
  AddSteps(run);
  Analysis analysis = run.Finish();
  const MetricValue plain = Value(analysis, "stage:decode_step");
  EXPECT_EQ(plain.spec, "stage:decode_step");
  EXPECT_EQ(plain.samples.size(), 2u);
  EXPECT_DOUBLE_EQ(plain.value, (plain.samples[0] + plain.samples[1]) / 2);
  EXPECT_EQ(Value(analysis, "stage:LLM@decode_step").value, plain.value);
  const MetricValue fast = Value(analysis, "p10:LLM@decode_step");
  EXPECT_EQ(fast.spec, "p10:decode_step");
  EXPECT_NEAR(fast.value, plain.samples[0] + 0.1 * (plain.samples[1] - plain.samples[0]), 1e-9);
  EXPECT_NEAR(Value(analysis, "p50:decode_step").value, plain.value, 1e-9);
  EXPECT_GT(Value(analysis, "p95:decode_step").value, plain.value);
  const Error wrong = ErrorOf(analysis, "stage:decode");
  EXPECT_EQ(wrong.code, ErrorCode::kNotFound);
  EXPECT_NE(wrong.hint.find("decode_step"), std::string::npos) << wrong.hint;
  EXPECT_DOUBLE_EQ(Value(analysis, "device:decode_step").value + Value(analysis, "idle:decode_step").value,
                   plain.value);
}

TEST(Metric, WorkInsideNestedOpsCountsOnce) {
  RunBuilder run;
  AddSteps(run);
  Analysis analysis = run.Finish();
  EXPECT_DOUBLE_EQ(Value(analysis, "op:aten::linear").value, 800e-6);
  EXPECT_DOUBLE_EQ(Value(analysis, "op:aten::addmm").value, 800e-6);
  const MetricValue all = Value(analysis, "op:aten::*");
  EXPECT_DOUBLE_EQ(all.value, 1000e-6) << "linear and addmm are around the same kernels";
  EXPECT_EQ(all.samples, (std::vector<double>{300e-6, 700e-6}));
  EXPECT_DOUBLE_EQ(Value(analysis, "op:aten::?opy_").value, 200e-6);
  EXPECT_NE(ErrorOf(analysis, "op:addm").hint.find("aten::addmm"), std::string::npos);
}

TEST(Metric, KernelByShortNameRawNameAndPattern) {
  RunBuilder run;
  AddSteps(run);
  Analysis analysis = run.Finish();
  const std::string short_name = ParseKernelName("void gemm<float*>(float*)").short_name;
  EXPECT_DOUBLE_EQ(Value(analysis, "kernel:" + short_name).value, 800e-6);
  EXPECT_DOUBLE_EQ(Value(analysis, "kernel:void gemm<float*>(float*)").value, 800e-6);
  EXPECT_DOUBLE_EQ(Value(analysis, "kernel:*gemm*").value, 800e-6);
  EXPECT_EQ(ErrorOf(analysis, "kernel:conv*").code, ErrorCode::kNotFound);
}

TEST(Metric, TwoDevicesCountAsTheirMean) {
  RunBuilder run;
  run.Kernel("a", 7, 0, 1000, RowId::kNull, RowId::kNull, 0);
  run.Kernel("a", 7, 0, 400, RowId::kNull, RowId::kNull, 1);
  Analysis analysis = run.Finish();
  EXPECT_DOUBLE_EQ(Value(analysis, "device").value, 700e-6);
  EXPECT_DOUBLE_EQ(Value(analysis, "idle").value, 300e-6);
}

TEST(Metric, MemoryIsThePeakOnADevice) {
  RunBuilder run;
  run.Kernel("a", 7, 0, 10);
  const auto add = [&](int32_t type, int64_t bytes) {
    run.data().memory_event.device_type.push_back(type);
    run.data().memory_event.total_allocated_bytes.push_back(bytes);
  };
  add(0, 900);
  add(1, 500);
  add(1, 700);
  add(1, NullOf<int64_t>::value);
  Analysis analysis = run.Finish();
  EXPECT_DOUBLE_EQ(Value(analysis, "memory").value, 700);
  EXPECT_EQ(Value(analysis, "memory").unit, "bytes");
}

TEST(Metric, AMetricThatWasNotMeasuredIsAnErrorWithTheReason) {
  RunBuilder empty;
  Analysis nothing = empty.Finish();
  for (const char* spec : {"wall", "device", "idle", "op:x", "kernel:x", "stage:prefill", "device:prefill",
                           "mfu", "mbu", "mfu:prefill", "tokens_per_s", "ttft", "tpot", "memory"}) {
    const Error error = ErrorOf(nothing, spec);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << spec << ": " << error.ToString();
    EXPECT_NE(error.message.find("not measured: "), std::string::npos) << spec << ": " << error.message;
    EXPECT_FALSE(error.message.ends_with(": ")) << spec;
  }
  // Labels, but nothing to compute the work from.
  RunBuilder labelled;
  AddSteps(labelled);
  Analysis analysis = labelled.Finish();
  EXPECT_EQ(ErrorOf(analysis, "mfu").code, ErrorCode::kUnsupported);
  EXPECT_EQ(ErrorOf(analysis, "ttft").code, ErrorCode::kUnsupported);
}

TEST(Metric, BadSpecsAreRefusedBeforeAnyRunIsRead) {
  for (const char* bad : {"", "wal", "wall:x", "stage", "stage:", "op", "kernel:", "mfu:", "ttft:prefill",
                          "p10", "p75:prefill", ":", "Wall"}) {
    const Status status = CheckMetric(bad);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput) << bad;
  }
  for (const char* good :
       {"wall", "device", "device:prefill", "stage:LLM@prefill::vision", "op:aten::mm", "mfu", "memory"}) {
    EXPECT_TRUE(CheckMetric(good).ok()) << good;
  }
}

TEST(Metric, StageRestrictsWhatHasAStage) {
  EXPECT_EQ(*MetricOfStage("wall", "LLM@prefill"), "stage:prefill");
  EXPECT_EQ(*MetricOfStage("mfu", "prefill"), "mfu:prefill");
  EXPECT_EQ(*MetricOfStage("device", "prefill"), "device:prefill");
  for (const char* bad : {"op:aten::mm", "kernel:x", "memory", "ttft", "mfu:decode_step"}) {
    EXPECT_FALSE(MetricOfStage(bad, "prefill").ok()) << bad;
  }
}

}  // namespace
}  // namespace nl
