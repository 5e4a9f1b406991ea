// SPDX-License-Identifier: Apache-2.0
#include "analyze/analysis.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "analyze/facts/findings.h"
#include "analyze/facts/idle.h"
#include "analyze/facts/timeline.h"
#include "base/record_json.h"
#include "testing/test_run.h"

namespace nl {
namespace {

const std::string kSamples = NL_SOURCE_DIR "/tests/cases/samples/";
const std::string kTraces = NL_SOURCE_DIR "/data/h200/";

TestRun ReadRun(const std::string& path) {
  return TestRun(*ReadWholeFile(path), std::filesystem::path(path).filename().string());
}

std::string SectionText(const Analysis& analysis, const std::string& name) {
  const Described section = analysis.Section(name);
  return section.empty() ? "" : DumpJson(ToDocument(section.data(), section.info()));
}

// Of every kind of source: timelines with ops, graphs, Python calls, ranks, CPU samples, counters.
class PassReads : public ::testing::TestWithParam<std::string> {};

// A pass alone has nothing loaded but what it and those it needs declare, so that strings have other ids.
TEST_P(PassReads, EveryPassAloneGivesTheSectionThatAllColumnsGive) {
  const TestRun run = ReadRun(GetParam());
  const Json document = ToJson(run.result.document);
  Analysis all(*run.snapshot, document, {});
  ASSERT_TRUE(all.Load(Reads::All()).ok());
  ASSERT_TRUE(all.RunAll().ok());
  for (const auto& describe : AllPasses()) {
    const std::string name = describe().Info().name;
    const TestRun same = ReadRun(GetParam());
    Analysis alone(*same.snapshot, document, {});
    const Status status = alone.Run(name);
    ASSERT_TRUE(status.ok()) << name << ": " << status.error().ToString();
    EXPECT_EQ(SectionText(alone, name), SectionText(all, name)) << name;
    EXPECT_LT(alone.loaded_bytes(), all.loaded_bytes()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Samples, PassReads,
    ::testing::Values(kTraces + "compile.json.gz", kTraces + "llama.nlc.gz",
                      kTraces + "llama_layer_raw.csv.gz", kSamples + "chrome/jax.trace.json",
                      kSamples + "collapsed/py_spy.collapsed", kSamples + "kineto/distributed.json",
                      kSamples + "kineto/h200_inference.json", kSamples + "kineto/h200_training_stacks.json",
                      kSamples + "ncu/h200_details.csv", kSamples + "nlcap/decoding.nlcap",
                      kSamples + "nsys/serving_with_graphs.sqlite",
                      kSamples + "nsys/training_two_gpus.sqlite", kSamples + "onnxrt/cuda_provider.json",
                      kSamples + "rocprof/training_results.json",
                      kSamples + "xplane/h200_jax_mlp.xplane.pb"));

TEST(AnalysisColumns, OnlyDeclaredColumnsAreLoaded) {
  const TestRun run = ReadRun(kSamples + "kineto/h200_inference.json");
  Analysis analysis(*run.snapshot, Json::object(), {});
  EXPECT_EQ(analysis.loaded_bytes(), 0u);
  ASSERT_TRUE(analysis.Need<IdleFacts>().ok());
  const RunData& data = analysis.data();
  EXPECT_TRUE(data.kernel.start_ns.declared() && data.op.name.declared());
  EXPECT_FALSE(data.kernel.grid_x.declared() || data.op.input_dims.declared());
  EXPECT_FALSE(data.kernel_counter.flops.declared());
}

TEST(AnalysisColumns, AColumnIsLoadedOnceAndStaysInPlace) {
  const TestRun run = ReadRun(kSamples + "kineto/h200_inference.json");
  Analysis analysis(*run.snapshot, Json::object(), {});
  ASSERT_TRUE(analysis.Need<TimelineFacts>().ok());
  const RunData& data = analysis.data();
  const size_t kernels = data.kernel.size();
  ASSERT_GT(kernels, 0u);
  const int64_t* const first = data.kernel.start_ns.begin();
  const size_t bytes = analysis.loaded_bytes();
  ASSERT_TRUE(analysis.Need<FindingsFacts>().ok());
  EXPECT_GT(analysis.loaded_bytes(), bytes);
  EXPECT_EQ(data.kernel.start_ns.begin(), first);
  EXPECT_EQ(data.kernel.start_ns.size(), kernels);
  EXPECT_EQ(data.kernel.grid_x.size(), kernels);
  const size_t more = analysis.loaded_bytes();
  ASSERT_TRUE(analysis.Load(NL_READS(Kernel, start_ns, grid_x)).ok());
  EXPECT_EQ(analysis.loaded_bytes(), more);
}

TEST(AnalysisColumns, PassesThatRunOverOtherFactsSeeWhatTheyDeclare) {
  const TestRun run = ReadRun(kSamples + "kineto/h200_inference.json");
  Analysis analysis(*run.snapshot, Json::object(), {});
  FactBoard facts;
  ASSERT_TRUE(analysis.RunOver(TimelineFacts::kName, facts).ok());
  EXPECT_GT(facts.Get<TimelineFacts>().work.size(), 0u);
  EXPECT_FALSE(analysis.facts().Has(TimelineFacts::kName));
}

}  // namespace
}  // namespace nl
