// SPDX-License-Identifier: Apache-2.0
#pragma once
// GpuClocks: clocks, power, temperature and driver version by NVML, loaded at run time. What NVML does
// not give stays empty.
// Thread rule: one thread. Ownership: NVML stays loaded.

#include <string>

#include "capture/peaks/figures.h"
#include "machine/nvml_library.h"

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
  machine::Nvml nvml_;
  bool loaded_ = false;
  machine::NvmlHandle handle_ = nullptr;
};

}  // namespace nl::capture
