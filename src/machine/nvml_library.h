// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVML, the management library of the NVIDIA driver, loaded at run time. Everything of ours that asks NVML
// opens it here. Thread rule: any thread. Ownership: NVML stays loaded.

#include <dlfcn.h>

#include <cstdlib>

namespace nl::machine {

// Names another file than libnvidia-ml.so.1.
inline constexpr char kNvmlVariable[] = "NEUROLENS_NVML";

inline const char* GivenNvml() {
  const char* given = std::getenv(kNvmlVariable);
  return given != nullptr && given[0] != '\0' ? given : nullptr;
}
// Null: not installed.
inline void* OpenNvml() {
  const char* given = GivenNvml();
  return dlopen(given != nullptr ? given : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
}

}  // namespace nl::machine
