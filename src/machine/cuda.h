// SPDX-License-Identifier: Apache-2.0
#pragma once
// The NVIDIA driver and CUDA as files describe them: driver, toolkits, cuDNN, NCCL.
// Thread rule: pure functions of the files.

#include <string>

#include "machine/root_files.h"
#include "machine/system.h"

namespace nl::machine {

// Without what only NVML knows (driver_cuda).
CudaStack ReadCuda(const RootFiles& files);

// "NVRM version: ... 580.95.05 ..." -> "580.95.05"; empty: none.
std::string DriverVersion(const std::string& text);
// RmProfilingAdminOnly of /proc/driver/nvidia/params.
bool CountersForAdminsOnly(const std::string& parameters);

inline constexpr char kDriverVersionFile[] = "/proc/driver/nvidia/version";
inline constexpr char kDriverParametersFile[] = "/proc/driver/nvidia/params";
inline constexpr char kDriverGpusFolder[] = "/proc/driver/nvidia/gpus";

}  // namespace nl::machine
