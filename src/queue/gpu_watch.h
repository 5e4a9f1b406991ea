// SPDX-License-Identifier: Apache-2.0
#pragma once
// GpuWatch: which processes compute on the GPUs of this machine, as NVML lists them. The library is loaded at
// run time (machine/nvml_library.h); without it, problem() says why nothing is known.
// Thread rule: one thread at a time. Ownership: NVML stays loaded.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "machine/nvml_library.h"
#include "queue/process_tree.h"

namespace nl::queue {

class GpuWatch {
 public:
  GpuWatch();

  // Why the processes are not known; empty: they are.
  const std::string& problem() const { return problem_; }
  bool works() const { return problem_.empty(); }

  // Work on any GPU that is not of the attempt `own` (null: all of it).
  struct Others {
    std::vector<std::string> named;  // "process 4711 (python3)"
    bool unknown = false;            // process ids that this machine's /proc does not have
  };
  Others Look(const AttemptMark* own);

 private:
  std::vector<pid_t> Pids();

  machine::Nvml nvml_;
  std::string problem_;
};

}  // namespace nl::queue
