// SPDX-License-Identifier: Apache-2.0
#pragma once
// GpuClocks: clocks, power, temperature and driver version by NVML, loaded at run time. What NVML does
// not give stays empty.
// Thread rule: one thread. Ownership: NVML stays loaded.

#include <string>

#include "capture/peaks/figures.h"

namespace nl::capture {

class GpuClocks {
 public:
  GpuClocks();
  // The device by its PCI bus id; false: not known.
  bool Find(const std::string& pci_bus_id);
  DeviceClocks Read() const;
  std::optional<double> MaxSmMhz() const;
  std::string DriverVersion() const;  // empty: not known

 private:
  using Handle = void*;
  bool loaded_ = false;
  Handle handle_ = nullptr;
  int (*by_bus_id_)(const char*, Handle*) = nullptr;
  int (*clock_)(Handle, int clock, unsigned* mhz) = nullptr;
  int (*max_clock_)(Handle, int clock, unsigned* mhz) = nullptr;  // may be missing, as those below
  int (*power_)(Handle, unsigned* mw) = nullptr;
  int (*temperature_)(Handle, int sensor, unsigned* celsius) = nullptr;
  int (*driver_version_)(char*, unsigned bytes) = nullptr;
};

}  // namespace nl::capture
