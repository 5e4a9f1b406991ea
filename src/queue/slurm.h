// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Slurm engine: submits the entries of a queue with sbatch, several as the tasks of one array job, and
// follows them. The jobs do not need the runner: when it ends or dies they go on, and the next runner of this
// engine takes up their results. An entry is journalled as submitted before sbatch is started; a runner that
// died in between is found out by the lock that sbatch inherits and by the name of the job, so that no entry
// is submitted twice. The store must be on a disk that the nodes share.
// Thread rule: one thread.

#include "queue/session.h"

namespace nl::queue {

struct SlurmOptions {
  std::string partition, gpu_type;
  int64_t gpus = 0;        // per job, of entries that use GPUs; 0: as the cluster does
  int64_t time_min = 0;    // limit of a job; 0: as the cluster does
  int64_t most_tasks = 0;  // of an array that run at the same time; 0: as the cluster does
  bool exclusive = false, arrays = true;
  std::vector<std::string> more;  // further options of sbatch
};

// Words of sbatch before the script; `tasks` 0: a job without an array.
std::vector<std::string> SbatchWords(const SlurmOptions& options, const std::string& batch_folder,
                                     const std::string& name, int64_t tasks, bool gpu);

// As RunLocal; but what runs when keep_going says no goes on under Slurm.
Status RunSlurm(Session& session, const SlurmOptions& options);

}  // namespace nl::queue
