// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/kernel_counters.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "analyze/compare/attribute/counters.h"
#include "analyze/facts/findings.h"
#include "analyze/facts/fingerprint.h"
#include "analyze/facts/roofline.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

// A run of two GEMMs and a copy kernel by one op each, of which the GEMMs were measured.
struct Measured {
  RunBuilder run;
  RowId first, second, copy;

  Measured() {
    run.Device(0, "NVIDIA H200");
    const ThreadId main = run.Thread("main");
    const auto kernel = [&](const char* op, const char* name, int64_t at_ns, int64_t ns) {
      const RowId row = run.Op(main, op, at_ns, 500, "[[8,8]]", R"(["float"])");
      const RowId launch = run.Api(main, "cudaLaunchKernel", at_ns + 10, 20, row);
      return run.Kernel(name, 7, at_ns + 1000, ns, launch, row);
    };
    first = kernel("aten::mm", "gemm", 0, 10'000);
    second = kernel("aten::mm", "gemm", 20'000, 30'000);
    copy = kernel("aten::copy_", "copy_kernel", 60'000, 5'000);
  }
  KernelCounterRow& Row(RowId kernel) {
    rows_.emplace_back();
    rows_.back().kernel_id = kernel;
    rows_.back().source = run.Name("ncu");
    return rows_.back();
  }
  Analysis Finish() {
    for (const KernelCounterRow& row : rows_) run.data().kernel_counter.Add(row);
    return run.Finish();
  }

 private:
  std::vector<KernelCounterRow> rows_;
};

TEST(KernelCounters, MeansAreWeightedByDurationAndSumsNeedEveryPart) {
  Measured m;
  m.Row(m.first).achieved_occupancy = 0.2;
  KernelCounterRow& second = m.Row(m.second);
  second.achieved_occupancy = 0.6;
  second.flops = 1e9;
  Analysis analysis = m.Finish();
  const KernelCounters counters(analysis.data());
  const CounterSum* gemm = counters.OfName("gemm");
  ASSERT_NE(gemm, nullptr);
  EXPECT_EQ(gemm->executions(), 2);
  EXPECT_EQ(gemm->ns(), 40'000);
  EXPECT_DOUBLE_EQ(*gemm->Mean(Counter::kAchievedOccupancy), (0.2 * 10 + 0.6 * 30) / 40);
  EXPECT_FALSE(gemm->Sum(Counter::kFlops)) << "of one of two";
  EXPECT_FALSE(gemm->Mean(Counter::kL2HitRate));
  EXPECT_EQ(counters.OfName("copy_kernel"), nullptr);
  EXPECT_EQ(counters.Of(static_cast<int64_t>(m.copy)), nullptr);
  EXPECT_TRUE(counters.Any({Counter::kFlops}));
  EXPECT_FALSE(counters.Any({Counter::kStallMemory}));
}

TEST(KernelCounters, TheLastMeasurementOfAValueCounts) {
  Measured m;
  KernelCounterRow& raw = m.Row(m.first);
  raw.achieved_occupancy = 0.2;
  raw.flops = 7;
  m.Row(m.first).achieved_occupancy = 0.3;
  Analysis analysis = m.Finish();
  const KernelCounters counters(analysis.data());
  EXPECT_EQ(counters.Of(static_cast<int64_t>(m.first))->Get(Counter::kAchievedOccupancy), 0.3);
  EXPECT_EQ(counters.Of(static_cast<int64_t>(m.first))->Get(Counter::kFlops), 7);
  EXPECT_EQ(counters.OfName("gemm")->executions(), 1);
}

TEST(KernelCounters, RowsOfNoKernelAreLeftOut) {
  Measured m;
  m.Row(static_cast<RowId>(99)).flops = 1;
  m.Row(RowId::kNull).flops = 1;
  Analysis analysis = m.Finish();
  EXPECT_TRUE(KernelCounters(analysis.data()).empty());
}

TEST(KernelCounters, RooflineTakesWhatWasMeasured) {
  Measured m;
  for (const RowId kernel : {m.first, m.second}) {
    KernelCounterRow& row = m.Row(kernel);
    row.flops = 2e9;
    row.dram_bytes = 1e6;
    row.sm_throughput = 0.8;
    row.dram_throughput = 0.1;
  }
  Analysis analysis = m.Finish();
  const auto facts = analysis.Need<RooflineFacts>();
  ASSERT_TRUE(facts.ok());
  ASSERT_EQ((*facts)->counted.size(), 1u);
  const RooflinePoint& p = (*facts)->counted[0];
  EXPECT_EQ(p.calls, 2);
  EXPECT_DOUBLE_EQ(*p.flops, 4e9);
  EXPECT_DOUBLE_EQ(*p.Tflops(), 4e9 / 40'000 / 1e3);
  EXPECT_DOUBLE_EQ(*p.Ai(), 2000);
  EXPECT_DOUBLE_EQ(*p.Efficiency(), 0.8);
  EXPECT_EQ(p.bound, RooflineBound::kCompute);
  EXPECT_EQ((*facts)->counted_ns, 40'000);
  EXPECT_EQ(SectionOf(**facts, analysis.data()).counted.at(0).source, CostSource::kCounters);
}

TEST(KernelCounters, RulesAndFingerprintUseThem) {
  Measured m;
  for (const RowId kernel : {m.first, m.second}) {
    KernelCounterRow& row = m.Row(kernel);
    row.sm_throughput = 0.8;
    row.dram_throughput = 0.1;
    row.achieved_occupancy = 0.25;
    row.warp_execution_efficiency = 0.5;
    row.stall_memory = 0.5;
    row.dram_bytes = 1e6;
  }
  m.run.document() = Json::parse(
      R"({"timeline": [{"op_name": "aten::mm", "op_type": "mm", "op_index": 0, "duration_ms": 0.04,
    "kernels": [{"name": "gemm", "duration_ms": 0.04, "calls": 2}]}]})");
  Analysis analysis = m.Finish();
  const auto findings = analysis.Need<FindingsFacts>();
  ASSERT_TRUE(findings.ok());
  std::vector<std::string> rules;
  for (const Finding& f : (*findings)->findings) rules.push_back(f.rule + " " + f.kernel.value_or(""));
  EXPECT_EQ(std::find(rules.begin(), rules.end(), "compute_bound_kernel gemm"), rules.end())
      << "a kernel near its limit is not a problem";
  EXPECT_NE(std::find(rules.begin(), rules.end(), "stall_memory gemm"), rules.end());
  const auto of_op = [](const Finding& f) { return f.rule == "low_occupancy" && f.op == "aten::mm"; };
  EXPECT_TRUE(std::any_of((*findings)->findings.begin(), (*findings)->findings.end(), of_op));
  const auto fingerprint = analysis.Need<FingerprintFacts>();
  ASSERT_TRUE(fingerprint.ok());
  ASSERT_EQ((*fingerprint)->ops.size(), 1u);
  EXPECT_DOUBLE_EQ(*(*fingerprint)->ops[0].values[2], 0.25);
  EXPECT_DOUBLE_EQ(*(*fingerprint)->ops[0].values[5], 2e6 / 40'000 / 4800);
}

TEST(KernelCounters, BothSidesOfAComparisonShowThem) {
  Measured a, b;
  a.Row(a.first).achieved_occupancy = 0.25;
  KernelCounterRow& row = b.Row(b.first);
  row.achieved_occupancy = 0.5;
  row.dram_read_bytes = 2e9;
  Analysis left = a.Finish(), right = b.Finish();
  const std::vector<CounterComparison> counters = compare::CompareCounters(left, right);
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0].kernel, "gemm");
  ASSERT_TRUE(counters[0].a && counters[0].b);
  EXPECT_EQ(counters[0].a->achieved_occupancy, 0.25);
  EXPECT_EQ(counters[0].b->achieved_occupancy, 0.5);
  EXPECT_EQ(counters[0].b->dram_read_gb, 2.0);
  EXPECT_FALSE(counters[0].a->dram_read_gb);
  EXPECT_EQ(counters[0].a->source, "ncu");
}

TEST(ToolFindings, TheLargestEstimateComesFirst) {
  Measured m;
  const auto say = [&](RowId kernel, const char* rule, const char* kind, const char* scope, double pct) {
    ToolFindingRow row;
    row.kernel_id = kernel;
    row.tool = m.run.Name("Nsight Compute");
    row.rule = m.run.Name(rule);
    row.kind = m.run.Name(kind);
    row.message = m.run.Name(std::string(rule) + " says");
    if (*scope != '\0') row.speedup_scope = m.run.Name(scope);
    row.estimated_speedup_pct = pct;
    m.run.data().tool_finding.Add(row);
  };
  say(m.first, "Stall", "suggestion", "local", 90);
  say(m.first, "Imbalance", "suggestion", "global", 10);
  say(m.second, "Imbalance", "suggestion", "global", 20);
  say(m.copy, "Bottleneck", "suggestion", "", NullOf<double>::value);
  say(m.copy, "Note", "note", "", 99);
  Analysis analysis = m.Finish();
  const auto facts = analysis.Need<FindingsFacts>();
  ASSERT_TRUE(facts.ok());
  const std::vector<ToolFinding>& words = (*facts)->tool_findings;
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words[0].rule, "Imbalance");
  EXPECT_EQ(words[0].executions, 2);
  EXPECT_DOUBLE_EQ(*words[0].estimated_ms, 0.01 * 0.1 + 0.03 * 0.2);
  EXPECT_EQ(*words[0].speedup_pct, 20);
  EXPECT_EQ(words[1].rule, "Stall");
  EXPECT_FALSE(words[1].estimated_ms) << "a speedup of a part does not apply to the whole";
  EXPECT_EQ(words[2].rule, "Bottleneck");
  EXPECT_FALSE(words[2].speedup_pct);
}

TEST(OrderOnly, NothingIsSaidOfIdleTime) {
  Measured m;
  m.run.document() =
      Json::parse(R"({"clock": {"source": "order", "error_bound_ns": null, "causality_violations": null}})");
  Analysis analysis = m.Finish();
  EXPECT_TRUE(analysis.data().OrderOnly());
  const auto facts = analysis.Need<FindingsFacts>();
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ((*facts)->diagnosis.bound, RunBound::kUnknown);
  ASSERT_FALSE((*facts)->diagnosis.settle.empty());
  EXPECT_NE((*facts)->diagnosis.settle[0].find("timeline"), std::string::npos);
}

}  // namespace
}  // namespace nl
