// SPDX-License-Identifier: Apache-2.0
#include "capture/peaks/gpu_clocks.h"

#include <dlfcn.h>

#include "machine/nvml_library.h"

namespace nl::capture {

namespace {

constexpr int kSm = 1, kMemory = 2;  // NVML_CLOCK_SM, NVML_CLOCK_MEM

template <class Function>
bool TakeNvml(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  return to != nullptr;
}

}  // namespace

GpuClocks::GpuClocks() {
  void* library = machine::OpenNvml();
  if (library == nullptr) return;
  int (*init)() = nullptr;
  TakeNvml(library, "nvmlDeviceGetMaxClockInfo", max_clock_);
  TakeNvml(library, "nvmlDeviceGetPowerUsage", power_);
  TakeNvml(library, "nvmlDeviceGetTemperature", temperature_);
  TakeNvml(library, "nvmlSystemGetDriverVersion", driver_version_);
  loaded_ = TakeNvml(library, "nvmlInit_v2", init) &&
            TakeNvml(library, "nvmlDeviceGetHandleByPciBusId_v2", by_bus_id_) &&
            TakeNvml(library, "nvmlDeviceGetClockInfo", clock_) && init() == 0;
}

bool GpuClocks::Find(const std::string& pci_bus_id) {
  if (!loaded_ || by_bus_id_(pci_bus_id.c_str(), &handle_) != 0) handle_ = nullptr;
  return handle_ != nullptr;
}

DeviceClocks GpuClocks::Read() const {
  DeviceClocks out;
  unsigned value = 0;
  if (handle_ == nullptr) return out;
  if (clock_(handle_, kSm, &value) == 0) out.sm_mhz = value;
  if (clock_(handle_, kMemory, &value) == 0) out.memory_mhz = value;
  if (power_ != nullptr && power_(handle_, &value) == 0) out.power_w = value / 1000.0;
  if (temperature_ != nullptr && temperature_(handle_, 0, &value) == 0) out.temperature_c = value;
  return out;
}

std::optional<double> GpuClocks::MaxSmMhz() const {
  unsigned value = 0;
  if (handle_ == nullptr || max_clock_ == nullptr || max_clock_(handle_, kSm, &value) != 0)
    return std::nullopt;
  return value;
}

std::string GpuClocks::DriverVersion() const {
  char text[96] = {};
  if (!loaded_ || driver_version_ == nullptr || driver_version_(text, sizeof text - 1) != 0) return "";
  return text;
}

}  // namespace nl::capture
