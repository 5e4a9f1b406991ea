// SPDX-License-Identifier: Apache-2.0
#include "ops/open_run_or_file.h"

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ops/import_recording.h"

namespace nl {

namespace {

Result<std::string> ImportedRunId(OpContext& context, const std::string& path) {
  ImportArguments request;
  request.paths = {path};
  NL_ASSIGN(const ImportOutcome imported, ImportPaths(context, request));
  const std::vector<ImportedRun>& runs = imported.reply.runs;
  if (runs.size() != 1) {
    return InvalidInput(fmt::format("the folder contains {} runs; one is needed", runs.size()))
        .At(path)
        .Hint("they are imported now: choose one with `neurolens ls`");
  }
  return runs[0].run_id;
}

Result<std::string> RunId(OpContext& context, const std::string& ref) {
  NL_ASSIGN(const FoundRun found, FindRun(context, ref));
  return found.run.run_id;
}

}  // namespace

Result<std::string> RunOrFileId(OpContext& context, const std::string& target) {
  if (context.remote) return RunId(context, target);
  if (target == "-" || PathExists(target)) return ImportedRunId(context, target);
  // The name of a run never contains a slash.
  if (target.find('/') != std::string::npos) return NotFound("there is no such file").At(target);
  Result<std::string> found = RunId(context, target);
  if (!found && found.error().code == ErrorCode::kNotFound) {
    std::string& message = found.error().message;
    message = fmt::format("there is no file '{}', and {}", target, message);
  }
  return found;
}

Result<OpenAnalysis> OpenRunOrFile(OpContext& context, AnalysisParams params) {
  NL_ASSIGN(params.run, RunOrFileId(context, params.run));
  return Analyze(context, params);
}

}  // namespace nl
