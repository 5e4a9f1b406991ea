// SPDX-License-Identifier: Apache-2.0
#pragma once
// What Slurm runs for an entry: a shell script with the entry's folder, environment and command, byte for
// byte. It writes two small files beside the entry, so that its result is known when Slurm has forgotten the
// job:
//
//   entries/ID/slurm-N.start    2025-11-15T01:32:00.123Z node07
//   entries/ID/slurm-N.end      0 2025-11-15T01:35:10.456Z
//
// Thread rule: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nl::queue {

struct SlurmTask {
  std::string entry_folder, working_folder, output_path;
  int64_t attempt = 1;
  std::vector<std::string> arguments, environment;
};

// 'text' for a POSIX shell, whatever bytes it has.
std::string ShellQuoted(std::string_view text);
std::string TaskScript(const SlurmTask& task);
// Runs task $SLURM_ARRAY_TASK_ID of the folder, or task 0 of a job without an array.
std::string BatchScript(const std::string& batch_folder);

std::string StartFile(const std::string& entry_folder, int64_t attempt);
std::string EndFile(const std::string& entry_folder, int64_t attempt);

struct SlurmStart {
  std::string at, node;
};
struct SlurmEnd {
  int exit_status = 0;
  std::string at;
};
// Nothing while the file does not exist or is not whole.
std::optional<SlurmStart> ReadStartFile(const std::string& path);
std::optional<SlurmEnd> ReadEndFile(const std::string& path);

}  // namespace nl::queue
