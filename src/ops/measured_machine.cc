// SPDX-License-Identifier: Apache-2.0
#include "ops/measured_machine.h"

#include <cstdlib>

#include "machine/nvml.h"
#include "queue/gpu_watch.h"

namespace nl {

Result<bench::EnvironmentReply> RequireMeasurable(std::string_view validity, bool allow_virtualization) {
  bench::GpuSurroundings around;
  machine::System system;
  machine::ReadGpus(machine::RootFiles(""), system);
  around.gpus = std::move(system.gpus);
  around.none_reason = system.gpus_reason.value_or("");
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) around.visible = visible;
  if (!around.gpus.empty()) {
    queue::GpuWatch watch;
    queue::GpuWatch::Others others = watch.Look(nullptr);
    around.others = std::move(others.named);
    around.others_problem = watch.problem();
    if (others.unknown && around.others_problem.empty())
      around.others_problem = "processes outside this container compute on the GPUs";
  }
  return bench::RequireEnvironment(validity, allow_virtualization, around);
}

}  // namespace nl
