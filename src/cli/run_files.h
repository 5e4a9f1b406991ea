// SPDX-License-Identifier: Apache-2.0
#pragma once
// At the command line a profile can stand where an operation takes a run: it is imported first, through the
// operation `import`, so that the same bytes are always one run. Thread rule: one request, one thread.

#include <string>
#include <vector>

#include "ops/command.h"

namespace nl {

struct NamedProfile {
  std::string path;
  std::string run_id;
};
// Imports the profiles that `args` names and puts the ids of their runs in their places. What is a run
// already stays as it is, also where a file of that name exists.
Result<std::vector<NamedProfile>> ImportNamedProfiles(const CommandInfo& command, Json& args,
                                                      OpContext& context);

}  // namespace nl
