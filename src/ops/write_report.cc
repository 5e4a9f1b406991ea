// SPDX-License-Identifier: Apache-2.0
#include "ops/write_report.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "analyze/program/flame.h"
#include "analyze/totals.h"
#include "base/counter.h"
#include "base/file_ops.h"
#include "base/human.h"
#include "base/record_json.h"
#include "base/terminal.h"
#include "report/report_forms.h"
#include "report/report_model.h"
#include "report/report_value.h"
#include "report/samples_text.h"
#include "report/startup_text.h"
#include "report/text_table.h"

namespace nl {

namespace {

constexpr size_t kFindingsShown = 5;
constexpr size_t kSampleRows = 5;
constexpr size_t kStartupRows = 6;

// What BuildReport reads in addition to the facts and sections of passes.
constexpr Reads kReportReads = kFlameReads | NL_READS(Thread, process_id, tid, name) |
                               NL_READS(Process, rank) | NL_READS(CpuSample, start_ns) |
                               NL_READS(ImportLog, reason, severity, count, advice);

Status WriteOne(const std::string& path, ReportForm form, std::string_view bytes,
                std::vector<WrittenReport>& written) {
  if (path.empty()) return {};
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) NL_TRY(MakeDirectories(folder));
  NL_TRY(WriteFileAtomically(path, bytes));
  written.push_back({path, form, static_cast<int64_t>(bytes.size())});
  return {};
}

std::string FindingText(const Finding& f, size_t number, const TextStyle& style) {
  std::string head = fmt::format("{}. {}", number, PrintableText(f.message.substr(0, 400)));
  if (const std::string cost = CostText(f); !cost.empty()) head += fmt::format(" ({})", cost);
  std::string out = Wrap(head, style.width, 3) + "\n";
  if (!f.suggestions.empty())
    out += "   " + Wrap("-> " + PrintableText(f.suggestions[0]), style.width - 3, 6) + "\n";
  return out;
}

Status AddNameLists(Snapshot& snapshot, const std::optional<Interval>& part, ReportLists& lists) {
  TotalsFilter filter;
  filter.part = part;
  filter.named = kMaxReportRows;
  NL_ASSIGN(const std::vector<NameStats> operators, OperatorTotals(snapshot, filter));
  lists.operators = RowsOf(operators, WholeOfOperators(operators), kMaxReportRows);
  lists.operators_total = static_cast<int64_t>(operators.size());
  NL_ASSIGN(const std::vector<NameStats> kernels, KernelTotals(snapshot, filter));
  lists.kernels = RowsOf(kernels, WholeOfKernels(kernels), kMaxReportRows);
  lists.kernels_total = static_cast<int64_t>(kernels.size());
  NL_ASSIGN(const std::vector<CopyStats> copies, CopyTotals(snapshot, part));
  lists.copies = RowsOf(copies);
  return {};
}

}  // namespace

Result<Report> MakeReport(OpenAnalysis& open) {
  NL_TRY(open.analysis->Load(kReportReads));
  Snapshot& snapshot = *open.run.snapshot;
  ReportLists lists;
  const std::optional<Interval>& part = open.analysis->options().part;
  NL_TRY(AddNameLists(snapshot, part, lists));
  NL_ASSIGN(lists.memory, MemoryOf(snapshot, part));
  return BuildReport(*open.analysis, open.run.run.run_id, std::move(lists), {open.phase, open.judged_whole});
}

Result<std::string> MarkdownReportOf(const OpContext& context, const std::string& run) {
  AnalysisParams params;
  params.run = run;
  NL_ASSIGN(OpenAnalysis open, Analyze(context, params));
  NL_ASSIGN(const Report report, MakeReport(open));
  return ReportMarkdown(report);
}

std::span<const std::string_view> NamesOf(ReportForm) {
  static constexpr std::string_view kNames[] = {"md", "html", "json"};
  return kNames;
}

void Describe(Record<WrittenReport>& r) {
  r.Name("WrittenReport", "A file of a report");
  r.Field("path", &WrittenReport::path, "Path");
  r.Field("form", &WrittenReport::form, "Format");
  r.Field("bytes", &WrittenReport::bytes, Unit::kBytes, "Size");
}

void Describe(Record<SkippedReport>& r) {
  r.Name("SkippedReport", "A file of a report that could not be written");
  r.Field("file", &SkippedReport::file, "Name of the file");
  r.Field("reason", &SkippedReport::reason, "Why not");
}

void Describe(Record<ReportReply>& r) {
  r.Name("ReportReply", "Reply of `neurolens report` and `neurolens analyze`");
  r.Field("run_id", &ReportReply::run_id, "The run");
  r.Field("phase", &ReportReply::phase, "Part of the run that the report is of; null: of all");
  r.Field("wall_ms", &ReportReply::wall_ms, Unit::kMs, "Time from the first to the last event");
  r.Field("verdict", &ReportReply::verdict, "The main result in one paragraph");
  r.Field("diagnosis", &ReportReply::diagnosis, "Main limit of the run");
  r.Field("breakdown", &ReportReply::breakdown, "Where the time went");
  r.Field("counters", &ReportReply::counters, "Defects of the source");
  r.Field("findings", &ReportReply::findings, "Findings, most important first");
  r.Field("samples", &ReportReply::samples,
          "What the CPU samples of a run without device work show; null for other runs");
  r.Field("startup", &ReportReply::startup,
          "Where start-up time went, when it is more than a quarter of the run; null otherwise");
  r.Field("files", &ReportReply::files, "Files that were written");
  r.Field("skipped", &ReportReply::skipped, "Files that could not be written");
}

Result<std::vector<WrittenReport>> WriteReport(const Report& report, const ReportFiles& files) {
  std::vector<WrittenReport> written;
  std::string html;
  if (!files.html.empty()) {
    NL_ASSIGN(html, ReportHtml(report));  // before the others are written: it can fail
  }
  using enum ReportForm;
  if (!files.md.empty()) NL_TRY(WriteOne(files.md, kMd, ReportMarkdown(report), written));
  NL_TRY(WriteOne(files.html, kHtml, html, written));
  if (!files.json.empty()) NL_TRY(WriteOne(files.json, kJson, ToJsonText(report) + "\n", written));
  if (!files.operators_md.empty())
    NL_TRY(WriteOne(files.operators_md, kMd, OperatorsMarkdown(report), written));
  if (!files.kernels_md.empty()) NL_TRY(WriteOne(files.kernels_md, kMd, KernelsMarkdown(report), written));
  if (!files.stakeholder_md.empty())
    NL_TRY(WriteOne(files.stakeholder_md, kMd, StakeholderMarkdown(report), written));
  return written;
}

ReportReply ReportReplyOf(const Report& report) {
  ReportReply out;
  out.run_id = report.generated_from;
  out.phase = report.phase;
  out.wall_ms = report.wall_ms;
  out.verdict = report.verdict;
  out.diagnosis = report.diagnosis;
  out.breakdown = report.breakdown;
  out.counters = report.run.counters;
  out.findings = report.findings.findings;
  if (report.devices.empty()) out.samples = report.samples;
  if (report.startup && ShowsStartup(*report.startup)) out.startup = report.startup;
  return out;
}

std::string ReportReplyText(const ReportReply& reply, const TextStyle& style) {
  std::string out = Wrap(reply.verdict, style.width, 0) + "\n\n";
  TextTable parts({{"WHERE THE TIME WENT", Align::kLeft, true, 20},
                   {"TIME", Align::kRight, false, 0},
                   {"SHARE", Align::kRight, false, 0}});
  for (const ReportPart& part : reply.breakdown)
    parts.AddRow({part.label, HumanMs(part.ms), fmt::format("{:.1f} %", 100 * part.share)});
  if (parts.rows() > 0) out += parts.Render(style.width, style.color) + "\n";
  if (reply.samples) {
    std::string tables =
        SamplesTables(*reply.samples, reply.wall_ms, {false, kSampleRows, style.width, style.color});
    if (!tables.empty()) out += tables.substr(1) + "\n";
  }
  if (reply.startup) {
    const std::string table =
        StartupTable(reply.startup->parts, "START-UP", {false, 0, kStartupRows, style.width, style.color});
    out += Wrap(StartupSentence(*reply.startup) + " `neurolens phases` lists more.", style.width, 0) +
           "\n\n" + table + "\n";
  }
  const std::vector<Finding>& findings = reply.findings;
  for (size_t i = 0; i < std::min(findings.size(), kFindingsShown); ++i)
    out += FindingText(findings[i], i + 1, style);
  if (findings.size() > kFindingsShown)
    out += findings.size() == kFindingsShown + 1
               ? "1 more finding is in the report\n"
               : fmt::format("{} more findings are in the report\n", findings.size() - kFindingsShown);
  if (!findings.empty()) out += "\n";
  for (const RunCounter& c : reply.counters.reasons) {
    if (c.severity == SeverityName(Severity::kInfo)) continue;
    const std::string text =
        fmt::format("{}: {} x {}. {}", c.severity, HumanCount(c.count), c.name, c.advice.value_or(""));
    out += Wrap(text, style.width, 2) + "\n";
  }
  for (const WrittenReport& f : reply.files)
    out += fmt::format("wrote {} ({})\n", PrintableText(f.path), HumanBytes(f.bytes));
  for (const SkippedReport& s : reply.skipped) out += fmt::format("skipped {}: {}\n", s.file, s.reason);
  return out;
}

}  // namespace nl
