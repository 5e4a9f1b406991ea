// SPDX-License-Identifier: Apache-2.0
#include "ops/record_run.h"

#include "ops/import/reply.h"
#include "ops/open_snapshot.h"
#include "report/report_value.h"

namespace nl {

namespace {

// Through the operation itself, so that the run is the same as with `import`.
Status ImportCapture(OpContext& context, const std::string& directory, const std::vector<std::string>& tags,
                     ListedRecording& listed, RecordedRun& out) {
  const std::unique_ptr<Op> import = MakeOp("import");
  Json args{{"paths", Json::array({directory})}};
  if (!tags.empty()) args["tag"] = tags;
  const Result<Reply> imported = RunOp(*import, args, context);
  listed.Imported();
  if (!imported.ok()) return imported.error();
  const std::vector<ImportedRun>& runs = imported->As<ImportReply>().runs;
  if (runs.empty()) return InvalidInput("the capture contains no run");
  out.run_id = runs[0].run_id;
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
