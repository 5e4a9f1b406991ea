// SPDX-License-Identifier: Apache-2.0
#pragma once
// Completion scripts for three shells, generated from the operations' descriptions.
// Help texts become shell words here: everything is quoted for its shell.

#include <string>
#include <string_view>
#include <vector>

#include "ops/command.h"

namespace nl::ops::completion {

std::string BashScript(const std::vector<CommandInfo>& commands);
std::string ZshScript(const std::vector<CommandInfo>& commands);
std::string FishScript(const std::vector<CommandInfo>& commands);

// What completes a value: words to choose from, a run, a path, either, or nothing known.
enum class Source { kNone, kWords, kRun, kPath, kRunOrPath };
struct ValueSource {
  Source source = Source::kNone;
  std::vector<std::string> words;
};
ValueSource SourceOf(const OpInfo& op, const ParamInfo& param);
ValueSource SourceOf(const GlobalFlag& flag);

// 'text' as one single-quoted word of a POSIX shell (bash, zsh).
std::string Quoted(std::string_view text);

}  // namespace nl::ops::completion
