// SPDX-License-Identifier: Apache-2.0
#pragma once
// SlurmClient: the commands of Slurm (sbatch, squeue, scontrol, sacct, scancel) and what they print.
// Thread rule: one thread at a time; each call runs a program.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl::queue {

// A job as Slurm describes it.
struct SlurmJob {
  std::string state;  // PENDING, RUNNING, COMPLETED, ...
  std::string node, reason;
  std::optional<int> exit_status;  // 128 + signal if one ended it
};

// Of "JobState=FAILED Reason=NonZeroExitCode ... ExitCode=3:0 ... NodeList=n1", one line of scontrol.
std::optional<SlurmJob> JobOfScontrol(std::string_view line);
// Of "FAILED|3:0|n1", one line of sacct.
std::optional<SlurmJob> JobOfSacct(std::string_view line);
// The id that sbatch --parsable printed among other lines; empty: none.
std::string JobIdIn(std::string_view text);
// Slurm will do nothing more with a job in this state.
bool IsEndOfJob(std::string_view state);
// The job was lost with its machine, or made room for another one: not a failure of its program.
bool IsLostJob(std::string_view state);

class SlurmClient {
 public:
  explicit SlurmClient(std::function<bool()> keep_going) : keep_going_(std::move(keep_going)) {}

  // Unsupported when the commands are not installed or no controller answers.
  Status Check() const;
  // Jobs of this user that are not over, by id ("12" or "12_3").
  Result<std::map<std::string, SlurmJob>> Active() const;
  // One job, over or not; nothing when Slurm does not know it any more.
  Result<std::optional<SlurmJob>> Find(const std::string& job) const;
  // The id of a job that is not older than Slurm's memory (MinJobAge); empty: none.
  Result<std::string> FindByName(const std::string& name) const;
  Status Cancel(const std::string& job) const;

 private:
  Result<std::string> Ask(std::vector<std::string> words) const;
  std::function<bool()> keep_going_;
};

}  // namespace nl::queue
