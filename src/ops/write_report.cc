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
#include "report/text_table.h"

namespace nl {

namespace {

constexpr size_t kFindingsShown = 5;

// What BuildReport reads in addition to the facts and sections of passes.
constexpr Reads kReportReads = kFlameReads | NL_READS(Thread, process_id, tid, name) |
                               NL_READS(Process, rank) | NL_READS(CpuSample, start_ns) |
                               NL_READS(ImportLog, reason, severity, count, advice);

template <class Row>
Json Documents(const std::vector<Row>& rows) {
  Json out = Json::array();
  for (const Row& row : rows) out.push_back(ToDocument(row));
  return out;
}

Status WriteOne(const std::string& path, ReportForm form, std::string_view bytes,
                std::vector<WrittenReport>& written) {
  if (path.empty()) return {};
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) NL_TRY(MakeDirectories(folder));
  NL_TRY(WriteFileAtomically(path, bytes));
  written.push_back({path, form, static_cast<int64_t>(bytes.size())});
  return {};
}

std::string FindingText(const Json& f, size_t number, const TextStyle& style) {
  std::string head = fmt::format("{}. {}", number, PrintableText(TextAt(f, "message").substr(0, 400)));
  if (const std::string cost = CostText(f); !cost.empty()) head += fmt::format(" ({})", cost);
  std::string out = Wrap(head, style.width, 3) + "\n";
  const Json& suggestions = ListAt(f, "suggestions");
  if (!suggestions.empty() && suggestions[0].is_string())
    out += "   " + Wrap("-> " + PrintableText(suggestions[0].get<std::string>()), style.width - 3, 6) + "\n";
  return out;
}

}  // namespace

Result<Json> MakeReport(OpenAnalysis& open) {
  NL_TRY(open.analysis->Load(kReportReads));
  Snapshot& snapshot = *open.run.snapshot;
  ReportLists lists;
  NL_ASSIGN(const std::vector<NameStats> operators, OperatorTotals(snapshot, {}));
  NL_ASSIGN(const std::vector<NameStats> kernels, KernelTotals(snapshot, {}));
  NL_ASSIGN(const std::vector<CopyStats> copies, CopyTotals(snapshot));
  lists.operators = Documents(RowsOf(operators, WholeOfOperators(operators), kMaxReportRows));
  lists.operators_total = operators.size();
  lists.kernels = Documents(RowsOf(kernels, WholeOfKernels(kernels), kMaxReportRows));
  lists.kernels_total = kernels.size();
  lists.copies = Documents(RowsOf(copies));
  NL_ASSIGN(lists.memory, MemoryJson(snapshot));
  return BuildReport(*open.analysis, open.run.run.run_id, std::move(lists));
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

void Describe(Record<ReportReplyPart>& r) {
  r.Name("ReportReplyPart", "A part of the time of all devices, or of the busiest thread without devices");
  r.Field("what", &ReportReplyPart::what, "Name of the part");
  r.Field("label", &ReportReplyPart::label, "Name for people");
  r.Field("ms", &ReportReplyPart::ms, Unit::kMs, "Time");
  r.Field("share", &ReportReplyPart::share, Unit::kShare, "Part of the whole time");
  r.Field("idle", &ReportReplyPart::idle, "The device did nothing in this time");
}

void Describe(Record<ReportReply>& r) {
  r.Name("ReportReply", "Reply of `neurolens report` and `neurolens analyze`");
  r.Field("run_id", &ReportReply::run_id, "The run");
  r.Field("wall_ms", &ReportReply::wall_ms, Unit::kMs, "Time from the first to the last event");
  r.Field("verdict", &ReportReply::verdict, "The main result in one paragraph");
  r.Field("diagnosis", &ReportReply::diagnosis, "Main limit of the run (docs/report.md); null: not known");
  r.Field("breakdown", &ReportReply::breakdown, "Where the time went");
  r.Field("counters", &ReportReply::counters, "Defects of the source");
  r.Field("findings", &ReportReply::findings, "Findings, most important first (docs/report.md)");
  r.Field("files", &ReportReply::files, "Files that were written");
  r.Field("skipped", &ReportReply::skipped, "Files that could not be written");
}

Result<std::vector<WrittenReport>> WriteReport(const Json& report, const ReportFiles& files) {
  std::vector<WrittenReport> written;
  std::string html;
  if (!files.html.empty()) {
    NL_ASSIGN(html, ReportHtml(report));  // before the others are written: it can fail
  }
  using enum ReportForm;
  if (!files.md.empty()) NL_TRY(WriteOne(files.md, kMd, ReportMarkdown(report), written));
  NL_TRY(WriteOne(files.html, kHtml, html, written));
  if (!files.json.empty()) NL_TRY(WriteOne(files.json, kJson, DumpJson(report) + "\n", written));
  if (!files.operators_md.empty())
    NL_TRY(WriteOne(files.operators_md, kMd, OperatorsMarkdown(report), written));
  if (!files.kernels_md.empty()) NL_TRY(WriteOne(files.kernels_md, kMd, KernelsMarkdown(report), written));
  if (!files.stakeholder_md.empty())
    NL_TRY(WriteOne(files.stakeholder_md, kMd, StakeholderMarkdown(report), written));
  return written;
}

ReportReply ReportReplyOf(const Json& report) {
  ReportReply out;
  out.run_id = TextAt(report, "generated_from");
  out.wall_ms = NumberAt(report, "wall_ms").value_or(0);
  out.verdict = TextAt(report, "verdict");
  out.diagnosis = ChildAt(report, "diagnosis");
  for (const Json& part : ListAt(report, "breakdown")) {
    out.breakdown.push_back({TextAt(part, "what"), TextAt(part, "label"), NumberAt(part, "ms").value_or(0),
                             NumberAt(part, "share").value_or(0), ChildAt(part, "idle") == true});
  }
  const Json& counters = ChildAt(ChildAt(report, "run"), "counters");
  const auto integer = [](const Json& object, const char* key) {
    return static_cast<int64_t>(NumberAt(object, key).value_or(0));
  };
  out.counters.lost = integer(counters, "lost");
  for (const Json& reason : ListAt(counters, "reasons")) {
    RunCounter& counter = out.counters.reasons.emplace_back();
    counter.name = TextAt(reason, "name");
    counter.severity = TextAt(reason, "severity");
    counter.count = integer(reason, "count");
    if (ChildAt(reason, "advice").is_string()) counter.advice = TextAt(reason, "advice");
  }
  const Json& findings = ListAt(ChildAt(report, "findings"), "findings");
  out.findings.assign(findings.begin(), findings.end());
  return out;
}

std::string ReportReplyText(const ReportReply& reply, const TextStyle& style) {
  std::string out = Wrap(reply.verdict, style.width, 0) + "\n\n";
  TextTable parts({{"WHERE THE TIME WENT", Align::kLeft, true, 20},
                   {"TIME", Align::kRight, false, 0},
                   {"SHARE", Align::kRight, false, 0}});
  for (const ReportReplyPart& part : reply.breakdown)
    parts.AddRow({part.label, HumanMs(part.ms), fmt::format("{:.1f} %", 100 * part.share)});
  if (parts.rows() > 0) out += parts.Render(style.width, style.color) + "\n";
  const std::vector<Json>& findings = reply.findings;
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
