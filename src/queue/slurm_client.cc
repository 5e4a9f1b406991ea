// SPDX-License-Identifier: Apache-2.0
#include "queue/slurm_client.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/run_program.h"

namespace nl::queue {

namespace {

constexpr size_t kMostKeptBytes = 64 << 20;

std::vector<std::string> SplitAt(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (;;) {
    const size_t end = std::min(text.find(separator), text.size());
    out.emplace_back(text.substr(0, end));
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

std::string_view FirstLine(std::string_view text) { return text.substr(0, text.find('\n')); }

// "3:0" is exit status 3, "0:9" signal 9.
std::optional<int> StatusOfCode(std::string_view code) {
  int status = 0, signal = 0;
  const size_t colon = std::min(code.find(':'), code.size());
  if (std::from_chars(code.data(), code.data() + colon, status).ec != std::errc()) return std::nullopt;
  if (colon < code.size()) std::from_chars(code.data() + colon + 1, code.data() + code.size(), signal);
  return signal != 0 ? 128 + signal : status;
}

// The word after " name=".
std::string WordAfter(std::string_view line, std::string_view name) {
  const std::string key = fmt::format("{}=", name);
  for (size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    if (at != 0 && line[at - 1] != ' ') continue;
    const size_t from = at + key.size();
    return std::string(line.substr(from, line.find_first_of(" \n", from) - from));
  }
  return "";
}

}  // namespace

std::optional<SlurmJob> JobOfScontrol(std::string_view line) {
  SlurmJob out;
  out.state = WordAfter(line, "JobState");
  if (out.state.empty()) return std::nullopt;
  out.reason = WordAfter(line, "Reason");
  out.node = WordAfter(line, "NodeList");
  if (IsEndOfJob(out.state)) out.exit_status = StatusOfCode(WordAfter(line, "ExitCode"));
  return out;
}

std::optional<SlurmJob> JobOfSacct(std::string_view line) {
  const std::vector<std::string> fields = SplitAt(FirstLine(line), '|');
  if (fields.size() < 3 || fields[0].empty()) return std::nullopt;
  SlurmJob out;
  out.state = fields[0].substr(0, fields[0].find(' '));  // "CANCELLED by 1000"
  out.node = fields[2];
  if (IsEndOfJob(out.state)) out.exit_status = StatusOfCode(fields[1]);
  return out;
}

std::string JobIdIn(std::string_view text) {
  for (const std::string& line : SplitAt(text, '\n')) {
    const std::string id = line.substr(0, line.find(';'));  // ";cluster" follows where there are several
    if (!id.empty() && id.find_first_not_of("0123456789") == std::string::npos) return id;
  }
  return "";
}

bool IsEndOfJob(std::string_view state) {
  constexpr std::string_view kEnds[] = {"COMPLETED",     "FAILED",    "CANCELLED",    "TIMEOUT",
                                        "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED",    "BOOT_FAIL",
                                        "DEADLINE",      "REVOKED",   "LAUNCH_FAILED"};
  return std::find(std::begin(kEnds), std::end(kEnds), state) != std::end(kEnds);
}

bool IsLostJob(std::string_view state) {
  return state == "NODE_FAIL" || state == "PREEMPTED" || state == "BOOT_FAIL" || state == "REVOKED" ||
         state == "LAUNCH_FAILED";
}

Result<std::string> SlurmClient::Ask(std::vector<std::string> words) const {
  const std::string program = FindProgram(words[0]);
  if (program.empty())
    return Unsupported(fmt::format("{} is not installed", words[0]))
        .Hint("--engine slurm needs the commands of Slurm on the PATH");
  words[0] = program;
  NL_ASSIGN(ProgramResult result, RunProgram(words, keep_going_, kMostKeptBytes));
  if (result.status != 0) return Unsupported(fmt::format("{} failed: {}", words[0], FirstLine(result.err)));
  return std::move(result.out);
}

Status SlurmClient::Check() const {
  if (FindProgram("sbatch").empty())
    return Unsupported("sbatch is not installed")
        .Hint("--engine slurm needs the commands of Slurm on the PATH");
  const Result<std::string> answer = Ask({"scontrol", "ping"});
  if (!answer.ok()) return answer.error();
  return {};
}

Result<std::map<std::string, SlurmJob>> SlurmClient::Active() const {
  NL_ASSIGN(const std::string text, Ask({"squeue", "--noheader", "--array", "--me", "--format=%i|%T|%N|%r"}));
  std::map<std::string, SlurmJob> out;
  for (const std::string& line : SplitAt(text, '\n')) {
    const std::vector<std::string> fields = SplitAt(line, '|');
    if (fields.size() >= 4) out[fields[0]] = {fields[1], fields[2], fields[3], std::nullopt};
  }
  return out;
}

Result<std::optional<SlurmJob>> SlurmClient::Find(const std::string& job) const {
  const Result<std::string> shown = Ask({"scontrol", "show", "job", job, "--oneliner"});
  if (shown.ok()) return JobOfScontrol(FirstLine(*shown));
  if (shown.error().message.find("Invalid job id") == std::string::npos) return shown.error();
  // Forgotten by the controller; the accounting may have it, where there is one.
  const Result<std::string> counted = Ask({"sacct", "--noheader", "--parsable2", "--allocations",
                                           "--jobs=" + job, "--format=State,ExitCode,NodeList"});
  if (!counted.ok()) return std::optional<SlurmJob>();
  return JobOfSacct(*counted);
}

Result<std::string> SlurmClient::FindByName(const std::string& name) const {
  // %F: of every task the id of its array job, of another job its own.
  NL_ASSIGN(const std::string text,
            Ask({"squeue", "--noheader", "--me", "--states=all", "--name=" + name, "--format=%F"}));
  return JobIdIn(text);
}

Status SlurmClient::Cancel(const std::string& job) const {
  const Result<std::string> answer = Ask({"scancel", job});
  if (!answer.ok()) return answer.error();
  return {};
}

}  // namespace nl::queue
