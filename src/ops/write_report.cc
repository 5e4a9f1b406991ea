// SPDX-License-Identifier: Apache-2.0
#include "ops/write_report.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/terminal.h"
#include "report/report_forms.h"
#include "report/report_model.h"
#include "report/report_value.h"
#include "report/text_table.h"

namespace nl {

namespace {

constexpr size_t kFindingsShown = 5;

Json Rows(const std::vector<NameStats>& stats, TotalsKind kind) {
  const TotalsWhole whole = WholeOf(stats, kind);
  Json out = Json::array();
  for (size_t i = 0; i < std::min(stats.size(), kMaxReportRows); ++i)
    out.push_back(NameStatsJson(stats[i], whole, kind));
  return out;
}

Status WriteOne(const std::string& path, const char* form, std::string_view bytes, Json& written) {
  if (path.empty()) return {};
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) NL_TRY(MakeDirectories(folder));
  NL_TRY(WriteFileAtomically(path, bytes));
  written.push_back({{"path", path}, {"form", form}, {"bytes", bytes.size()}});
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
  Snapshot& snapshot = *open.run.snapshot;
  ReportLists lists;
  NL_ASSIGN(const std::vector<NameStats> operators, OperatorTotals(snapshot, {}));
  NL_ASSIGN(const std::vector<NameStats> kernels, KernelTotals(snapshot, {}));
  NL_ASSIGN(const std::vector<CopyStats> copies, CopyTotals(snapshot));
  lists.operators = Rows(operators, TotalsKind::kOperators);
  lists.operators_total = operators.size();
  lists.kernels = Rows(kernels, TotalsKind::kKernels);
  lists.kernels_total = kernels.size();
  for (const CopyStats& c : copies) {
    lists.copies.push_back({{"kind", c.kind},
                            {"from", c.src_memory},
                            {"to", c.dst_memory},
                            {"calls", c.calls},
                            {"total_ms", static_cast<double>(c.total_ns) / 1e6},
                            {"bytes", c.bytes}});
  }
  NL_ASSIGN(lists.memory, MemoryJson(snapshot));
  return BuildReport(*open.analysis, open.run.run.run_id, std::move(lists));
}

Result<Json> WriteReport(const Json& report, const ReportFiles& files) {
  Json written = Json::array();
  std::string html;
  if (!files.html.empty()) {
    NL_ASSIGN(html, ReportHtml(report));  // first: it may be impossible
  }
  if (!files.md.empty()) NL_TRY(WriteOne(files.md, "md", ReportMarkdown(report), written));
  NL_TRY(WriteOne(files.html, "html", html, written));
  if (!files.json.empty()) NL_TRY(WriteOne(files.json, "json", DumpJson(report) + "\n", written));
  if (!files.operators_md.empty())
    NL_TRY(WriteOne(files.operators_md, "md", OperatorsMarkdown(report), written));
  if (!files.kernels_md.empty()) NL_TRY(WriteOne(files.kernels_md, "md", KernelsMarkdown(report), written));
  if (!files.stakeholder_md.empty())
    NL_TRY(WriteOne(files.stakeholder_md, "md", StakeholderMarkdown(report), written));
  return written;
}

Json ReportReply(const Json& report) {
  Json out{
      {"run_id", report["generated_from"]}, {"wall_ms", report["wall_ms"]}, {"verdict", report["verdict"]}};
  out["diagnosis"] = ChildAt(report, "diagnosis");
  out["breakdown"] = report["breakdown"];
  out["counters"] = report["run"]["counters"];
  out["findings"] = ListAt(ChildAt(report, "findings"), "findings");
  return out;
}

Json ReportReplySchema() {
  return SchemaFromText(R"({"type": "object",
    "required": ["run_id", "wall_ms", "verdict", "diagnosis", "breakdown", "counters", "findings", "files"], "properties": {
      "run_id": {"type": "string"}, "wall_ms": {"type": "number"}, "verdict": {"type": "string"},
      "diagnosis": {"type": ["object", "null"]},
      "breakdown": {"type": "array", "items": {"type": "object", "required": ["what", "label", "ms", "share", "idle"], "properties": {
        "what": {"type": "string"}, "label": {"type": "string"}, "ms": {"type": "number"}, "share": {"type": "number"}, "idle": {"type": "boolean"}}}},
      "counters": {"type": "object", "required": ["lost", "reasons"]}, "findings": {"type": "array", "items": {"type": "object"}},
      "files": {"type": "array", "items": {"type": "object", "required": ["path", "form", "bytes"], "properties": {
        "path": {"type": "string"}, "form": {"enum": ["md", "html", "json"]}, "bytes": {"type": "integer"}}}},
      "skipped": {"type": "array", "items": {"type": "object", "required": ["file", "reason"]}}}})");
}

std::string ReportReplyText(const Json& reply, const TextStyle& style) {
  std::string out = Wrap(TextAt(reply, "verdict"), style.width, 0) + "\n\n";
  TextTable parts({{"WHERE THE TIME WENT", Align::kLeft, true, 20},
                   {"TIME", Align::kRight, false, 0},
                   {"SHARE", Align::kRight, false, 0}});
  for (const Json& part : ListAt(reply, "breakdown"))
    parts.AddRow({TextAt(part, "label"), MsAt(part, "ms"), PercentAt(part, "share")});
  if (parts.rows() > 0) out += parts.Render(style.width, style.color) + "\n";
  const Json& findings = ListAt(reply, "findings");
  for (size_t i = 0; i < std::min(findings.size(), kFindingsShown); ++i)
    out += FindingText(findings[i], i + 1, style);
  if (findings.size() > kFindingsShown)
    out += fmt::format("and {} more in the report\n", findings.size() - kFindingsShown);
  if (!findings.empty()) out += "\n";
  for (const Json& c : ListAt(ChildAt(reply, "counters"), "reasons")) {
    if (TextAt(c, "severity") == "info") continue;
    out += Wrap(fmt::format("{}: {} x {}. {}", TextAt(c, "severity"), CountAt(c, "count"), TextAt(c, "name"),
                            TextAt(c, "advice")),
                style.width, 2) +
           "\n";
  }
  for (const Json& f : ListAt(reply, "files")) {
    out += fmt::format("wrote {} ({})\n", PrintableText(TextAt(f, "path")),
                       HumanBytes(static_cast<int64_t>(NumberAt(f, "bytes").value_or(0))));
  }
  for (const Json& s : ListAt(reply, "skipped"))
    out += fmt::format("left out {}: {}\n", TextAt(s, "file"), TextAt(s, "reason"));
  return out;
}

}  // namespace nl
