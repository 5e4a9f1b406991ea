// SPDX-License-Identifier: Apache-2.0
#include "capture/peaks/gpu_clocks.h"

namespace nl::capture {

GpuClocks::GpuClocks() { loaded_ = nvml_.Load().empty() && nvml_.Has("nvmlDeviceGetClockInfo"); }

bool GpuClocks::Find(const std::string& pci_bus_id) {
  if (!loaded_ || nvml_.Call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &handle_) != 0)
    handle_ = nullptr;
  return handle_ != nullptr;
}

DeviceClocks GpuClocks::Read() const {
  DeviceClocks out;
  unsigned value = 0;
  if (handle_ == nullptr) return out;
  if (nvml_.Call("nvmlDeviceGetClockInfo", handle_, machine::kNvmlSmClock, &value) == 0) out.sm_mhz = value;
  if (nvml_.Call("nvmlDeviceGetClockInfo", handle_, machine::kNvmlMemoryClock, &value) == 0)
    out.memory_mhz = value;
  if (nvml_.Call("nvmlDeviceGetPowerUsage", handle_, &value) == 0) out.power_w = value / 1000.0;
  if (nvml_.Call("nvmlDeviceGetTemperature", handle_, machine::kNvmlGpuSensor, &value) == 0)
    out.temperature_c = value;
  return out;
}

std::optional<double> GpuClocks::MaxSmMhz() const {
  unsigned value = 0;
  if (handle_ == nullptr ||
      nvml_.Call("nvmlDeviceGetMaxClockInfo", handle_, machine::kNvmlSmClock, &value) != 0)
    return std::nullopt;
  return value;
}

std::string GpuClocks::DriverVersion() const {
  char text[machine::kNvmlTextBytes] = {};
  if (!loaded_ ||
      nvml_.Call("nvmlSystemGetDriverVersion", static_cast<char*>(text), machine::kNvmlTextBytes) != 0)
    return "";
  return text;
}

}  // namespace nl::capture
