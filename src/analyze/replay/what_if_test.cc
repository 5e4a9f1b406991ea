// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/what_if.h"

#include <gtest/gtest.h>

#include "analyze/facts/critical_path.h"
#include "testing/step_script.h"

namespace nl::replay {
namespace {

using testing_analyze::StepScript;

constexpr int64_t kWhatIfUs = 1000;

// A run that fixes are asked of.
class Asked {
 public:
  explicit Asked(StepScript& script, AnalysisOptions options = {})
      : analysis_(script.run.Finish(std::move(options))), rules_(*RuleSet::Shipped()) {
    findings_ = *analysis_.Need<FindingsFacts>();
    const auto* path = *analysis_.Need<CriticalPathFacts>();
    steps_ = std::make_unique<StepReplay>(*path->graph, **analysis_.Need<TimelineFacts>(), analysis_.data(),
                                          **analysis_.Need<PhasesFacts>());
    requests_ = std::make_unique<FixRequests>(*steps_, *findings_, **analysis_.Need<RooflineFacts>(), rules_);
  }
  // The last of these fixes, applied in order.
  FixOutcome Last(const std::vector<std::string>& items) const {
    std::vector<RequestedFix> fixes;
    for (const std::string& item : items) {
      auto found = requests_->Find(item);
      EXPECT_TRUE(found.ok()) << item;
      if (found.ok()) fixes.insert(fixes.end(), found->begin(), found->end());
    }
    return ApplyInOrder(*steps_, requests_->search(), fixes).back();
  }
  double StepUs(const std::vector<std::string>& items) const { return Last(items).step_ns / 1e3; }
  double StepUs() const { return steps_->step_ns() / 1e3; }
  double GainUs(const std::string& item) const { return 1e3 * Last({item}).gain_ms.expected; }
  std::string Note(const std::string& item) const { return Last({item}).note; }
  RequestedFix Fix(const std::string& item) const { return requests_->Find(item)->at(0); }
  Error ErrorOf(const std::string& item) const {
    auto found = requests_->Find(item);
    EXPECT_FALSE(found.ok()) << item;
    return found.ok() ? Internal("it was found") : found.error();
  }
  const FixRequests& requests() const { return *requests_; }
  const FindingsFacts& findings() const { return *findings_; }

 private:
  Analysis analysis_;
  const RuleSet rules_;
  const FindingsFacts* findings_ = nullptr;
  std::unique_ptr<StepReplay> steps_;
  std::unique_ptr<FixRequests> requests_;
};

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// 10 operators of 50 µs, each with 5 µs on the device.
void AddEagerStep(StepScript& s) {
  for (int i = 0; i < 10; ++i) s.Op("aten::mm", 50 * kWhatIfUs, 5 * kWhatIfUs);
}

// Enough kernels for graphs, and host code.
void AddLongStep(StepScript& s) {
  for (int i = 0; i < 3; ++i) AddEagerStep(s);
  s.host_ns += 900 * kWhatIfUs;
}

TEST(WhatIf, AListIsSplitAtCommasOutsideOfBrackets) {
  EXPECT_EQ(SplitFixes(" graphs, kernel:add<int, float>(int, int)=0.5,,host:a b "),
            (std::vector<std::string>{"graphs", "kernel:add<int, float>(int, int)=0.5", "host:a b"}));
  EXPECT_TRUE(SplitFixes(" , ").empty());
}

TEST(WhatIf, GraphsLeaveOneLaunchAndTheKernels) {
  StepScript s;
  s.Steps(6, [&] { AddEagerStep(s); });
  const Asked run(s);
  EXPECT_NEAR(run.GainUs("graphs"), 500 - 57, 15);
  EXPECT_EQ(run.Fix("graphs").count, 60);
  EXPECT_EQ(run.Note("graphs"), "");
}

TEST(WhatIf, GraphsNameWhatMustGoFirst) {
  StepScript s;
  s.Steps(6, [&] {
    AddEagerStep(s);
    for (int i = 0; i < 3; ++i) s.Wait();
  });
  const Asked run(s);
  EXPECT_TRUE(Contains(run.Note("graphs"), "18 waits; apply sync first")) << run.Note("graphs");
  EXPECT_FALSE(Contains(run.Last({"sync", "graphs"}).note, "first")) << run.Last({"sync", "graphs"}).note;
}

TEST(WhatIf, WaitsAreAllOrThoseOfOneName) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 4; ++i) {
      s.Op("aten::mm", 50 * kWhatIfUs, 40 * kWhatIfUs);
      s.Wait();
    }
  });
  const Asked run(s);
  EXPECT_NEAR(run.GainUs("sync"), 4 * 43, 40);
  EXPECT_DOUBLE_EQ(run.GainUs("sync:cudaStreamSync*"), run.GainUs("sync"));
  EXPECT_EQ(run.Fix("sync").count, 24);
  EXPECT_EQ(run.Note("sync:aten::mm"), "no call waits for the device in the steady steps inside aten::mm");
  EXPECT_EQ(run.GainUs("sync:aten::mm"), 0);
}

// The data still has to get there.
TEST(WhatIf, WithoutItsWaitACopyToTheDeviceIsStillMade) {
  StepScript s;
  s.Steps(6, [&] {
    s.PageableCopy("aten::to", 300 * kWhatIfUs, 1'000'000);
    s.Op("aten::mm", 20 * kWhatIfUs, 200 * kWhatIfUs);
  });
  EXPECT_GT(Asked(s).StepUs({"sync:aten::to"}), 480);
}

TEST(WhatIf, PinnedCopiesRunBesideTheKernels) {
  StepScript s;
  s.Steps(6, [&] {
    s.PageableCopy("aten::to", 300 * kWhatIfUs, 1'000'000);
    s.Op("aten::mm", 20 * kWhatIfUs, 200 * kWhatIfUs);
  });
  const Asked run(s);
  // The host waits for the kernel and the copy; what stays is the kernel.
  EXPECT_NEAR(run.StepUs({"pinned"}), 200, 30);
  EXPECT_DOUBLE_EQ(run.StepUs({"pinned:aten::to"}), run.StepUs({"pinned"}));
  EXPECT_EQ(run.Fix("pinned").count, 6);
  StepScript without;
  without.Steps(6, [&] { AddEagerStep(without); });
  EXPECT_EQ(Asked(without).Note("pinned"), "no pageable copies in the steady steps");
}

// What is fetched, worked on by the host and sent back is one matter, whatever copies lie between.
TEST(WhatIf, ADetourByTheHostIsOneWithItsCopies) {
  StepScript s;
  s.Steps(6, [&] {
    s.Op("aten::mm", 50 * kWhatIfUs, 100 * kWhatIfUs);
    s.PageableCopy("aten::to", 300 * kWhatIfUs, 1'000'000, true);
    s.host_ns += 1000 * kWhatIfUs;
    s.PageableCopy("aten::to", 400 * kWhatIfUs, 1'000'000);
    s.host_ns += 200 * kWhatIfUs;
    s.Op("aten::add", 50 * kWhatIfUs, 100 * kWhatIfUs);
  });
  const Asked run(s);
  const Finding& first = run.findings().findings.at(0);
  EXPECT_EQ(first.rule, "host_code");
  EXPECT_NEAR(1e3 * first.gain_ms->expected, 1000 + 200 + 300 + 400, 150);
  EXPECT_TRUE(Contains(first.message, "2.0 MB per step")) << first.message;
  EXPECT_TRUE(Contains(first.suggestions.at(0), "on the device")) << first.suggestions.at(0);
  for (const Finding& finding : run.findings().findings) {
    if (finding.rule == "pageable_transfer") {
      EXPECT_FALSE(finding.gain_ms) << "it is the detour's";
    }
  }
}

// A batch that is sent after host code is not that code's: the fix of one leaves the other.
TEST(WhatIf, ACopyAfterHostCodeIsNotItsOwn) {
  StepScript s;
  s.Steps(6, [&] {
    s.Op("aten::mm", 50 * kWhatIfUs, 100 * kWhatIfUs);
    s.host_ns += 1000 * kWhatIfUs;
    s.PageableCopy("aten::to", 400 * kWhatIfUs, 1'000'000);
  });
  const Asked run(s);
  EXPECT_NEAR(run.GainUs("host"), 1000, 100);
  EXPECT_EQ(run.Fix("host").changes.at(0).targets.nodes.size(), 0u);
}

TEST(WhatIf, AnOperatorOnTheCpuTakesItsCopiesAlong) {
  StepScript s;
  s.Steps(6, [&] {
    s.Op("aten::mm", 50 * kWhatIfUs, 100 * kWhatIfUs);
    s.HostOp("aten::embedding", 1000 * kWhatIfUs);
    s.PageableCopy("aten::to", 400 * kWhatIfUs, 1'000'000);
    s.host_ns += 300 * kWhatIfUs;
    s.Op("aten::add", 50 * kWhatIfUs, 100 * kWhatIfUs);
  });
  const Finding first = Asked(s).findings().findings.at(0);
  EXPECT_EQ(first.rule, "operator_on_cpu");
  EXPECT_NEAR(1e3 * first.gain_ms->expected, 1700, 150);
  EXPECT_TRUE(Contains(first.message, "aten::embedding computes on the CPU for 1.0 ms")) << first.message;
}

// Kernels in between make two matters of it.
TEST(WhatIf, HostCodeApartIsNotJoined) {
  StepScript s;
  s.Steps(6, [&] {
    s.PageableCopy("aten::to", 300 * kWhatIfUs, 1'000'000, true);
    s.host_ns += 1000 * kWhatIfUs;
    s.Op("aten::mm", 50 * kWhatIfUs, 100 * kWhatIfUs);
    s.host_ns += 500 * kWhatIfUs;
    s.Op("aten::add", 50 * kWhatIfUs, 100 * kWhatIfUs);
  });
  const Asked run(s);
  EXPECT_NEAR(run.GainUs("host:between aten::mm and aten::add"), 500, 60);
  EXPECT_NEAR(run.GainUs("host:between aten::to and aten::mm"), 1300, 120);
}

// Many small copies: each one's way to the device is gone with it.
TEST(WhatIf, CopiesThatAreGoneLeaveNoLatency) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 50; ++i) s.PageableCopy("aten::to", 1 * kWhatIfUs, 2048);
    s.Op("aten::mm", 50 * kWhatIfUs, 100 * kWhatIfUs);
    s.Wait();
  });
  const Asked run(s);
  EXPECT_NEAR(run.StepUs({"remove:aten::to"}), 153, 20);
}

TEST(WhatIf, HostCodeIsAllOrThatOfOnePlace) {
  StepScript s;
  s.Steps(6, [&] {
    AddEagerStep(s);
    s.host_ns += 2000 * kWhatIfUs;
    s.Op("aten::argmax", 50 * kWhatIfUs, 5 * kWhatIfUs);
    s.host_ns += 1000 * kWhatIfUs;
  });
  const Asked run(s);
  EXPECT_NEAR(run.GainUs("host"), 3000, 30);
  EXPECT_NEAR(run.GainUs("host:between aten::mm and aten::argmax"), 2000, 20);
  EXPECT_NEAR(run.StepUs({"graphs"}), 3000, 120) << "host code is not the graph's";
  const Error error = run.ErrorOf("host:tokenizer");
  EXPECT_EQ(error.code, ErrorCode::kInvalidInput);
  EXPECT_TRUE(Contains(error.hint, "between aten::mm and aten::argmax")) << error.hint;
}

TEST(WhatIf, AllocationsAndRemovedOperatorsAreGone) {
  StepScript s;
  s.Steps(6, [&] {
    AddEagerStep(s);
    s.Call("cudaMalloc", 200 * kWhatIfUs);
    s.Op("aten::debug", 100 * kWhatIfUs, 5 * kWhatIfUs);
  });
  const Asked run(s);
  EXPECT_NEAR(run.GainUs("allocs"), 200, 20);
  EXPECT_NEAR(run.GainUs("remove:cudaMalloc"), run.GainUs("allocs"), 1e-6);
  EXPECT_NEAR(run.GainUs("remove:aten::debug"), 100, 10);
  EXPECT_NEAR(run.GainUs("remove:aten::d*"), run.GainUs("remove:aten::debug"), 1e-6);
  EXPECT_EQ(run.Fix("remove:aten::debug").count, 6);
}

TEST(WhatIf, KernelsAndFusedOperatorsTakeTheirShare) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 10; ++i) s.Op("aten::mul", 10 * kWhatIfUs, 50 * kWhatIfUs, "elementwise_kernel");
  });
  const Asked device(s);
  EXPECT_NEAR(device.GainUs("kernel:elementwise*=0.5"), 250, 20);
  EXPECT_EQ(device.Fix("kernel:elementwise*=0.5").count, 60);
  EXPECT_NEAR(device.GainUs("fuse:aten::mul=0.2"), 400, 20);
  StepScript eager;
  eager.Steps(6, [&] { AddEagerStep(eager); });
  const Asked host(eager);
  EXPECT_NEAR(host.GainUs("fuse:aten::mm=0.2"), 400, 20) << "the host's time too";
  EXPECT_LT(host.GainUs("kernel:gemm=0.2"), 6) << "hidden behind the host";
  EXPECT_TRUE(Contains(host.Note("kernel:gemm=1"), "no gain")) << host.Note("kernel:gemm=1");
}

TEST(WhatIf, FusedOperatorsInsideOthersCountOnce) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 10; ++i) {
      s.run.Op(s.main, "aten::linear", s.host_ns, 10 * kWhatIfUs);
      s.Op("aten::addmm", 10 * kWhatIfUs, 50 * kWhatIfUs);
    }
  });
  EXPECT_NEAR(Asked(s).GainUs("fuse:aten::linear=0.5"), 250, 20);
}

constexpr char kDims[] = "[[4096,4096],[4096,4096]]", kFp32[] = R"(["float","float"])";

TEST(WhatIf, Fp32ProductsTakeTheTimeOfBf16) {
  StepScript s;
  s.run.Device(0, "NVIDIA H200");
  s.Steps(6, [&] { s.Op("aten::mm", 50 * kWhatIfUs, 4000 * kWhatIfUs, "sgemm", kDims, kFp32); });
  const Asked run(s);
  // 2 * 4096^3 FLOPs at 85 % of 989 TFLOP/s; the host is ahead but for the first step.
  const double bf16_us = 2 * 4096.0 * 4096 * 4096 / 989e12 * 1e6 / 0.85;
  EXPECT_NEAR(run.StepUs({"bf16"}), bf16_us + 50.0 / 6, 1);
  EXPECT_DOUBLE_EQ(run.StepUs({"bf16:aten::mm"}), run.StepUs({"bf16"}));
  EXPECT_EQ(run.Fix("bf16").count, 6);
  EXPECT_NEAR(run.StepUs({"bf16", "bf16"}), run.StepUs({"bf16"}), 1e-9);
}

TEST(WhatIf, ProductsInBf16AndWithoutShapesStayAsTheyAre) {
  StepScript half;
  half.run.Device(0, "NVIDIA H200");
  half.Steps(6, [&] {
    half.Op("aten::mm", 50 * kWhatIfUs, 400 * kWhatIfUs, "gemm_bf16", kDims,
            R"(["c10::BFloat16","c10::BFloat16"])");
  });
  EXPECT_EQ(Asked(half).Note("bf16"), "no fp32 products in the steady steps");
  StepScript plain;
  plain.run.Device(0, "NVIDIA H200");
  plain.Steps(6, [&] { plain.Op("aten::mm", 50 * kWhatIfUs, 400 * kWhatIfUs, "sgemm_128x64_nn"); });
  const Asked run(plain);
  EXPECT_EQ(run.Note("bf16"), "6 kernels of products without a recorded type or shape are unchanged");
  EXPECT_EQ(run.GainUs("bf16"), 0);
}

TEST(WhatIf, ADeviceWithoutPeaksGivesNoBf16) {
  StepScript s;
  s.Steps(6, [&] { s.Op("aten::mm", 50 * kWhatIfUs, 4000 * kWhatIfUs, "sgemm", kDims, kFp32); });
  const Asked run(s);
  EXPECT_TRUE(Contains(run.Note("bf16"), "--peaks")) << run.Note("bf16");
  EXPECT_EQ(run.GainUs("bf16"), 0);
}

TEST(WhatIf, NothingIsGainedTwice) {
  StepScript s;
  s.Steps(6, [&] {
    for (int i = 0; i < 4; ++i) {
      s.Op("aten::mm", 50 * kWhatIfUs, 40 * kWhatIfUs);
      s.Wait();
    }
    s.host_ns += 500 * kWhatIfUs;
    s.Call("cudaMalloc", 100 * kWhatIfUs);
  });
  const Asked run(s);
  for (const char* fix :
       {"sync", "host", "allocs", "graphs", "remove:cudaMalloc", "remove:cudaStreamSynchronize"})
    EXPECT_NEAR(run.StepUs({fix, fix}), run.StepUs({fix}), 1e-9) << fix;
  EXPECT_NEAR(run.StepUs({"remove:cudaMalloc", "allocs"}), run.StepUs({"allocs"}), 1e-9);
  EXPECT_NEAR(run.StepUs({"host", "sync", "allocs"}), run.StepUs({"allocs", "sync", "host"}), 1e-6);
  EXPECT_LT(run.StepUs({"host", "sync", "allocs", "graphs"}), run.StepUs({"host"}));
}

TEST(WhatIf, CallsThatShareAStretchOfTheHostWithOtherCodeAreTakenOnce) {
  StepScript s;
  s.Steps(6, [&] {
    AddEagerStep(s);
    s.host_ns += 60 * kWhatIfUs;
    s.PageableCopy("aten::to", 20 * kWhatIfUs, 100'000);
    s.run.Op(s.main, "aten::linear", s.host_ns, 50 * kWhatIfUs);
    s.Op("aten::addmm", 50 * kWhatIfUs, 5 * kWhatIfUs);
  });
  const Asked run(s);
  EXPECT_NEAR(run.StepUs({"pinned", "pinned:aten::to"}), run.StepUs({"pinned"}), 1e-9);
  EXPECT_NEAR(run.StepUs({"remove:aten::to", "pinned"}), run.StepUs({"remove:aten::to"}), 1e-9);
  EXPECT_NEAR(run.StepUs({"fuse:aten::linear=0.5", "fuse:aten::linear=0.5"}),
              run.StepUs({"fuse:aten::linear=0.5"}), 1e-9);
  EXPECT_LT(run.StepUs({"remove:aten::to"}), run.StepUs({"pinned"}));
}

TEST(WhatIf, ARuleGainsWhatItsFindingSays) {
  StepScript s;
  s.Steps(12, [&] { AddLongStep(s); });
  const Asked run(s);
  int checked = 0;
  for (const Finding& f : run.findings().findings) {
    if (!f.gain_ms || !f.gain_after.empty()) continue;
    EXPECT_NEAR(run.Last({f.rule}).gain_ms.expected, f.gain_ms->expected, 1e-9) << f.rule;
    EXPECT_NEAR(run.Last({f.rule}).gain_ms.high, f.gain_ms->high, 1e-9) << f.rule;
    ++checked;
  }
  EXPECT_GE(checked, 2) << "host code and launches";
  double after_ms = 0;
  for (const Finding& f : run.findings().findings) after_ms = f.step_after_ms.value_or(after_ms);
  EXPECT_NEAR(run.StepUs({"all"}), 1e3 * after_ms, 1e-6);
  EXPECT_EQ(run.Note("alloc_churn"), "`neurolens findings` lists nothing of alloc_churn in this run");
}

TEST(WhatIf, WithoutANameWhatCanBeAppliedIsListed) {
  StepScript s;
  s.Steps(12, [&] { AddLongStep(s); });
  std::vector<std::string> names;
  const Asked run(s);
  for (const RequestedFix& fix : run.requests().Applicable()) {
    names.push_back(fix.apply);
    EXPECT_GT(fix.count, 0) << fix.apply;
  }
  const auto has = [&](const char* name) { return std::count(names.begin(), names.end(), name) == 1; };
  EXPECT_TRUE(has("graphs") && has("host") && has("host_code") && has("all"));
  EXPECT_FALSE(has("pinned") || has("allocs") || has("bf16") || has("remove"));
}

TEST(WhatIf, UnknownWordsAreRefusedWithWhatIsNear) {
  StepScript s;
  s.Steps(6, [&] { AddEagerStep(s); });
  const Asked run(s);
  EXPECT_TRUE(Contains(run.ErrorOf("graph").hint, "did you mean 'graphs'?")) << run.ErrorOf("graph").hint;
  EXPECT_TRUE(Contains(run.ErrorOf("nothing_known").hint, "kernel:NAME=F"));
  EXPECT_TRUE(Contains(run.ErrorOf("remove:aten::mmm").hint, "aten::mm"));
  EXPECT_TRUE(Contains(run.ErrorOf("kernel:gem=0.5").hint, "gemm"));
  EXPECT_TRUE(Contains(run.ErrorOf("gpu_idle").message, "cannot be predicted"));
  for (const char* bad :
       {"remove", "sync:", "graphs:x", "kernel:gemm", "kernel:gemm=", "kernel:gemm=2", "kernel:gemm=-1",
        "kernel:gemm=nan", "fuse:=0.5", "kernel:gemm=0.5x", "bf16:aten::no"})
    EXPECT_EQ(run.ErrorOf(bad).code, ErrorCode::kInvalidInput) << bad;
}

}  // namespace
}  // namespace nl::replay
