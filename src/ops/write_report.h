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

#include "analyze/run_counters.h"
#include "ops/open_analysis.h"

namespace nl {

// Rows of operators and of kernels in a report; the commands of these names list all.
inline constexpr size_t kMaxReportRows = 1000;

// The report model (report/report_model.h) of an opened run.
Result<Json> MakeReport(OpenAnalysis& open);

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

struct ReportReplyPart {
  std::string what, label;
  double ms = 0, share = 0;
  bool idle = false;
};
void Describe(Record<ReportReplyPart>& r);

// Reply of `report` and `analyze`: the main facts of the report model, and the files written.
struct ReportReply {
  std::string run_id;
  double wall_ms = 0;
  std::string verdict;
  Json diagnosis;
  std::vector<ReportReplyPart> breakdown;
  RunCounters counters;
  std::vector<Json> findings;
  std::vector<WrittenReport> files;
  std::vector<SkippedReport> skipped;
};
void Describe(Record<ReportReply>& r);

// From the report model, without files.
ReportReply ReportReplyOf(const Json& report);
// Writes each file as a whole and creates its folder.
Result<std::vector<WrittenReport>> WriteReport(const Json& report, const ReportFiles& files);
std::string ReportReplyText(const ReportReply& reply, const TextStyle& style);

}  // namespace nl
