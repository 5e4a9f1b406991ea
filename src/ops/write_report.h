// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `report` and `analyze` share: the report model of a run, its files, and the reply with
// its text form.
// Thread rule: one request, one thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/open_analysis.h"
#include "report/report_model.h"

namespace nl {

// Rows of operators and of kernels in a report; the commands of these names list all.
inline constexpr size_t kMaxReportRows = 1000;

// The report model (report/report_model.h) of an opened run.
Result<Report> MakeReport(OpenAnalysis& open);

// The Markdown report of a run as text.
Result<std::string> MarkdownReportOf(const OpContext& context, const std::string& run);

// Paths of the files to write; an empty path: not this file.
struct ReportFiles {
  std::string md, html, json, operators_md, kernels_md, stakeholder_md;
};

enum class ReportForm : uint8_t { kMd, kHtml, kJson };
std::span<const std::string_view> NamesOf(ReportForm form);

struct WrittenReport {
  std::string path;
  ReportForm form = ReportForm::kMd;
  int64_t bytes = 0;
};
void Describe(Record<WrittenReport>& r);

struct SkippedReport {
  std::string file, reason;
};
void Describe(Record<SkippedReport>& r);

// Reply of `report` and `analyze`: the main facts of the report model, and the files written.
struct ReportReply {
  std::string run_id;
  std::optional<PhaseTime> phase;
  double wall_ms = 0;
  std::string verdict;
  Diagnosis diagnosis;
  std::vector<ReportPart> breakdown;
  RunCounters counters;
  std::vector<Finding> findings;
  std::optional<SamplesFacts> samples;
  std::optional<StartupSection> startup;
  std::vector<WrittenReport> files;
  std::vector<SkippedReport> skipped;
};
void Describe(Record<ReportReply>& r);

// From the report model, without files.
ReportReply ReportReplyOf(const Report& report);
// Writes each file as a whole and creates its folder.
Result<std::vector<WrittenReport>> WriteReport(const Report& report, const ReportFiles& files);
std::string ReportReplyText(const ReportReply& reply, const TextStyle& style);

}  // namespace nl
