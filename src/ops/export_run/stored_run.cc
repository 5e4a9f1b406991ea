// SPDX-License-Identifier: Apache-2.0
#include "ops/export_run/stored_run.h"

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ledger/attachments.h"
#include "ledger/bundle.h"
#include "ledger/run_files.h"

namespace nl::ops::export_run {

Status StoredRun::Load(ColumnSet& to, std::initializer_list<const char*> columns) {
  if (!open_.snapshot) {
    NL_ASSIGN(open_, OpenSnapshot(context_, run_.run_id));
  }
  return open_.snapshot->Load(to, columns);
}

Result<std::string> StoredRun::Document() {
  return ReadRunFile(store_.RunPath(run_.run_id), kRunDocumentFile);
}

// The tables of attachments get names beside the run's own, so that kernel_metric*.parquet matches all of
// them.
Result<std::vector<RunReader::File>> StoredRun::TableFiles() {
  const std::string folder = store_.RunPath(run_.run_id);
  NL_ASSIGN(const RunFilesReport report, VerifyRunFolder(folder));
  if (!report.defects.empty()) return DamagedRun(run_.run_id, report.defects[0]);
  std::vector<File> out;
  for (const std::string& table : TablesIn(folder))
    out.push_back({fmt::format("{}/{}.parquet", folder, table), table + ".parquet"});
  int number = 0;
  for (const std::string& attached : AttachmentFolders(folder)) {
    ++number;
    for (const std::string& table : TablesIn(attached))
      out.push_back({fmt::format("{}/{}.parquet", attached, table),
                     fmt::format("{}.attached_{}.parquet", table, number)});
  }
  return out;
}

Result<Analysis*> StoredRun::Analyzed() {
  if (!analyzed_.analysis) {
    AnalysisParams params;
    params.run = run_.run_id;
    NL_ASSIGN(analyzed_, Analyze(context_, params));
  }
  return analyzed_.analysis.get();
}

Status StoredRun::WriteArchive(const RenderOptions& options, const ByteSink& sink) {
  NL_ASSIGN(std::vector<RunNote> notes, store_.catalog().ListNotes(run_.run_id));
  return WriteBundle(store_, run_, sink, {options.cancelled, options.progress, std::move(notes)});
}

}  // namespace nl::ops::export_run
