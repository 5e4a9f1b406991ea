// SPDX-License-Identifier: Apache-2.0
#pragma once
// A command as a user writes it in one string, split into words as a POSIX shell does. What only a shell can
// do (pipes, variables, globs, several commands) runs in /bin/sh, whose start is then part of the time.
// Thread rule: pure functions.

#include <string>
#include <vector>

#include "base/result.h"

namespace nl::bench {

struct Command {
  std::string text;                // as written
  std::vector<std::string> words;  // to run
  bool shell = false;              // words are sh -c TEXT
  std::string directory;           // to run in; empty: the current one
};

// InvalidInput for an empty command and an open quote.
Result<Command> ParseCommand(const std::string& text);
// Words as one string that ParseCommand splits into the same words.
std::string QuoteCommand(const std::vector<std::string>& words);
// A command as others may read it, in a store or a file: the values of secrets are replaced (base/secrets.h).
std::string CommandWithoutSecrets(const std::string& command);

}  // namespace nl::bench
