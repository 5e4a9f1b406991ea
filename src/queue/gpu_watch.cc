// SPDX-License-Identifier: Apache-2.0
#include "queue/gpu_watch.h"

#include <algorithm>

#include <fmt/format.h>

namespace nl::queue {

namespace {

constexpr size_t kFirstProcesses = 64, kMostProcesses = 4096;

int RunningProcesses(const machine::Nvml& nvml, machine::NvmlHandle handle, unsigned* count,
                     machine::NvmlProcess* to) {
  const int code = nvml.Call("nvmlDeviceGetComputeRunningProcesses_v3", handle, count, to);
  return code == machine::kNvmlMissing
             ? nvml.Call("nvmlDeviceGetComputeRunningProcesses_v2", handle, count, to)
             : code;
}

}  // namespace

GpuWatch::GpuWatch() {
  problem_ = nvml_.Load();
  const bool whole = nvml_.Has("nvmlDeviceGetCount_v2") && nvml_.Has("nvmlDeviceGetHandleByIndex_v2") &&
                     (nvml_.Has("nvmlDeviceGetComputeRunningProcesses_v3") ||
                      nvml_.Has("nvmlDeviceGetComputeRunningProcesses_v2"));
  if (problem_.empty() && !whole) problem_ = "libnvidia-ml.so.1 lacks functions of driver 450 or later";
}

std::vector<pid_t> GpuWatch::Pids() {
  std::vector<pid_t> out;
  unsigned devices = 0;
  if (const int code = nvml_.Call("nvmlDeviceGetCount_v2", &devices); code != 0) {
    problem_ = fmt::format("nvmlDeviceGetCount failed: {}", nvml_.Why(code));
    return out;
  }
  std::vector<machine::NvmlProcess> infos(kFirstProcesses);
  for (unsigned device = 0; device < devices; ++device) {
    machine::NvmlHandle handle = nullptr;
    unsigned count = 0;
    int code = nvml_.Call("nvmlDeviceGetHandleByIndex_v2", device, &handle);
    while (code == 0) {
      count = static_cast<unsigned>(infos.size());
      code = RunningProcesses(nvml_, handle, &count, infos.data());
      if (code != machine::kNvmlInsufficientSize || infos.size() >= kMostProcesses) break;
      infos.resize(infos.size() * 2);
      code = 0;
    }
    if (code != 0) {
      problem_ = fmt::format("the processes of GPU {} cannot be listed: {}", device, nvml_.Why(code));
      return out;
    }
    for (unsigned i = 0; i < count; ++i) out.push_back(static_cast<pid_t>(infos[i].pid));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

GpuWatch::Others GpuWatch::Look(const AttemptMark* own) {
  Others out;
  if (!works()) return out;
  for (const pid_t pid : Pids()) {
    if (own != nullptr && BelongsTo(pid, *own)) continue;
    const std::string name = ProgramName(pid);
    // In a container NVML gives ids of the host, which cannot be compared with ours.
    if (name.empty())
      out.unknown = true;
    else
      out.named.push_back(fmt::format("process {} ({})", pid, name));
  }
  return out;
}

}  // namespace nl::queue
