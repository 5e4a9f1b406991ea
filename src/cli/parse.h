// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line as typed words -> a request: which operation, its parameters as
// a JSON object, and the flags every command takes. Pure: reads no environment and
// no file. Types and names come from the operation's own description.
// (An own parser instead of CLI11: the flags are generated anyway, repeated
// positionals before a last one ("query RUN... SQL") are direct, and start-up stays
// under a millisecond.)

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "ops/command.h"

namespace nl {

struct GlobalOptions {
  bool help = false;
  bool json = false;
  bool quiet = false;
  bool version = false;
  std::vector<std::pair<std::string, std::string>> settings;  // key, value
};

// Takes the flags before the command from `words`, and the command's name with the
// rest left in `rest`. The name is empty when there is none.
struct CommandWords {
  std::string command;
  std::vector<std::string> rest;
};
Result<CommandWords> ParseLeading(const std::vector<std::string>& words, GlobalOptions& options);

// The parameters of `command` from the words after its name, global flags among
// them taken into `options`. After --help nothing is required. "--" ends the flags; for a
// command of two lists the first one stands between them, and flags may still follow.
Result<Json> ParseParams(const CommandInfo& command, const std::vector<std::string>& words,
                         GlobalOptions& options);

}  // namespace nl
