// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/device_facts.h"

#include <dlfcn.h>

#include "capture/lib/system.h"

namespace nl::capture {

namespace {

// CUdevice_attribute.
enum Attribute : int {
  kThreadsPerBlock = 1,
  kWarpThreads = 10,
  kClockKhz = 13,
  kSmCount = 16,
  kEcc = 32,
  kMemoryClockKhz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kThreadsPerSm = 39,
  kCopyEngines = 40,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kSharedPerSm = 81,
  kRegistersPerSm = 82,
  kBlocksPerSm = 106,
};

struct Driver {
  int (*Get)(int* handle, int ordinal) = nullptr;
  int (*GetName)(char* name, int bytes, int handle) = nullptr;
  int (*GetAttribute)(int* value, int attribute, int handle) = nullptr;
  int (*TotalMem)(size_t* bytes, int handle) = nullptr;
  int (*GetUuid)(void* uuid, int handle) = nullptr;  // may be missing

  bool Load() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return false;
    if (!TakeSymbol(library, "cuDeviceGetUuid_v2", GetUuid)) TakeSymbol(library, "cuDeviceGetUuid", GetUuid);
    return TakeSymbol(library, "cuDeviceGet", Get) && TakeSymbol(library, "cuDeviceGetName", GetName) &&
           TakeSymbol(library, "cuDeviceGetAttribute", GetAttribute) &&
           TakeSymbol(library, "cuDeviceTotalMem_v2", TotalMem);
  }
};

}  // namespace

bool ReadDeviceFacts(uint32_t device, DeviceRecord& to, char* name, int name_bytes) {
  Driver driver;
  int handle = 0;
  if (!driver.Load() || driver.Get(&handle, static_cast<int>(device)) != 0) return false;
  if (driver.GetName(name, name_bytes, handle) != 0) return false;
  const auto ask = [&](Attribute attribute) {
    int value = 0;
    return driver.GetAttribute(&value, attribute, handle) == 0 && value > 0 ? static_cast<uint32_t>(value)
                                                                            : 0u;
  };
  to = {};
  to.device = device;
  size_t bytes = 0;
  if (driver.TotalMem(&bytes, handle) == 0) to.memory_bytes = bytes;
  // Two transfers a clock.
  to.memory_bandwidth_kbps = uint64_t{ask(kMemoryClockKhz)} * 2 * ask(kMemoryBusBits) / 8;
  to.sm_count = ask(kSmCount);
  to.compute_major = ask(kComputeMajor);
  to.compute_minor = ask(kComputeMinor);
  to.warp_threads = ask(kWarpThreads);
  to.max_warps_per_sm = to.warp_threads > 0 ? ask(kThreadsPerSm) / to.warp_threads : 0;
  to.max_blocks_per_sm = ask(kBlocksPerSm);
  to.shared_bytes_per_sm = ask(kSharedPerSm);
  to.registers_per_sm = ask(kRegistersPerSm);
  to.l2_bytes = ask(kL2Bytes);
  to.core_clock_khz = ask(kClockKhz);
  to.max_threads_per_block = ask(kThreadsPerBlock);
  to.memcpy_engines = ask(kCopyEngines);
  if (driver.GetUuid != nullptr) driver.GetUuid(to.uuid, handle);
  to.flags = ask(kEcc) != 0 ? 2 : 0;
  return true;
}

}  // namespace nl::capture
