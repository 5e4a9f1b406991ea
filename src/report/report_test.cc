// SPDX-License-Identifier: Apache-2.0
// The report's model and forms, on runs built by hand and on the model that the page's tests use.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/file_ops.h"
#include "report/report_breakdown.h"
#include "report/report_forms.h"
#include "report/report_model.h"
#include "report/report_timeline.h"
#include "report/report_value.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

Json FullModel() {
  return *ParseJson(*ReadWholeFile(std::string(NL_SOURCE_DIR) + "/web/fixtures/full.json"));
}

double Sum(const Json& parts, const char* key) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [key](double sum, const Json& p) { return sum + p[key].get<double>(); });
}

double PartMs(const Json& parts, const std::string& what) {
  for (const Json& part : parts) {
    if (part["what"] == what) return part["ms"];
  }
  return 0;
}

// Device 0: compute 0..40, copy 20..60, idle until 100 ms.
Analysis TwoKinds(RunBuilder& run) {
  const ThreadId thread = run.Thread("main");
  run.Op(thread, "aten::mm", 0, 100'000'000);
  run.Kernel("gemm", 7, 0, 40'000'000);
  run.Memcpy("HtoD", "pinned", "device", 100, 8, 20'000'000, 40'000'000);
  return run.Finish();
}

Json BreakdownOf(Analysis& analysis, const Json& idle) {
  return BreakdownJson(**analysis.Need<TimelineFacts>(), **analysis.Need<AccountingFacts>(), idle);
}

TEST(Breakdown, PartsOfDeviceTimeAreDisjointAndSumToTheWall) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const Json parts = BreakdownOf(analysis, Json());
  EXPECT_DOUBLE_EQ(PartMs(parts, "compute"), 20);
  EXPECT_DOUBLE_EQ(PartMs(parts, "memory"), 20);
  EXPECT_DOUBLE_EQ(PartMs(parts, "overlap"), 20);
  EXPECT_DOUBLE_EQ(PartMs(parts, "idle"), 40);
  EXPECT_DOUBLE_EQ(Sum(parts, "ms"), 100);
  EXPECT_DOUBLE_EQ(Sum(parts, "share"), 1);
}

TEST(Breakdown, IdleIsSplitByTheIdleSectionAndTheRestIsTheEdges) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const Json idle{{"host_ms", 25.0}, {"launch_ms", 5.0}, {"sync_ms", 0.0}, {"other_ms", 1.0}};
  const Json parts = BreakdownOf(analysis, idle);
  EXPECT_DOUBLE_EQ(PartMs(parts, "idle_host"), 25);
  EXPECT_DOUBLE_EQ(PartMs(parts, "idle_edges"), 9);
  EXPECT_DOUBLE_EQ(Sum(parts, "ms"), 100);
}

TEST(Breakdown, APauseIsItsOwnPartAndTheVerdictIsOfWhatWasRecorded) {
  RunBuilder run;
  run.document()["capture"]["pauses"] = {{{"start_ns", 70'000'000}, {"end_ns", 95'000'000}}};
  Analysis analysis = TwoKinds(run);
  const Json idle{{"host_ms", 9.0}, {"launch_ms", 1.0}, {"sync_ms", 0.0}, {"other_ms", 0.0}};
  const Json parts = BreakdownOf(analysis, idle);
  EXPECT_DOUBLE_EQ(PartMs(parts, "paused"), 25);
  EXPECT_DOUBLE_EQ(PartMs(parts, "idle_host"), 9);
  EXPECT_DOUBLE_EQ(PartMs(parts, "idle_edges"), 5);
  EXPECT_DOUBLE_EQ(Sum(parts, "ms"), 100);
  const Json report{{"breakdown", parts}, {"wall_ms", 100.0}, {"devices", Json::array({Json::object()})}};
  EXPECT_EQ(
      VerdictText(report),
      "Busy: the GPU works 60.0 ms of 75.0 ms recorded (80.0 %); for 9.0 ms (12.0 %) it waits for the host.");
}

TEST(Breakdown, AnIdleSectionThatContradictsTheDeviceIsNotUsed) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const Json idle{{"host_ms", 80.0}, {"launch_ms", 5.0}};
  const Json parts = BreakdownOf(analysis, idle);
  EXPECT_DOUBLE_EQ(PartMs(parts, "idle"), 40);
  EXPECT_DOUBLE_EQ(Sum(parts, "ms"), 100);
}

TEST(Breakdown, WithoutADeviceTheBusiestThreadCountsInnermostFirst) {
  RunBuilder run;
  const ThreadId thread = run.Thread("main"), idle = run.Thread("other");
  run.Python(thread, "forward", 0, 80);
  run.Op(thread, "aten::add", 10, 30);
  run.Op(idle, "aten::neg", 90, 10);
  Analysis analysis = run.Finish();
  const Json parts = BreakdownOf(analysis, Json());
  EXPECT_DOUBLE_EQ(PartMs(parts, "op"), 30e-6);
  EXPECT_DOUBLE_EQ(PartMs(parts, "python"), 50e-6);
  EXPECT_DOUBLE_EQ(PartMs(parts, "nothing"), 20e-6);
}

TEST(Verdict, NamesTheDiagnosisAndTheLargestWait) {
  const std::string verdict = VerdictText(FullModel());
  EXPECT_EQ(
      verdict,
      "Held back by the host: the GPU works 21.6 ms of 183.2 ms (11.8 %); for 121.0 ms (66.0 %) it waits "
      "for the host.");
  Json two = FullModel();
  two["devices"].push_back(two["devices"][0]);
  EXPECT_NE(VerdictText(two).find("the 2 GPUs work"), std::string::npos) << VerdictText(two);
  EXPECT_NE(VerdictText(two).find(") they wait for the host."), std::string::npos) << VerdictText(two);
}

TEST(Verdict, CpuSamplesAloneHaveTheirOwnVerdict) {
  RunBuilder run;
  CpuSampleRow row;
  row.thread_id = run.Thread("main");
  row.start_ns = 5;
  row.weight_ns = 1'000;
  row.stack = run.Name("main;work");
  run.data().cpu_sample.Add(row);
  Analysis analysis = run.Finish();
  const std::string verdict = (*BuildReport(analysis, "run-1", {}))["verdict"];
  EXPECT_EQ(verdict.rfind("CPU samples only (1)", 0), 0u) << verdict;
}

TEST(Timeline, EverySpanIsThereWhenFew) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const Json line = TimelineJson(**analysis.Need<TimelineFacts>(), analysis.data());
  EXPECT_EQ(line["events_total"], 3);
  EXPECT_TRUE(line["merged_below_us"].is_null());
  ASSERT_EQ(line["lanes"].size(), 3u);
  EXPECT_EQ(line["lanes"][1]["kind"], "device");
  EXPECT_EQ(line["lanes"][1]["start_us"][0], 20'000);
  EXPECT_EQ(line["lanes"][2]["name"], "main");
}

TEST(Timeline, OverlappingWorkOfOneStreamTakesTwoRows) {
  RunBuilder run;
  run.Kernel("a", 7, 0, 100);
  run.Kernel("b", 7, 50, 100);
  run.Kernel("c", 7, 120, 100);
  Analysis analysis = run.Finish();
  const Json line = TimelineJson(**analysis.Need<TimelineFacts>(), analysis.data());
  EXPECT_EQ(line["lanes"][0]["depth"], Json::parse("[0, 1, 0]"));
}

TEST(Timeline, MergingKeepsTheCountTheLongestNameAndWhatIsLong) {
  RunBuilder run;
  const ThreadId thread = run.Thread("main");
  for (int i = 0; i < 1000; ++i)
    run.Op(thread, i % 10 == 3 ? "longer" : "short", i * 100, i % 10 == 3 ? 90 : 10);
  run.Op(thread, "long", 200'000, 800'000);
  Analysis analysis = run.Finish();
  const Json line = TimelineJson(**analysis.Need<TimelineFacts>(), analysis.data(), {500, 1000});
  EXPECT_EQ(line["events_total"], 1001);
  EXPECT_LE(line["events_drawn"], 500);
  const Json& lane = line["lanes"][0];
  int64_t counted = 0;
  for (const Json& c : lane["count"]) counted += c.get<int64_t>();
  EXPECT_EQ(counted, 1001);
  EXPECT_EQ(lane["count"].back(), 1) << "the long span stands alone";
  EXPECT_EQ(lane["dur_us"].back(), 800);
  EXPECT_EQ(line["names"][lane["name_id"][0].get<size_t>()], "longer");
}

TEST(ReportModel, HasWhatEveryRunHasAndNoSectionOfPassesThatSayNothing) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const Json report = *BuildReport(analysis, "run-1", {});
  for (const char* key : {"schema_version", "generated_from", "run", "wall_ms", "verdict", "breakdown",
                          "devices", "operators", "kernels", "copies", "timeline", "glossary"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  EXPECT_FALSE(report.contains("memory"));
  for (const auto& [name, section] : report.items()) EXPECT_FALSE(section.is_null()) << name;
}

TEST(ReportModel, TheStripOfTheCriticalPathAccountsForEveryMoment) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const Json report = *BuildReport(analysis, "run-1", {});
  const Json& strip = report["critical_path"]["strip"];
  double sum_ms = 0;
  for (const Json& c : strip["classes"]) {
    for (const Json& share : c["share"]) sum_ms += share.get<double>() * strip["bin_ms"].get<double>();
  }
  EXPECT_NEAR(sum_ms, 100, 1);
}

TEST(ReportModel, TheFlameGraphHoldsAllDeviceTime) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const Json report = *BuildReport(analysis, "run-1", {});
  const Json& nodes = report["flame"]["nodes"];
  EXPECT_NEAR(Sum(nodes, "device_self_ms"), 80, 1e-9);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Json& parent = nodes[i]["parent"];
    EXPECT_TRUE(parent.is_null() || parent.get<size_t>() < i) << i;
  }
}

TEST(ReportModel, AnEmptyRunIsReportedInEveryForm) {
  RunBuilder run;
  Analysis analysis = run.Finish();
  const Json report = *BuildReport(analysis, "run-1", {});
  EXPECT_NE(report["verdict"].get<std::string>().find("no timed events"), std::string::npos);
  EXPECT_NE(ReportMarkdown(report).find("# run run"), std::string::npos);
  EXPECT_NE(StakeholderMarkdown(report).find("## Recommendations"), std::string::npos);
}

// Cells of a line, as an independent reader counts them: by pipes that no backslash precedes.
size_t Cells(const std::string& line) {
  size_t pipes = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\')
      ++i;
    else if (line[i] == '|')
      ++pipes;
  }
  return pipes - 1;
}

TEST(Markdown, TablesKeepTheirColumnsWhateverTheNamesAre) {
  const Json report = FullModel();
  for (const std::string& text : {ReportMarkdown(report), OperatorsMarkdown(report), KernelsMarkdown(report),
                                  StakeholderMarkdown(report)}) {
    size_t columns = 0, tables = 0, at = 0;
    while (at < text.size()) {
      const size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      if (line.empty() || line[0] != '|') {
        columns = 0;
        continue;
      }
      tables += columns == 0 ? 1 : 0;
      columns = columns == 0 ? Cells(line) : columns;
      EXPECT_EQ(Cells(line), columns) << line.substr(0, 200);
    }
    EXPECT_GE(tables, 1u);
    EXPECT_EQ(text.find("<script"), std::string::npos);
    EXPECT_EQ(text.find("<img"), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
}

TEST(Markdown, SaysVerdictThenLossThenFindingsWithEvidenceAndAdvice) {
  const std::string text = ReportMarkdown(FullModel());
  const size_t verdict = text.find("Held back by the host"), loss = text.find("Data loss: 12 x"),
               finding = text.find("### 1. Launching costs more than computing\n\nLaunching costs more"),
               evidence = text.find("Evidence: cudaLaunchKernel"),
               advice = text.find("- Capture the decode step"), kernels = text.find("## Top kernels");
  EXPECT_LT(verdict, loss);
  EXPECT_LT(loss, finding);
  EXPECT_LT(finding, evidence);
  EXPECT_LT(evidence, advice);
  EXPECT_LT(advice, kernels);
  EXPECT_NE(kernels, std::string::npos);
  EXPECT_NE(text.find("slowed the run by 7.5 %"), std::string::npos);
}

TEST(Markdown, MillisecondsHaveFourDigitsThatMeanSomething) {
  EXPECT_EQ(MsNumber(std::nullopt), "-");
  EXPECT_EQ(MsNumber(0.0), "0");
  EXPECT_EQ(MsNumber(12345.6), "12346");
  EXPECT_EQ(MsNumber(25.1234), "25.12");
  EXPECT_EQ(MsNumber(2.80192), "2.802");
  EXPECT_EQ(MsNumber(0.0339), "0.03390");
  EXPECT_EQ(MsNumber(0.000001), "0.000001");
}

TEST(Html, DataCannotEndItsElement) {
  const Json hostile{{"</script><!--", "a\xe2\x80\xa8\xe2\x80\xa9\xe2\x82\xac&<"}};
  const std::string text = ScriptSafeJson(hostile);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80"), std::string::npos);
  EXPECT_EQ(*ParseJson(text), hostile) << "and means the same";
}

TEST(Html, IsThePageWithTheModelInside) {
  const Result<std::string> page = ReportHtml(Json{{"x", 1}});
  if (!HtmlMissingReason().empty()) {
    ASSERT_FALSE(page.ok());
    EXPECT_EQ(page.error().code, ErrorCode::kUnsupported);
    return;
  }
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page->find("id=\"report-data\">{\"x\":1}</script>"), std::string::npos);
  EXPECT_LT(page->size(), 2'000'000u);
}

}  // namespace
}  // namespace nl
