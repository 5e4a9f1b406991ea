// SPDX-License-Identifier: Apache-2.0
#include "ops/import_recording.h"

#include <fmt/format.h>

namespace nl {

Result<ImportOutcome> ImportPaths(OpContext& context, const ImportArguments& request) {
  const std::unique_ptr<Op> import = MakeOp("import");
  Json arguments = request.more;
  arguments["paths"] = request.paths;
  if (!request.tags.empty()) arguments["tag"] = request.tags;
  if (request.only) arguments["only"] = true;
  NL_ASSIGN(Reply reply, RunOp(*import, arguments, context));
  return ImportOutcome{reply.As<ImportReply>(), std::move(reply.problems)};
}

Result<ImportedRun> ImportRecording(OpContext& context, const ImportArguments& request, const char* what) {
  NL_ASSIGN(ImportOutcome imported, ImportPaths(context, request));
  if (imported.reply.runs.empty()) return InvalidInput(fmt::format("{} contains no run", what));
  return std::move(imported.reply.runs[0]);
}

Result<std::vector<ImportedRun>> ImportAll(OpContext& context, const ImportArguments& request) {
  NL_ASSIGN(ImportOutcome imported, ImportPaths(context, request));
  if (!imported.problems.empty()) return std::move(imported.problems[0]);
  return std::move(imported.reply.runs);
}

}  // namespace nl
