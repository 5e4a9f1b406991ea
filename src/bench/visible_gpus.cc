// SPDX-License-Identifier: Apache-2.0
#include "bench/visible_gpus.h"

#include <charconv>
#include <cstdlib>

namespace nl::bench {

std::vector<GpuHandle> AllGpus(const machine::Nvml& nvml) {
  std::vector<GpuHandle> out;
  unsigned count = 0;
  if (nvml.Call("nvmlDeviceGetCount_v2", &count) != 0) return out;
  for (unsigned i = 0; i < count; ++i) {
    GpuHandle gpu;
    gpu.index = i;
    if (nvml.Call("nvmlDeviceGetHandleByIndex_v2", i, &gpu.handle) != 0) continue;
    char text[machine::kNvmlTextBytes] = {};
    if (nvml.Call("nvmlDeviceGetUUID", gpu.handle, static_cast<char*>(text), machine::kNvmlTextBytes) == 0)
      gpu.uuid = text;
    out.push_back(std::move(gpu));
  }
  return out;
}

std::vector<GpuHandle> VisibleGpus(const machine::Nvml& nvml) {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<GpuHandle> out;
  for (GpuHandle& gpu : AllGpus(nvml)) {
    if (list == nullptr || ListsGpu(list, gpu.index, gpu.uuid)) out.push_back(std::move(gpu));
  }
  return out;
}

bool ListsGpu(std::string_view list, unsigned index, std::string_view uuid) {
  constexpr std::string_view kUuid = "GPU-";
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view entry = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
    unsigned number = 0;
    const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
    if (error == std::errc() && end == entry.data() + entry.size()) {
      if (number == index) return true;
    } else if (entry.size() > kUuid.size() && entry.substr(0, kUuid.size()) == kUuid) {
      if (uuid.substr(0, entry.size()) == entry) return true;
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace nl::bench
