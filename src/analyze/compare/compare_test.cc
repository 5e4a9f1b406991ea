// SPDX-License-Identifier: Apache-2.0
// Small runs written by hand: the result of the comparison is known to the nanosecond.
#include "analyze/compare/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

constexpr const char* kGemm = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT";
constexpr const char* kOtherGemm =
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_64x3_tn_align8>(int)";

struct Item {
  std::string op, kernel;
  int64_t kernel_ns = 20'000;
  std::string dims = "[[8,2048],[2048,2048]]";
  int64_t host_ns = 4'000;  // of the operator, the launch included
};

// A program on one thread and one stream: every item is an operator with one kernel.
class Tape {
 public:
  Tape() : main_(run_.Thread("main")) {}

  Tape& Do(const Item& item) {
    const int64_t op_start = now_;
    const RowId op = run_.Op(main_, item.op, op_start, item.host_ns, item.dims, "[\"float\"]");
    const RowId launch = run_.Api(main_, "cudaLaunchKernel", op_start + item.host_ns - 2'000, 1'500);
    const int64_t start = std::max(op_start + item.host_ns + 1'000, free_);
    run_.Kernel(item.kernel, 7, start, item.kernel_ns, launch, op);
    free_ = start + item.kernel_ns + gap_ns;
    now_ += item.host_ns + 1'000;
    return *this;
  }
  Tape& Sync() {
    const int64_t until = std::max(now_ + 1'000, free_ + 500);
    run_.Api(main_, "cudaStreamSynchronize", now_, until - now_);
    now_ = until + 500;
    return *this;
  }
  Tape& Label(const std::string& name, const std::function<void(Tape&)>& body) {
    const int64_t from = now_;
    body(*this);
    run_.Range(main_, name, from, now_ - from);
    return *this;
  }
  Analysis Finish() { return run_.Finish(); }
  RunBuilder& run() { return run_; }
  int64_t gap_ns = 0;  // between two kernels

 private:
  RunBuilder run_;
  ThreadId main_;
  int64_t now_ = 0, free_ = 0;
};

// Three different operators of a layer, device-bound.
void Layer(Tape& t) {
  t.Do({"aten::mm", kGemm, 40'000}).Do({"aten::silu", "silu_kernel", 10'000, "[[8,2048]]"});
  t.Do({"aten::add", "add_kernel", 12'000, "[[8,2048],[8,2048]]"});
}
void Layers(Tape& t, int count) {
  for (int i = 0; i < count; ++i) Layer(t);
}

Comparison Compare(Tape& a, Tape& b, const CompareOptions& options = {}) {
  Analysis run_a = a.Finish(), run_b = b.Finish();
  Result<Comparison> out = CompareRuns(run_a, run_b, options);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().ToString());
  if (!out.ok()) return {};
  double sum = 0;
  for (const Contribution& c : out->contributions) {
    sum += c.delta_ms();
    EXPECT_NEAR(c.count_effect_ms + c.speed_effect_ms + c.idle_effect_ms, c.delta_ms(), 1e-9)
        << CauseName(c.cause);
  }
  EXPECT_NEAR(sum, out->delta_ms(), 1e-9);
  EXPECT_NEAR(out->residual_ms, 0, 1e-9);
  for (const auto* rows : {&out->by_kernel, &out->by_op, &out->by_module, &out->by_stage}) {
    double a_ms = 0, b_ms = 0;
    for (const CompareRow& row : *rows) a_ms += row.a_ms, b_ms += row.b_ms;
    EXPECT_NEAR(a_ms, out->wall_a_ms, 1e-9);
    EXPECT_NEAR(b_ms, out->wall_b_ms, 1e-9);
  }
  return *out;
}

bool SaysChange(const Comparison& c) {
  return c.verdict.verdict == VerdictClass::kRegressed || c.verdict.verdict == VerdictClass::kImproved;
}

const Contribution* Find(const Comparison& c, Cause cause) {
  for (const Contribution& x : c.contributions) {
    if (x.cause == cause) return &x;
  }
  return nullptr;
}

TEST(Compare, TheSameRunTwiceIsTheSame) {
  Tape a, b;
  Layers(a, 20), Layers(b, 20);
  const Comparison c = Compare(a, b);
  EXPECT_EQ(c.delta_ms(), 0);
  EXPECT_EQ(c.verdict.verdict, VerdictClass::kSame);
  EXPECT_DOUBLE_EQ(c.matched_share_a, 1);
  EXPECT_DOUBLE_EQ(c.matched_share_b, 1);
  for (const Contribution& x : c.contributions) EXPECT_EQ(x.delta_ms(), 0) << CauseName(x.cause);
}

TEST(Compare, ASlowerKernelCostsItsExtraTime) {
  Tape a, b;
  Layers(a, 20);
  for (int i = 0; i < 20; ++i) {
    b.Do({"aten::mm", kGemm, 40'000}).Do({"aten::silu", "silu_kernel", 19'000, "[[8,2048]]"});
    b.Do({"aten::add", "add_kernel", 12'000, "[[8,2048],[8,2048]]"});
  }
  const Comparison c = Compare(a, b);
  EXPECT_EQ(c.contributions[0].cause, Cause::kKernelSlower) << CauseName(c.contributions[0].cause);
  EXPECT_EQ(c.contributions[0].op, "aten::silu");
  EXPECT_NEAR(c.contributions[0].delta_ms(), 20 * 0.009, 1e-9);
  EXPECT_EQ(c.verdict.verdict, VerdictClass::kRegressed);
}

TEST(Compare, AReplacedKernelIsOneReplacementAndNotTwoChanges) {
  Tape a, b;
  Layers(a, 20);
  for (int i = 0; i < 20; ++i) {
    b.Do({"aten::mm", kOtherGemm, 55'000}).Do({"aten::silu", "silu_kernel", 10'000, "[[8,2048]]"});
    b.Do({"aten::add", "add_kernel", 12'000, "[[8,2048],[8,2048]]"});
  }
  const Comparison c = Compare(a, b);
  EXPECT_EQ(c.contributions[0].cause, Cause::kKernelReplaced) << CauseName(c.contributions[0].cause);
  EXPECT_EQ(c.contributions[0].count_a, 20);
  EXPECT_EQ(c.contributions[0].count_b, 20);
  EXPECT_NEAR(c.contributions[0].delta_ms(), 20 * 0.015, 1e-9);
  EXPECT_EQ(Find(c, Cause::kKernelsAdded), nullptr);
  EXPECT_EQ(Find(c, Cause::kKernelsRemoved), nullptr);
  EXPECT_DOUBLE_EQ(c.matched_share_b, 1);
}

TEST(Compare, InsertedCallsCostWhatTheyTakeAndTheRestStaysMatched) {
  Tape a, b;
  Layers(a, 20);
  for (int i = 0; i < 20; ++i) {
    Layer(b);
    if (i == 3)
      b.Do({"aten::clamp", "clamp_kernel", 30'000, "[[8,64]]"})
          .Do({"aten::abs", "abs_kernel", 30'000, "[[8,64]]"});
  }
  const Comparison c = Compare(a, b);
  EXPECT_DOUBLE_EQ(c.matched_share_a, 1);
  EXPECT_EQ(c.contributions[0].cause, Cause::kKernelsAdded) << CauseName(c.contributions[0].cause);
  EXPECT_EQ(c.contributions[0].count_b - c.contributions[0].count_a, 2);
  EXPECT_NEAR(c.contributions[0].delta_ms(), 0.060, 1e-9);
}

TEST(Compare, DeletedCallsMirrorInsertedOnes) {
  Tape with, without, with2, without2;
  for (Tape* t : {&with, &with2}) {
    for (int i = 0; i < 20; ++i) {
      Layer(*t);
      t->Do({"aten::clamp", "clamp_kernel", 9'000, "[[8,64]]"});
    }
  }
  Layers(without, 20), Layers(without2, 20);
  const Comparison added = Compare(without, with), removed = Compare(with2, without2);
  EXPECT_EQ(added.contributions[0].cause, Cause::kKernelsAdded);
  EXPECT_EQ(removed.contributions[0].cause, Cause::kKernelsRemoved);
  EXPECT_NEAR(added.contributions[0].delta_ms(), 20 * 0.009, 1e-9);
  EXPECT_NEAR(added.contributions[0].delta_ms(), -removed.contributions[0].delta_ms(), 1e-9);
}

TEST(Compare, CallsThatOnlyMovedAreNotNew) {
  Tape a, b;
  for (int i = 0; i < 20; ++i) {
    a.Do({"aten::mm", kGemm, 40'000}).Do({"aten::sin", "sin_kernel", 10'000, "[[8,7]]"});
    a.Do({"aten::mul", "mul_kernel", 9'000, "[[8,8]]"}).Do({"aten::cos", "cos_kernel", 8'000, "[[8,9]]"});
    b.Do({"aten::mm", kGemm, 40'000}).Do({"aten::cos", "cos_kernel", 8'000, "[[8,9]]"});
    b.Do({"aten::mul", "mul_kernel", 9'000, "[[8,8]]"}).Do({"aten::sin", "sin_kernel", 10'000, "[[8,7]]"});
  }
  const Comparison c = Compare(a, b);
  EXPECT_FALSE(SaysChange(c)) << VerdictName(c.verdict.verdict);
  EXPECT_EQ(Find(c, Cause::kKernelsAdded), nullptr);
  EXPECT_EQ(Find(c, Cause::kKernelsRemoved), nullptr);
  EXPECT_DOUBLE_EQ(c.matched_share_a, 1);
}

TEST(Compare, ARepeatedChangeIsOneContribution) {
  Tape a, b;
  for (int step = 0; step < 100; ++step) {
    a.Label("step", [](Tape& t) { Layers(t, 4); });
    b.Label("step", [](Tape& t) {
      Layers(t, 4);
      t.Do({"aten::clamp", "clamp_kernel", 9'000, "[[8,64]]"});
    });
  }
  const Comparison c = Compare(a, b);
  size_t changes = 0;
  for (const Contribution& x : c.contributions) changes += x.cause != Cause::kNoise;
  EXPECT_EQ(changes, 1u);
  EXPECT_EQ(c.contributions[0].cause, Cause::kKernelsAdded);
  EXPECT_EQ(c.contributions[0].count_b, 100);
  EXPECT_EQ(c.contributions[0].stage, "step");
  EXPECT_NEAR(c.contributions[0].delta_ms(), 0.9, 1e-9);
}

TEST(Compare, LabelsOnOneSideOnlyDoNotMisalign) {
  Tape a, b;
  for (int step = 0; step < 12; ++step) {
    a.Label("LLM@decode_step", [](Tape& t) { Layers(t, 4); });
    Layers(b, 4);
  }
  const Comparison c = Compare(a, b);
  EXPECT_DOUBLE_EQ(c.matched_share_a, 1);
  EXPECT_DOUBLE_EQ(c.matched_share_b, 1);
  EXPECT_FALSE(SaysChange(c)) << VerdictName(c.verdict.verdict);
}

TEST(Compare, AnAddedWaitIsSyncAdded) {
  Tape a, b;
  for (int i = 0; i < 30; ++i) {
    Layers(a, 3), Layers(b, 3);
    b.Sync();
  }
  const Comparison c = Compare(a, b);
  EXPECT_EQ(c.contributions[0].cause, Cause::kSyncAdded) << CauseName(c.contributions[0].cause);
  EXPECT_GT(c.delta_ms(), 0);
  EXPECT_NEAR(c.contributions[0].delta_ms(), c.delta_ms(), 0.05 * c.delta_ms()) << "nothing else changed";
}

TEST(Compare, MoreStepsAreMoreWork) {
  Tape a, b;
  for (int step = 0; step < 10; ++step) a.Label("LLM@decode_step", [](Tape& t) { Layers(t, 5); });
  for (int step = 0; step < 14; ++step) b.Label("LLM@decode_step", [](Tape& t) { Layers(t, 5); });
  const Comparison c = Compare(a, b);
  EXPECT_EQ(c.contributions[0].cause, Cause::kWorkChanged) << CauseName(c.contributions[0].cause);
  EXPECT_NEAR(c.contributions[0].delta_ms(), c.delta_ms(), 0.01 * c.delta_ms());
  EXPECT_FALSE(SaysChange(c)) << "the program did not get slower";
  EXPECT_FALSE(c.normalised_by.empty());
}

TEST(Compare, DeviceTimeExcludesTheHost) {
  Tape a, b;
  for (int i = 0; i < 50; ++i) {
    a.Do({"aten::mm", kGemm, 5'000, "[[8,8],[8,8]]", 20'000});
    b.Do({"aten::mm", kGemm, 5'000, "[[8,8],[8,8]]", 30'000});
  }
  CompareOptions options;
  options.device_time = true;
  const Comparison c = Compare(a, b, options);
  EXPECT_NEAR(c.wall_a_ms, 0.25, 1e-9);
  EXPECT_NEAR(c.delta_ms(), 0, 1e-9);
  EXPECT_FALSE(SaysChange(c));
}

// ---- degenerate runs ----

TEST(Compare, TwoEmptyRuns) {
  Tape a, b;
  const Comparison c = Compare(a, b);
  EXPECT_EQ(c.delta_ms(), 0);
  EXPECT_FALSE(SaysChange(c));
}

TEST(Compare, OneEmptyRun) {
  Tape a, b;
  Layers(b, 5);
  const Comparison c = Compare(a, b);
  EXPECT_GT(c.delta_ms(), 0);
  EXPECT_DOUBLE_EQ(c.matched_share_b, 0);
}

TEST(Compare, NoDeviceWorkOnOneSideGivesNoVerdict) {
  Tape a, b;
  for (int i = 0; i < 20; ++i) a.run().Op(static_cast<ThreadId>(0), "aten::mm", i * 1000, 900);
  Layers(b, 20);
  const Comparison c = Compare(a, b);
  EXPECT_FALSE(SaysChange(c)) << VerdictName(c.verdict.verdict);
}

TEST(Compare, OneCallEach) {
  Tape a, b;
  a.Do({"aten::mm", kGemm, 40'000}), b.Do({"aten::mm", kGemm, 60'000});
  const Comparison c = Compare(a, b);
  EXPECT_NEAR(c.delta_ms(), 0.020, 1e-9);
  EXPECT_DOUBLE_EQ(c.matched_share_a, 1);
}

TEST(Compare, AHundredThousandEqualKernels) {
  Tape a, b;
  for (int i = 0; i < 100'000; ++i) a.Do({"aten::add", "add_kernel", 3'000, "[[8]]", 2'500});
  for (int i = 0; i < 99'000; ++i) b.Do({"aten::add", "add_kernel", 3'000, "[[8]]", 2'500});
  const Comparison c = Compare(a, b);
  EXPECT_NEAR(c.matched_share_b, 1, 1e-6);
  EXPECT_NEAR(c.matched_share_a, 0.99, 1e-3);
}

TEST(Compare, NoKernelInCommon) {
  Tape a, b;
  for (int i = 0; i < 500; ++i) {
    a.Do({fmt::format("mine::op{}", i % 30), fmt::format("kernel_a{}", i % 30), 5'000, ""});
    b.Do({fmt::format("other::op{}", i % 40), fmt::format("kernel_b{}", i % 40), 5'000, ""});
  }
  const Comparison c = Compare(a, b);
  EXPECT_LT(c.matched_share_a, 0.01) << "only the end of the run";
}

TEST(Compare, WorkThatTakesNoTime) {
  Tape a, b;
  for (int i = 0; i < 20; ++i) {
    a.Do({"aten::add", "add_kernel", 0, "[[8]]"}), b.Do({"aten::add", "add_kernel", 0, "[[8]]"});
  }
  Compare(a, b);
}

TEST(Compare, AWallOfZero) {
  RunBuilder a, b;
  for (RunBuilder* run : {&a, &b}) run->Kernel("k", 7, 100, 0);
  Analysis run_a = a.Finish(), run_b = b.Finish();
  const Result<Comparison> c = CompareRuns(run_a, run_b, {});
  ASSERT_TRUE(c.ok()) << c.error().ToString();
  EXPECT_EQ(c->delta_ms(), 0);
  EXPECT_TRUE(std::isfinite(c->similarity) && std::isfinite(c->verdict.confidence));
}

TEST(Compare, StreamsThatOverlapCountOnce) {
  RunBuilder a, b;
  for (RunBuilder* run : {&a, &b}) {
    const ThreadId main = run->Thread("main");
    const int64_t extra = run == &b ? 30'000 : 0;  // on the second stream, under the first one's kernel
    for (int i = 0; i < 20; ++i) {
      const int64_t at = i * 100'000;
      run->Kernel("long_kernel", 7, at + 5'000, 90'000, run->Api(main, "cudaLaunchKernel", at, 2'000));
      run->Kernel("short_kernel", 9, at + 8'000, 20'000 + extra,
                  run->Api(main, "cudaLaunchKernel", at + 3'000, 2'000));
    }
  }
  Analysis run_a = a.Finish(), run_b = b.Finish();
  const Result<Comparison> c = CompareRuns(run_a, run_b, {});
  ASSERT_TRUE(c.ok()) << c.error().ToString();
  EXPECT_EQ(c->delta_ms(), 0);
  EXPECT_NEAR(c->busy_a_ms, 20 * 0.090, 1e-9);
  for (const Contribution& x : c->contributions) EXPECT_NEAR(x.delta_ms(), 0, 1e-9) << CauseName(x.cause);
}

// The recording of B goes on for a second after the program ended: another thread shows it.
TEST(Compare, IdleTimeAroundTheWorkIsRecording) {
  Tape a, b;
  Layers(a, 20), Layers(b, 20);
  b.run().Range(b.run().Thread("viewer"), "waiting", 0, 1'000'000'000);
  const Comparison c = Compare(a, b);
  const Contribution* recording = Find(c, Cause::kRecording);
  ASSERT_NE(recording, nullptr);
  EXPECT_GT(recording->delta_ms(), 990);
  EXPECT_FALSE(recording->significant);
  EXPECT_FALSE(SaysChange(c)) << VerdictName(c.verdict.verdict);
  EXPECT_NEAR(c.verdict.recording_ms, recording->delta_ms(), 1e-9);
  EXPECT_NEAR(c.delta_ms() - recording->delta_ms(), 0, 0.001);
}

// The device time of a change is compared with the time around the work left out.
TEST(Compare, AChangeInsideALongRecordingIsFound) {
  Tape a, b;
  Layers(a, 20);
  for (int i = 0; i < 20; ++i) Layer(b), b.Do({"aten::mm", kOtherGemm, 40'000, "[[8,4096],[4096,512]]"});
  a.run().Range(a.run().Thread("viewer"), "waiting", 0, 1'000'000'000);
  const Comparison c = Compare(a, b);
  EXPECT_EQ(c.verdict.verdict, VerdictClass::kRegressed);
  EXPECT_EQ(c.contributions[0].cause, Cause::kKernelsAdded) << CauseName(c.contributions[0].cause);
  EXPECT_NEAR(c.contributions[0].delta_ms(), 20 * 0.04, 0.1);
}

TEST(Compare, TheSameKernelsInAnotherOrderAreNotReplaced) {
  Tape a, b;
  for (int i = 0; i < 20; ++i) {
    a.Do({"conv", "im2col", 10'000}).Do({"conv", kGemm, 40'000}).Do({"aten::add", "add_kernel", 12'000});
    b.Do({"conv", kGemm, 40'000}).Do({"conv", "im2col", 10'000}).Do({"aten::add", "add_kernel", 12'000});
  }
  const Comparison c = Compare(a, b);
  EXPECT_EQ(Find(c, Cause::kKernelReplaced), nullptr);
  EXPECT_FALSE(SaysChange(c));
}

TEST(Compare, KernelsWithOneShortNameAreDistinguished) {
  const std::string head = "void my_namespace::a_kernel_with_a_long_name_that_is_cut<some::Policy<float, ",
                    tail = ", 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64>, float, float, float>(int)";
  Tape a, b;
  for (int i = 0; i < 20; ++i) {
    a.Do({"aten::mm", head + "128" + tail, 20'000}).Do({"aten::add", "add_kernel", 12'000});
    b.Do({"aten::mm", head + "256" + tail, 40'000}).Do({"aten::add", "add_kernel", 12'000});
  }
  const Comparison c = Compare(a, b);
  const Contribution* replaced = Find(c, Cause::kKernelReplaced);
  ASSERT_NE(replaced, nullptr);
  EXPECT_NE(replaced->kernel_a, replaced->kernel_b);
  EXPECT_NE(replaced->kernel_a.find("128"), std::string::npos) << replaced->kernel_a;
  EXPECT_NE(replaced->kernel_b.find("256"), std::string::npos) << replaced->kernel_b;
}

TEST(Compare, NothingIsSaidOfAHostThatOneRunDidNotRecord) {
  Tape a;
  Layers(a, 20);
  RunBuilder b;  // the same kernels alone, with long gaps
  for (int i = 0; i < 20; ++i) {
    b.Kernel(kGemm, 7, i * 400'000, 40'000);
    b.Kernel("silu_kernel", 7, i * 400'000 + 100'000, 10'000);
    b.Kernel("add_kernel", 7, i * 400'000 + 200'000, 12'000);
  }
  Analysis run_a = a.Finish(), run_b = b.Finish();
  const Result<Comparison> c = CompareRuns(run_a, run_b, {});
  ASSERT_TRUE(c.ok()) << c.error().ToString();
  EXPECT_FALSE(SaysChange(*c));
  EXPECT_TRUE(std::isnan(c->drift));
  EXPECT_EQ(Find(*c, Cause::kHostSlower), nullptr);
  EXPECT_EQ(c->no_verdict_reason, "only one run has host operators or API calls");
}

TEST(Compare, TwoDevicesAreComparedByOperatorAndFamily) {
  Tape a, b;
  const std::string inputs = "[[2048,2048],[2048,2048]]";
  for (int i = 0; i < 20; ++i) {
    a.Do({"aten::mm", kGemm, 40'000, inputs}).Do({"aten::silu", "silu_kernel", 10'000, "[[8,2048]]"});
    a.Do({"aten::add", "add_kernel", 12'000, "[[8,2048],[8,2048]]"});
    b.Do({"aten::mm", kOtherGemm, 80'000, inputs}).Do({"aten::silu", "silu_kernel", 10'000, "[[8,2048]]"});
    b.Do({"aten::add", "add_kernel", 6'000, "[[8,2048],[8,2048]]"});
  }
  a.run().Device(0, "NVIDIA H100 80GB HBM3"), b.run().Device(0, "AMD Instinct MI300X");
  const Comparison c = Compare(a, b);
  EXPECT_FALSE(SaysChange(c));
  ASSERT_TRUE(c.across.has_value());
  EXPECT_EQ(c.across->setup_b, "AMD Instinct MI300X");
  EXPECT_NEAR(*c.across->ratio, 96.0 / 62.0, 1e-9);
  const AcrossRow& first = c.across->operators.front();
  EXPECT_EQ(first.name, "aten::mm");
  EXPECT_NEAR(first.a_ms.value_or(0), 0.8, 1e-9);
  EXPECT_NEAR(first.b_ms.value_or(0), 1.6, 1e-9);
  EXPECT_NEAR(first.ratio.value_or(0), 2, 1e-9);
  EXPECT_EQ(first.calls_a, 20);
  // An operator has a side that is nearer to its roofline, or a reason why that is unknown.
  for (const AcrossRow& row : c.across->operators) {
    EXPECT_EQ(row.nearer.has_value(), row.efficiency_a && row.efficiency_b);
    EXPECT_NE(row.nearer.has_value(), row.reason.has_value()) << row.name;
  }
  EXPECT_EQ(c.across->families.front().name, "gemm");
  EXPECT_FALSE(Find(c, Cause::kClockChanged)) << "another device is not another clock";
}

TEST(Compare, ProgramsWithNothingInCommonGetNoVerdict) {
  Tape a, b;
  for (int i = 0; i < 20; ++i) {
    a.Do({"aten::mm", kGemm, 40'000}).Do({"aten::silu", "silu_kernel", 10'000});
    b.Do({"aten::bmm", "other_kernel", 90'000, "[[4,4,64],[4,64,64]]"})
        .Do({"aten::tanh", "tanh_kernel", 10'000, "[[7,77]]"});
  }
  const Comparison c = Compare(a, b);
  EXPECT_FALSE(SaysChange(c));
  EXPECT_TRUE(c.other_program);
}

}  // namespace
}  // namespace nl
