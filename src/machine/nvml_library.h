// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVML, the management library of the NVIDIA driver, loaded at run time: the one place with its types,
// numbers and how it is opened and called. Thread rule: any thread; NVML has locks of its own. Ownership:
// NVML stays loaded.

#include <dlfcn.h>

#include <cstdlib>
#include <string>

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

using NvmlHandle = void*;

inline constexpr int kNvmlSmClock = 1, kNvmlMemoryClock = 2;  // nvmlClockType_t
inline constexpr int kNvmlGpuSensor = 0;                      // nvmlTemperatureSensors_t
inline constexpr unsigned kNvmlTextBytes = 96;
// nvmlReturn_t; kNvmlMissing is ours: the library lacks the function.
inline constexpr int kNvmlMissing = -1, kNvmlNotSupported = 3, kNvmlNoPermission = 4,
                     kNvmlInsufficientSize = 7;

struct NvmlMemory {  // nvmlMemory_t
  unsigned long long total, free, used;
};
struct NvmlUtilization {  // nvmlUtilization_t
  unsigned gpu, memory;
};
struct NvmlPciInfo {  // nvmlPciInfo_t
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(NvmlPciInfo) == 68);
struct NvmlProcess {  // nvmlProcessInfo_v2_t
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(NvmlProcess) == 24);

// Bits of nvmlDeviceGetCurrentClocksEventReasons.
struct NvmlReason {
  unsigned long long bit;
  const char* name;
};
inline constexpr unsigned long long kNvmlApplicationClocks = 0x2, kNvmlPowerCap = 0x4;
inline constexpr NvmlReason kNvmlReasons[] = {{0x1, "idle"},
                                              {kNvmlApplicationClocks, "application_clocks"},
                                              {kNvmlPowerCap, "power_cap"},
                                              {0x8, "hardware_slowdown"},
                                              {0x10, "sync_boost"},
                                              {0x20, "thermal_slowdown"},
                                              {0x40, "hardware_thermal_slowdown"},
                                              {0x80, "power_brake"},
                                              {0x100, "display_clocks"}};

// Calls functions by name.
class Nvml {
 public:
  // Empty: loaded and initialised; else why not.
  std::string Load() {
    library_ = OpenNvml();
    if (library_ == nullptr) return "libnvidia-ml.so.1 (NVML) is not installed";
    const int code = Call("nvmlInit_v2");
    if (code == kNvmlMissing) return "libnvidia-ml.so.1 lacks nvmlInit_v2";
    return code == 0 ? "" : "nvmlInit failed: " + Why(code);
  }
  bool loaded() const { return library_ != nullptr; }

  // What NVML returns; kNvmlMissing without the function or the library.
  template <class... A>
  int Call(const char* function, A... arguments) const {
    const auto call = Symbol<int (*)(A...)>(function);
    return call == nullptr ? kNvmlMissing : call(arguments...);
  }
  bool Has(const char* function) const { return Symbol<void*>(function) != nullptr; }
  std::string Why(int code) const {
    const auto text = Symbol<const char* (*)(int)>("nvmlErrorString");
    const std::string number = "NVML code " + std::to_string(code);
    return text == nullptr ? number : std::string(text(code)) + " (" + number + ")";
  }
  // Named otherwise before driver 535.
  int LimitReasons(NvmlHandle handle, unsigned long long* reasons) const {
    const int code = Call("nvmlDeviceGetCurrentClocksEventReasons", handle, reasons);
    return code == kNvmlMissing ? Call("nvmlDeviceGetCurrentClocksThrottleReasons", handle, reasons) : code;
  }

 private:
  template <class F>
  F Symbol(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<F>(dlsym(library_, name));
  }

  void* library_ = nullptr;
};

}  // namespace nl::machine
