// SPDX-License-Identifier: Apache-2.0
#include "ops/record_run.h"

#include "ops/import_recording.h"
#include "ops/open_snapshot.h"
#include "report/report_value.h"

namespace nl {

namespace {

Status ImportCapture(OpContext& context, const std::string& directory, const std::vector<std::string>& tags,
                     ListedRecording& listed, RecordedRun& out) {
  ImportArguments request;
  request.paths = {directory};
  request.tags = tags;
  Result<ImportedRun> imported = ImportRecording(context, request, "the capture");
  listed.Imported();
  if (!imported.ok()) return std::move(imported).error();
  out.run_id = imported->run_id;
  NL_ASSIGN(const OpenRun run, OpenSnapshot(context, *out.run_id));
  NL_ASSIGN(const Json document, ReadDocument(run));
  out.capture.duty_cycle = NumberAt(ChildAt(document, "capture"), "duty_cycle");
  return {};
}

}  // namespace

Result<RecordedRun> RecordAndImport(OpContext& context, capture::LaunchOptions options,
                                    const std::vector<std::string>& tags, ServedRecording* served) {
  if (served != nullptr) served->Watch(options);
  ListedRecording listed(context, served == nullptr);
  NL_ASSIGN(const capture::LaunchResult result, RecordProgram(options, listed));
  RecordedRun out;
  out.capture = RecordReplyOf(result);
  if (served != nullptr) out.capture.served = served->Finish(result.directory, tags);
  if (served != nullptr && out.capture.served->run_id) return out;
  out.imported = ImportCapture(context, result.directory, tags, listed, out);
  return out;
}

}  // namespace nl
