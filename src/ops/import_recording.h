// SPDX-License-Identifier: Apache-2.0
#pragma once
// Imports what an operation recorded or was given, through the operation `import` itself, so that the runs
// are the same as with `neurolens import`. Thread rule: one request, one thread.

#include <string>
#include <vector>

#include "ops/import/reply.h"
#include "ops/op.h"

namespace nl {

struct ImportArguments {
  std::vector<std::string> paths;
  std::vector<std::string> tags;  // NAME=value
  bool only = false;              // without the files beside it
  Json more = Json::object();     // other arguments of `import`
};

struct ImportOutcome {
  ImportReply reply;
  std::vector<Error> problems;  // files that are not runs, beside some that are
};
Result<ImportOutcome> ImportPaths(OpContext& context, const ImportArguments& request);

// The first run of a recording; an error when `what` ("the capture") contains none.
Result<ImportedRun> ImportRecording(OpContext& context, const ImportArguments& request, const char* what);

// An error of any file is one.
Result<std::vector<ImportedRun>> ImportAll(OpContext& context, const ImportArguments& request);

}  // namespace nl
