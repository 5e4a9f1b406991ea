// SPDX-License-Identifier: Apache-2.0
#include "queue/gpu_watch.h"

#include <dlfcn.h>

#include <algorithm>

#include <fmt/format.h>

#include "machine/nvml_library.h"

namespace nl::queue {

namespace {

constexpr int kInsufficientSize = 7;  // NVML_ERROR_INSUFFICIENT_SIZE
constexpr size_t kFirstProcesses = 64, kMostProcesses = 4096;

template <class F>
bool TakeFunction(void* library, const char* name, F& to) {
  to = reinterpret_cast<F>(dlsym(library, name));
  return to != nullptr;
}

}  // namespace

GpuWatch::GpuWatch() {
  if (!Load() && problem_.empty()) problem_ = "libnvidia-ml.so.1 lacks functions of driver 450 or later";
}

bool GpuWatch::Load() {
  void* library = machine::OpenNvml();
  if (library == nullptr) {
    problem_ = "libnvidia-ml.so.1 (NVML) is not installed";
    return false;
  }
  const bool whole = TakeFunction(library, "nvmlInit_v2", call_.Init) &&
                     TakeFunction(library, "nvmlDeviceGetCount_v2", call_.Count) &&
                     TakeFunction(library, "nvmlDeviceGetHandleByIndex_v2", call_.ByIndex) &&
                     (TakeFunction(library, "nvmlDeviceGetComputeRunningProcesses_v3", call_.Processes) ||
                      TakeFunction(library, "nvmlDeviceGetComputeRunningProcesses_v2", call_.Processes));
  if (!whole) return false;
  if (const int code = call_.Init(); code != 0) {
    problem_ = fmt::format("nvmlInit failed with code {}", code);
    return false;
  }
  return true;
}

std::vector<pid_t> GpuWatch::Pids() {
  std::vector<pid_t> out;
  unsigned devices = 0;
  if (const int code = call_.Count(&devices); code != 0) {
    problem_ = fmt::format("nvmlDeviceGetCount failed with code {}", code);
    return out;
  }
  std::vector<ProcessInfo> infos(kFirstProcesses);
  for (unsigned device = 0; device < devices; ++device) {
    void* handle = nullptr;
    unsigned count = 0;
    int code = call_.ByIndex(device, &handle);
    while (code == 0) {
      count = static_cast<unsigned>(infos.size());
      code = call_.Processes(handle, &count, infos.data());
      if (code != kInsufficientSize || infos.size() >= kMostProcesses) break;
      infos.resize(infos.size() * 2);
      code = 0;
    }
    if (code != 0) {
      problem_ = fmt::format("the processes of GPU {} cannot be listed (NVML code {})", device, code);
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
