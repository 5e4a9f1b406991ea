// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "analyze/facts/accounting.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

TEST(AccountingPass, EveryPairOfClassesHasItsOwnOverlap) {
  RunBuilder run;
  run.Kernel("gemm", 7, 0, 100);
  run.Kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 8, 50, 100);  // 50 with the gemm, 50 alone
  run.Memcpy("HtoD", "Pinned", "Device", 10, 9, 90, 30);               // 10 with both, 20 with the collective
  run.Kernel("gemm", 7, 200, 50);
  Analysis analysis = run.Finish();
  const auto facts = analysis.Need<AccountingFacts>();
  ASSERT_TRUE(facts.ok()) << facts.error().ToString();
  const TimeParts& p = (*facts)->devices.at(0);
  EXPECT_EQ(p.wall_ns(), 250);
  EXPECT_EQ(p.idle_ns(), 50);
  EXPECT_EQ(p.Of(WorkClass::kCompute), 150);
  EXPECT_EQ(p.Of(WorkClass::kCommunication), 100);
  EXPECT_EQ(p.Of(WorkClass::kMemory), 30);
  EXPECT_EQ(p.Both(WorkClass::kCompute, WorkClass::kCommunication), 50);
  EXPECT_EQ(p.Both(WorkClass::kCompute, WorkClass::kMemory), 10);
  EXPECT_EQ(p.Both(WorkClass::kCommunication, WorkClass::kMemory), 30);
  EXPECT_EQ(p.by_mask[7], 10);
  EXPECT_EQ(p.overlap_ns(), 70);
}

TEST(AccountingPass, PausesAreNotIdleTimeInAnyWindow) {
  RunBuilder run;
  run.Kernel("gemm", 7, 0, 100);
  run.Kernel("gemm", 7, 900, 100);
  run.Step("ProfilerStep#1", 1, 0, 250);
  run.data().document["capture"]["pauses"] = {{{"start_ns", 50}, {"end_ns", 300}},
                                              {{"start_ns", 600}, {"end_ns", 700}}};
  Analysis analysis = run.Finish();
  const AccountingFacts& facts = **analysis.Need<AccountingFacts>();
  const TimeParts& all = facts.devices.at(0);
  EXPECT_EQ(all.wall_ns(), 1000);
  EXPECT_EQ(all.busy_ns(), 200);
  EXPECT_EQ(all.paused_ns, 300);
  EXPECT_EQ(all.idle_ns(), 500);
  const TimeParts& step = facts.steps.at(0).devices.at(0);
  EXPECT_EQ(step.paused_ns, 150);
  EXPECT_EQ(step.idle_ns(), 0);
}

TEST(AccountingPass, UtilizationIsAPartOfTheRecordedTime) {
  TimeParts parts;
  parts.by_mask = {60, 40};
  parts.paused_ns = 35;
  EXPECT_DOUBLE_EQ(parts.Utilization().value(), 40.0 / 65);
  parts.by_mask = {10, 0};
  parts.paused_ns = 10;
  EXPECT_FALSE(parts.Utilization()) << "nothing was recorded";
}

TEST(AccountingPass, ANegativeDurationCountsAsZero) {
  RunBuilder run;
  run.Kernel("gemm", 7, 100, 50);
  run.Kernel("gemm", 7, 200, -150);
  Analysis analysis = run.Finish();
  const AccountingFacts& facts = **analysis.Need<AccountingFacts>();
  EXPECT_EQ(facts.wall_ns, 100);
  EXPECT_EQ(facts.devices.at(0).busy_ns(), 50);
  EXPECT_EQ(facts.items.at(0), 2);
}

TEST(AccountingPass, HiddenSharesArePartsOfTheirOwnClass) {
  RunBuilder run;
  run.Kernel("gemm", 7, 0, 100);
  run.Kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 8, 75, 100);
  Analysis analysis = run.Finish();
  const AccountingFacts& facts = **analysis.Need<AccountingFacts>();
  const AccountingSection section = SectionOf(facts, analysis.facts().Get<TimelineFacts>(), analysis.data());
  EXPECT_DOUBLE_EQ(section.devices.at(0).hidden_communication_share.value(), 0.25);
  EXPECT_FALSE(section.devices.at(0).hidden_memory_share) << "the run has no copies";
  double sum_ms = 0;
  for (const TimeShare& part : section.devices.at(0).parts) sum_ms += part.ms;
  EXPECT_DOUBLE_EQ(sum_ms, section.wall_ms);
}

TEST(AccountingPass, RanksKeepTheirDevicesApart) {
  RunBuilder run;
  const ThreadId first = run.Thread("gpu 0", 0), second = run.Thread("gpu 0", 1);
  run.Kernel("gemm", 7, 0, 100);
  run.Kernel("gemm", 7, 50, 100);
  run.data().kernel.thread_id = {first, second};
  Analysis analysis = run.Finish();
  const AccountingFacts& facts = **analysis.Need<AccountingFacts>();
  ASSERT_EQ(facts.devices.size(), 2u);
  EXPECT_EQ(facts.devices[0].busy_ns(), 100);
  EXPECT_EQ(facts.devices[1].busy_ns(), 100);
}

TEST(AccountingPass, StepsAreWindowsOfTheSweep) {
  RunBuilder run;
  run.Kernel("gemm", 7, 0, 100);
  run.Kernel("gemm", 7, 150, 100);
  run.Step("ProfilerStep#1", 1, 50, 150);
  Analysis analysis = run.Finish();
  const AccountingFacts& facts = **analysis.Need<AccountingFacts>();
  ASSERT_EQ(facts.steps.size(), 1u);
  EXPECT_EQ(facts.steps[0].devices[0].wall_ns(), 150);
  EXPECT_EQ(facts.steps[0].devices[0].busy_ns(), 100);
}

TEST(AccountingPass, HostTimeIsSelfTimeByKind) {
  RunBuilder run;
  const ThreadId main = run.Thread("main");
  run.Op(main, "aten::linear", 0, 100);
  run.Op(main, "aten::addmm", 10, 80);
  run.Api(main, "cudaLaunchKernel", 20, 30);
  run.Api(main, "cudaStreamSynchronize", 200, 50);
  run.Python(main, "f.py(1): f", 190, 70);
  Analysis analysis = run.Finish();
  const AccountingFacts& facts = **analysis.Need<AccountingFacts>();
  ASSERT_EQ(facts.threads.size(), 1u);
  const HostTime& t = facts.threads[0];
  EXPECT_EQ(t.recorded_ns, 170);
  EXPECT_EQ(t.op_total_ns, 100);
  EXPECT_EQ(t.op_self_ns, 70);
  EXPECT_EQ(t.python_self_ns, 20);
  EXPECT_EQ(t.api_ns[static_cast<size_t>(ApiKind::kLaunch)], 30);
  EXPECT_EQ(t.api_ns[static_cast<size_t>(ApiKind::kSync)], 50);
}

TEST(AccountingPass, AgreesWithLookingAtEveryNanosecond) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    RunBuilder run;
    constexpr int64_t kWall = 400;
    std::vector<uint8_t> mask(kWall, 0);
    const auto paint = [&](int64_t from, int64_t ns, uint8_t bit) {
      for (int64_t t = from; t < from + ns; ++t) mask[static_cast<size_t>(t)] |= bit;
    };
    run.Kernel("first", 1, 0, 1);
    paint(0, 1, 1);
    run.Kernel("last", 1, kWall - 1, 1);
    paint(kWall - 1, 1, 1);
    for (int i = 0; i < 25; ++i) {
      const auto from = static_cast<int64_t>(random() % 350);
      const auto ns = static_cast<int64_t>(random() % 40);
      switch (random() % 3) {
        case 0:
          run.Kernel("gemm", 7, from, ns);
          paint(from, ns, 1);
          break;
        case 1:
          run.Kernel("ncclDevKernel_AllGather", 8, from, ns);
          paint(from, ns, 2);
          break;
        default: run.Memcpy("DtoH", "Device", "Pinned", 1, 9, from, ns); paint(from, ns, 4);
      }
    }
    Analysis analysis = run.Finish();
    const AccountingFacts& facts = **analysis.Need<AccountingFacts>();
    for (const auto& [from, to] :
         {std::pair<int64_t, int64_t>{0, kWall}, {37, 211}, {100, 101}, {380, 400}}) {
      std::array<int64_t, 8> expected{};
      for (int64_t t = from; t < to; ++t) ++expected[mask[static_cast<size_t>(t)]];
      EXPECT_EQ(facts.sweeps[0].Window(from, to).by_mask, expected) << "round " << round << ", from " << from;
    }
  }
}

}  // namespace
}  // namespace nl
