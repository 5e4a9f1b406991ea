// SPDX-License-Identifier: Apache-2.0
#pragma once
// "A run or a file": the target of operations that accept both. A file is imported first,
// through the `import` operation itself, so that the same bytes are always one run.
// Thread rule: one request, one thread.

#include <string>

#include "ops/open_analysis.h"

namespace nl {

// The id of the run that `target` names: an existing file, a folder of ranks or "-" is imported;
// anything else is a run reference. A folder that contains several runs is InvalidInput (they are
// imported).
Result<std::string> RunOrFileId(OpContext& context, const std::string& target);

// The same with the run opened and its columns loaded; `params.run` is the target.
Result<OpenAnalysis> OpenRunOrFile(OpContext& context, AnalysisParams params);

}  // namespace nl
