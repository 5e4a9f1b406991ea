// SPDX-License-Identifier: Apache-2.0
#include "queue/slurm_script.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

namespace nl::queue {

namespace {

// What Slurm sets for a job, and what belongs to the machine it runs on, is not replaced by the entry's.
constexpr std::string_view kOfTheJob[] = {"SLURM",
                                          "CUDA_VISIBLE_DEVICES",
                                          "GPU_DEVICE_ORDINAL",
                                          "ROCR_VISIBLE_DEVICES",
                                          "ZE_AFFINITY_MASK",
                                          "HOSTNAME",
                                          "TMPDIR",
                                          "PWD",
                                          "OLDPWD",
                                          "SHLVL",
                                          "_="};

bool IsOfTheJob(std::string_view variable) {
  return std::any_of(std::begin(kOfTheJob), std::end(kOfTheJob),
                     [&](std::string_view start) { return variable.starts_with(start); });
}

// What `export` takes; other names (exported functions of bash) go through env.
bool IsShellName(std::string_view name) {
  const auto letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// What sbatch was started with (queue/slurm.cc) and hands on; the entry has its own, or none.
constexpr char kOfTheRunner[] = "PATH HOME USER LOGNAME SHELL LANG LD_LIBRARY_PATH";

constexpr char kClock[] = "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)";

}  // namespace

std::string ShellQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string TaskScript(const SlurmTask& task) {
  const auto replace = [](const std::string& path, std::string_view words) {
    const std::string fresh = ShellQuoted(path + ".new");
    return fmt::format("printf '%s\\n' \"{}\" > {} && mv {} {}\n", words, fresh, fresh, ShellQuoted(path));
  };
  std::string exports, through_env;
  for (const std::string& variable : task.environment) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos || IsOfTheJob(variable)) continue;
    if (IsShellName(std::string_view(variable).substr(0, equals)))
      exports += fmt::format("export {}={}\n", variable.substr(0, equals),
                             ShellQuoted(std::string_view(variable).substr(equals + 1)));
    else
      through_env += " " + ShellQuoted(variable);
  }
  std::string command;
  for (const std::string& argument : task.arguments) command += " " + ShellQuoted(argument);
  const std::string start =
      replace(StartFile(task.entry_folder, task.attempt), fmt::format("{} $(hostname)", kClock));
  const std::string end = replace(EndFile(task.entry_folder, task.attempt), fmt::format("$code {}", kClock));
  const std::string env = through_env.empty() ? std::string() : " /usr/bin/env" + through_env;
  return fmt::format(
      "#!/bin/sh\numask 077\n{}(\ncd {} || exit 125\nunset {}\n{}exec{}{}\n) < /dev/null > {} 2>&1\n"
      "code=$?\n{}exit $code\n",
      start, ShellQuoted(task.working_folder), kOfTheRunner, exports, env, command,
      ShellQuoted(task.output_path), end);
}

std::string BatchScript(const std::string& batch_folder) {
  return fmt::format("#!/bin/sh\nexec /bin/sh {}/\"${{SLURM_ARRAY_TASK_ID:-0}}.sh\"\n",
                     ShellQuoted(batch_folder));
}

std::string StartFile(const std::string& entry_folder, int64_t attempt) {
  return fmt::format("{}/slurm-{}.start", entry_folder, attempt);
}
std::string EndFile(const std::string& entry_folder, int64_t attempt) {
  return fmt::format("{}/slurm-{}.end", entry_folder, attempt);
}

std::optional<SlurmStart> ReadStartFile(const std::string& path) {
  std::ifstream file(path);
  SlurmStart out;
  if (!(file >> out.at >> out.node)) return std::nullopt;
  return out;
}

std::optional<SlurmEnd> ReadEndFile(const std::string& path) {
  std::ifstream file(path);
  SlurmEnd out;
  if (!(file >> out.exit_status >> out.at)) return std::nullopt;
  return out;
}

}  // namespace nl::queue
