// SPDX-License-Identifier: Apache-2.0
#pragma once
// The GPUs as NVML reports them, and how they are connected; without NVML, what the driver's files name.
// Thread rule: any thread; NVML has locks of its own.

#include "machine/root_files.h"
#include "machine/system.h"

namespace nl::machine {

// Fills gpus, gpus_reason, gpu_links, and of `cuda` what NVML knows.
void ReadGpus(const RootFiles& files, System& to);

}  // namespace nl::machine
