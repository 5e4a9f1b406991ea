// SPDX-License-Identifier: Apache-2.0
// The report's model and forms, on runs and on a report built by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/record_json.h"
#include "report/report_breakdown.h"
#include "report/report_forms.h"
#include "report/report_model.h"
#include "report/report_timeline.h"
#include "report/report_value.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

// Names that a trace may hold: none may leave its cell or become markup.
constexpr const char* kHostileName = "a|b\\|c\n<script>alert(1)</script> <img src=x> \x1b[31m `x` *y* [z](w)";

Finding HostileFinding() {
  Finding out;
  out.rule = "launch_bound";
  out.title = "launching costs more than computing";
  out.message = "Launching costs more than computing, in " + std::string(kHostileName);
  out.confidence = 0.9;
  out.impact_ms = 12.5;
  out.kernel = out.op = kHostileName;
  out.evidence = {{"api_call", 7, "cudaLaunchKernel", 4.2, "us"}, {std::nullopt, {}, kHostileName, {}, {}}};
  out.suggestions = {"Capture the decode step", kHostileName};
  return out;
}

// A report with every section, and hostile names wherever a name comes from the trace.
Report FullReport() {
  const std::string name = kHostileName;
  Report out;
  out.generated_from = "run-1";
  out.wall_ms = 183.2;
  out.run.environment = {{"hardware", {{"devices", {{{"index", 0}, {"name", name}}}}}},
                         {"model", {{"name", name}}}};
  out.run.provenance = {{"source", {{"tool", name}, {"files", {{{"name", name}, {"bytes", 5}}}}}},
                        {"notes", {name}}};
  out.run.counters = {12, {{name, "data_loss", 12, name}, {"fine", "info", 3, {}}}};
  out.run.overhead_pct = 7.5;
  out.devices.emplace_back().name = name;
  out.breakdown = {{ReportPartKind::kCompute, "Compute kernels", 21.6, 0.118, false},
                   {ReportPartKind::kIdleHost, "Idle: waiting for the host", 121, 0.66, true},
                   {ReportPartKind::kIdleEdges, "Idle: before and after", 40.6, 0.222, true}};
  out.findings.findings = {HostileFinding()};
  out.findings.diagnosis = {RunBound::kCpu, 0.9, HostileFinding().evidence, {name}, {}};
  out.findings.not_assessed = {{name, {name, name}, name}};
  out.findings.tool_findings = {{name, name, name, 1, 2, 3, name, {}, name}};
  out.diagnosis = out.findings.diagnosis;
  out.idle.emplace().causes = {{name, name, 5, 0.5, 1}};
  out.launch.emplace().launches = 1234;
  out.critical_path.emplace().shares = {{PathClass::kKernel, PathBound::kKernel, 100, 0.5}};
  out.critical_path->contributors = {{PathClass::kKernel, name, name, 3, 0.1, 1}};
  out.ranks.emplace().members.emplace_back().rank = 1;
  out.roofline.points.emplace_back().op = name;
  out.stages.stages.emplace_back().name = name;
  out.stages.ttft_ms = 3;
  out.memory.emplace().peaks = {{0, 1 << 20, 1 << 21}};
  out.operators = out.kernels = {{name, name + "raw", name, 0, 3, {}, 1, 1, 1, 1, 0.3, 0.3, 0.4, 0.5, name}};
  out.operators_total = out.kernels_total = 20;
  out.copies = {{name, name, name, 1, 2.5, 1000}};
  out.glossary = GlossaryOf(out);
  out.verdict = VerdictText(out);
  return out;
}

double SumMs(const std::vector<ReportPart>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const ReportPart& p) { return sum + p.ms; });
}

double PartMs(const std::vector<ReportPart>& parts, ReportPartKind what) {
  for (const ReportPart& part : parts) {
    if (part.what == what) return part.ms;
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

std::vector<ReportPart> PartsOf(Analysis& analysis, std::optional<IdlePartsMs> idle = {}) {
  return BreakdownOf(**analysis.Need<TimelineFacts>(), **analysis.Need<AccountingFacts>(),
                     idle ? &*idle : nullptr);
}

TEST(Breakdown, PartsOfDeviceTimeAreDisjointAndSumToTheWall) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const std::vector<ReportPart> parts = PartsOf(analysis);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kCompute), 20);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kMemory), 20);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kOverlap), 20);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kIdle), 40);
  EXPECT_DOUBLE_EQ(SumMs(parts), 100);
  double share = 0;
  for (const ReportPart& part : parts) share += part.share;
  EXPECT_DOUBLE_EQ(share, 1);
}

TEST(Breakdown, IdleIsSplitByTheIdleSectionAndTheRestIsTheEdges) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const IdlePartsMs idle{.host_ms = 25, .launch_ms = 5, .other_ms = 1};
  const std::vector<ReportPart> parts = PartsOf(analysis, idle);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kIdleHost), 25);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kIdleEdges), 9);
  EXPECT_DOUBLE_EQ(SumMs(parts), 100);
}

TEST(Breakdown, APauseIsItsOwnPartAndTheVerdictIsOfWhatWasRecorded) {
  RunBuilder run;
  run.document()["capture"]["pauses"] = {{{"start_ns", 70'000'000}, {"end_ns", 95'000'000}}};
  Analysis analysis = TwoKinds(run);
  const IdlePartsMs idle{.host_ms = 9, .launch_ms = 1, .paused_ms = 25};
  const std::vector<ReportPart> parts = PartsOf(analysis, idle);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kPaused), 25);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kIdleHost), 9);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kIdleEdges), 5);
  EXPECT_DOUBLE_EQ(SumMs(parts), 100);
  Report report;
  report.breakdown = parts;
  report.wall_ms = 100;
  report.devices.resize(1);
  EXPECT_EQ(
      VerdictText(report),
      "Busy: the GPU works 60.0 ms of 75.0 ms recorded (80.0 %); for 9.0 ms (12.0 %) it waits for the host.");
}

TEST(Breakdown, AnIdleSectionThatContradictsTheDeviceIsNotUsed) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const IdlePartsMs idle{.host_ms = 80, .launch_ms = 5};
  const std::vector<ReportPart> parts = PartsOf(analysis, idle);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kIdle), 40);
  EXPECT_DOUBLE_EQ(SumMs(parts), 100);
}

TEST(Breakdown, WithoutADeviceTheBusiestThreadCountsInnermostFirst) {
  RunBuilder run;
  const ThreadId thread = run.Thread("main"), idle = run.Thread("other");
  run.Python(thread, "forward", 0, 80);
  run.Op(thread, "aten::add", 10, 30);
  run.Op(idle, "aten::neg", 90, 10);
  Analysis analysis = run.Finish();
  const std::vector<ReportPart> parts = PartsOf(analysis);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kOp), 30e-6);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kPython), 50e-6);
  EXPECT_DOUBLE_EQ(PartMs(parts, ReportPartKind::kNothing), 20e-6);
}

TEST(Verdict, NamesTheDiagnosisAndTheLargestWait) {
  Report two = FullReport();
  EXPECT_EQ(
      VerdictText(two),
      "Held back by the host: the GPU works 21.6 ms of 183.2 ms (11.8 %); for 121.0 ms (66.0 %) it waits "
      "for the host.");
  two.devices.push_back(two.devices[0]);
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
  const std::string verdict = BuildReport(analysis, "run-1", {})->verdict;
  EXPECT_EQ(verdict.rfind("CPU only: no device work", 0), 0u) << verdict;
}

TEST(Timeline, EverySpanIsThereWhenFew) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const ReportTimeline line = TimelineOf(**analysis.Need<TimelineFacts>(), analysis.data());
  EXPECT_EQ(line.events_total, 3);
  EXPECT_EQ(line.merged_below_us, std::nullopt);
  ASSERT_EQ(line.lanes.size(), 3u);
  EXPECT_EQ(line.lanes[1].kind, LaneKind::kDevice);
  EXPECT_EQ(line.lanes[1].start_us, std::vector<double>{20'000});
  EXPECT_EQ(line.lanes[1].count, std::nullopt);
  EXPECT_EQ(line.lanes[2].name, "main");
}

TEST(Timeline, OverlappingWorkOfOneStreamTakesTwoRows) {
  RunBuilder run;
  run.Kernel("a", 7, 0, 100);
  run.Kernel("b", 7, 50, 100);
  run.Kernel("c", 7, 120, 100);
  Analysis analysis = run.Finish();
  const ReportTimeline line = TimelineOf(**analysis.Need<TimelineFacts>(), analysis.data());
  EXPECT_EQ(line.lanes[0].depth, (std::vector<int64_t>{0, 1, 0}));
}

TEST(Timeline, MergingKeepsTheCountTheLongestNameAndWhatIsLong) {
  RunBuilder run;
  const ThreadId thread = run.Thread("main");
  for (int i = 0; i < 1000; ++i)
    run.Op(thread, i % 10 == 3 ? "longer" : "short", i * 100, i % 10 == 3 ? 90 : 10);
  run.Op(thread, "long", 200'000, 800'000);
  Analysis analysis = run.Finish();
  const ReportTimeline line = TimelineOf(**analysis.Need<TimelineFacts>(), analysis.data(), {500, 1000});
  EXPECT_EQ(line.events_total, 1001);
  EXPECT_LE(line.events_drawn, 500);
  const ReportLane& lane = line.lanes[0];
  EXPECT_EQ(std::accumulate(lane.count->begin(), lane.count->end(), int64_t{0}), 1001);
  EXPECT_EQ(lane.count->back(), 1) << "the long span stands alone";
  EXPECT_EQ(lane.dur_us.back(), 800);
  EXPECT_EQ(line.names[static_cast<size_t>(lane.name_id[0])], "longer");
}

TEST(ReportModel, HasWhatEveryRunHasAndNoSectionOfPassesThatSayNothing) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const Json report = ToDocument(*BuildReport(analysis, "run-1", {}));
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
  const Report report = *BuildReport(analysis, "run-1", {});
  const PathStrip& strip = report.critical_path->strip.value();
  double sum_ms = 0;
  for (const PathStripClass& c : strip.classes) {
    for (const double share : c.share) sum_ms += share * strip.bin_ms;
  }
  EXPECT_NEAR(sum_ms, 100, 1);
}

TEST(ReportModel, TheStripOfALongestPossibleRunHasSharesOfOne) {
  RunBuilder run;
  const ThreadId thread = run.Thread("main");
  run.Op(thread, "aten::mm", -kMostTime_ns, kMostTime_ns);
  run.Op(thread, "aten::add", 10, kMostTime_ns - 10);
  Analysis analysis = run.Finish();
  const Report report = *BuildReport(analysis, "run-1", {});
  const PathStrip& strip = report.critical_path->strip.value();
  double sum = 0;
  for (const PathStripClass& c : strip.classes) {
    for (const double share : c.share) {
      EXPECT_GE(share, 0);
      EXPECT_LE(share, 1);
      sum += share;
    }
  }
  EXPECT_NEAR(sum, 300, 2);
}

TEST(ReportModel, TheFlameGraphHoldsAllDeviceTime) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const Report report = *BuildReport(analysis, "run-1", {});
  const std::vector<ReportFlameNode>& nodes = report.flame.value().nodes;
  double device_ms = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    device_ms += nodes[i].device_self_ms;
    EXPECT_LT(nodes[i].parent.value_or(-1), static_cast<int64_t>(i));
  }
  EXPECT_NEAR(device_ms, 80, 1e-9);
}

TEST(ReportModel, EverySectionOfAPassIsInTheModelAndInItsDescription) {
  RunBuilder run;
  Analysis analysis = TwoKinds(run);
  const Json report = ToDocument(*BuildReport(analysis, "run-1", {}));
  const Json schema = JsonSchema(RecordOf<Report>());
  for (const auto& describe : AllPasses()) {
    const PassInfo pass = describe().Info();
    EXPECT_EQ(schema["properties"].contains(pass.name), pass.section != nullptr || pass.name == "timeline");
    const bool optional = pass.name == "ranks" || pass.name == "samples";
    EXPECT_EQ(report.contains(pass.name), schema["properties"].contains(pass.name) && !optional) << pass.name;
  }
  EXPECT_EQ(report["attribution"]["all"]["kernels"], 2);
}

TEST(ReportModel, AnEmptyRunIsReportedInEveryForm) {
  RunBuilder run;
  Analysis analysis = run.Finish();
  const Report report = *BuildReport(analysis, "run-1", {});
  EXPECT_NE(report.verdict.find("no timed events"), std::string::npos);
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
  const Report report = FullReport();
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
  const std::string text = ReportMarkdown(FullReport());
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
  const std::string text = ScriptSafeJson(DumpJson(hostile));
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80"), std::string::npos);
  EXPECT_EQ(*ParseJson(text), hostile) << "and means the same";
}

TEST(Html, IsThePageWithTheModelInside) {
  const Result<std::string> page = ReportHtml(Report());
  if (!HtmlMissingReason().empty()) {
    ASSERT_FALSE(page.ok());
    EXPECT_EQ(page.error().code, ErrorCode::kUnsupported);
    return;
  }
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page->find("id=\"report-data\">" + ScriptSafeJson(ToJsonText(Report())) + "</script>"),
            std::string::npos);
  EXPECT_LT(page->size(), 2'000'000u);
}

TEST(GainShareText, SmallSharesKeepADigit) {
  EXPECT_EQ(GainShareText(0.124), "12 %");
  EXPECT_EQ(GainShareText(0.003), "0.3 %");
  EXPECT_EQ(GainShareText(0.0002), "below 0.1 %");
}

}  // namespace
}  // namespace nl
