// SPDX-License-Identifier: Apache-2.0
#pragma once
// The GPUs that a program measured here can use: those that CUDA_VISIBLE_DEVICES names, or all of them.
// CUDA's numbers are those of NVML where CUDA_DEVICE_ORDER is PCI_BUS_ID, and on machines with one kind of
// GPU. Thread rule: any thread. Ownership: plain values; handles belong to NVML.

#include <string>
#include <string_view>
#include <vector>

#include "machine/nvml_library.h"

namespace nl::bench {

struct GpuHandle {
  unsigned index = 0;
  machine::NvmlHandle handle = nullptr;
  std::string uuid;  // empty: NVML does not give it
};

std::vector<GpuHandle> AllGpus(const machine::Nvml& nvml);
std::vector<GpuHandle> VisibleGpus(const machine::Nvml& nvml);

// `list` as in CUDA_VISIBLE_DEVICES: numbers and UUIDs or the start of one; an entry of another kind ends it.
bool ListsGpu(std::string_view list, unsigned index, std::string_view uuid);

}  // namespace nl::bench
