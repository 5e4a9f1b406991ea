// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/program_call.h"

#include <algorithm>
#include <chrono>
#include <mutex>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/run_program.h"
#include "base/terminal.h"
#include "ops/settings.h"

namespace nl::mcp {

namespace {

constexpr size_t kMaxOutputBytes = 1000;  // of what the programs printed
constexpr std::chrono::milliseconds kLookForCancel{100};

// The same settings as this process has; what came from elsewhere than a flag is found again.
std::vector<std::string> CommandLine(const Settings& settings, const Json& call) {
  std::vector<std::string> out{OwnProgram()};
  for (const Settings::Entry& entry : settings.entries()) {
    if (entry.source != "flag") continue;
    std::string flag = "--" + entry.key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    out.insert(out.end(), {std::move(flag), entry.value});
  }
  out.insert(out.end(), {"call-tool", DumpJson(call)});
  return out;
}

// Whole lines, the last of a text.
std::string LastLines(std::string_view text, size_t bytes) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.size() > bytes) {
    text.remove_prefix(text.size() - bytes);
    const size_t end = text.find('\n');
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return PrintableText(text, Keep::kLines);
}

// As a text of its own, in place of the last lines of the first text where both do not fit.
void AddOutput(Json& result, const std::string& output, size_t most_bytes) {
  if (output.empty()) return;
  result["content"].push_back({{"type", "text"}, {"text", "Last output of the program:\n" + output}});
  for (size_t size = 0; (size = DumpJson(result).size()) > most_bytes;) {
    Json& first = result["content"][0]["text"];
    const auto text = first.get<std::string>();
    const size_t over = size - most_bytes + 4;  // the dots
    std::string shorter = FirstLines(text, text.size() - std::min(text.size(), over));
    if (shorter.size() >= text.size()) {
      result["content"].erase(result["content"].size() - 1);
      return;
    }
    first = std::move(shorter);
  }
}

size_t MostBytes(const Json& arguments) {
  const auto given = arguments.find("max_tokens");
  const bool is_number = given != arguments.end() && given->is_number_integer();
  return static_cast<size_t>(is_number ? given->get<int64_t>() : kDefaultMaxTokens) * kBytesPerToken;
}

}  // namespace

Json CallProgramTool(const Tool& tool, const Json& arguments, OpContext& context) {
  // The other process offers every parameter, this client's tool may not.
  if (const Result<Json> known = OperationArguments(tool, arguments); !known.ok())
    return ErrorResult(known.error());
  static std::timed_mutex one_at_a_time;
  std::unique_lock lock(one_at_a_time, std::defer_lock);
  while (!lock.try_lock_for(kLookForCancel)) {
    if (context.Cancelled()) return ErrorResult(Cancelled());
  }
  const Result<TempDir> scratch = TempDir::Make("neurolens-call-");
  if (!scratch.ok()) return ErrorResult(scratch.error());
  const std::string answer_path = scratch->path() + "/answer";
  const auto began = std::chrono::steady_clock::now();
  const auto keep_going = [&] {
    const auto run_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    if (context.progress)
      context.progress(fmt::format("running for {} s", run_ms.count() / 1000), run_ms.count(), 0);
    return !context.Cancelled();
  };
  const Json call{{"tool", tool.name}, {"arguments", arguments}};
  const Result<ProgramResult> done =
      RunProgram(CommandLine(*context.settings, call), keep_going, 64 << 10, answer_path);
  if (!done.ok()) return ErrorResult(done.error());
  const Result<std::string> text = ReadWholeFile(answer_path);
  if (!text.ok()) return ErrorResult(text.error());
  Result<Json> result = ParseJson(*text);
  if (!result.ok() || !result->is_object() || !result->contains("content"))
    return ErrorResult(Internal(fmt::format("the process of the tool ended with status {}: {}", done->status,
                                            LastLines(done->err, kMaxOutputBytes))));
  AddOutput(*result, LastLines(done->err, kMaxOutputBytes), MostBytes(arguments));
  return *std::move(result);
}

}  // namespace nl::mcp
