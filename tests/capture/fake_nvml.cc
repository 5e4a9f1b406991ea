// SPDX-License-Identifier: Apache-2.0
// An NVML without a GPU: one device at 1,755 MHz, 310.5 W and 41 degrees. FAKE_NVML=broken: cannot be
// initialised; FAKE_NVML=poor: says nothing but the SM clock. FAKE_NVML_GPUS is the number of devices (1),
// FAKE_NVML_MIG the number of one in MIG mode, FAKE_NVML_DRIVER the driver (580.95.05), FAKE_NVML_WEAK the
// number of one with a low power limit, half of its PCIe lanes, a thermal slowdown and persistence off.
// FAKE_NVML_REASONS names a file with the bits of what limits the clocks, read at every call.
// FAKE_NVML_CLOCKS names a file to which every change of locked clocks is added as a line; without it nobody
// may change them; FAKE_NVML_LOCKED_MOST is the number of the first device that cannot be locked.
// FAKE_NVML_PROCESSES names a file with the ids of the processes that compute on the device, one a line.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <vector>

#include "fake_cupti.h"

#define NL_FAKE extern "C" __attribute__((visibility("default")))

namespace {

bool Is(std::string_view mode) {
  const char* set = std::getenv("FAKE_NVML");
  return set != nullptr && set == mode;
}
char g_devices[8];
int g_mig_device;
bool IsDevice(const char* variable, const void* device) {
  const char* set = std::getenv(variable);
  return set != nullptr && device == &g_devices[std::atoi(set)];
}
unsigned DeviceCount() {
  const char* set = std::getenv("FAKE_NVML_GPUS");
  return set != nullptr ? static_cast<unsigned>(std::atoi(set)) : 1;
}
unsigned NumberOf(const void* device) {
  return static_cast<unsigned>(static_cast<const char*>(device) - g_devices);
}
std::atomic<int64_t> g_reads{0};

}  // namespace

NL_FAKE int nvmlInit_v2() { return Is("broken") ? 9 : 0; }
NL_FAKE int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  *device = &g_devices[0];
  return 0;
}
NL_FAKE int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= DeviceCount()) return 2;
  *device = &g_devices[index];
  return 0;
}
NL_FAKE int nvmlDeviceGetClockInfo(void*, int clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1755 : 2619;
  if (clock == 1) g_reads.fetch_add(1);
  return Is("poor") && clock != 1 ? 3 : 0;
}
NL_FAKE int nvmlDeviceGetPowerUsage(void*, unsigned* mw) {
  *mw = 310'500;
  return Is("poor") ? 3 : 0;
}
NL_FAKE int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 41;
  return Is("poor") ? 3 : 0;
}
NL_FAKE int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  *reasons = IsDevice("FAKE_NVML_WEAK", device) ? 4 | 0x40 : 4;
  if (const char* path = std::getenv("FAKE_NVML_REASONS")) std::ifstream(path) >> *reasons;
  return Is("poor") ? 3 : 0;
}
NL_FAKE int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = DeviceCount();
  return 0;
}
NL_FAKE int nvmlSystemGetDriverVersion(char* to, unsigned bytes) {
  const char* set = std::getenv("FAKE_NVML_DRIVER");
  std::snprintf(to, bytes, "%s", set != nullptr ? set : "580.95.05");
  return Is("poor") ? 3 : 0;
}
NL_FAKE int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return 0;
}
NL_FAKE int nvmlDeviceGetName(void* device, char* to, unsigned bytes) {
  std::snprintf(to, bytes, "%s", device == &g_mig_device ? "NVIDIA H200 MIG 3g.71gb" : "NVIDIA H200");
  return 0;
}
NL_FAKE int nvmlDeviceGetUUID(void* device, char* to, unsigned bytes) {
  std::snprintf(to, bytes, "GPU-%u", NumberOf(device));
  return 0;
}
struct FakePci {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
NL_FAKE int nvmlDeviceGetPciInfo_v3(void* device, FakePci* to) {
  *to = {};
  std::snprintf(to->bus_id, sizeof to->bus_id, "00000000:%uB:00.0", NumberOf(device) + 1);
  return 0;
}
struct FakeMemory {
  unsigned long long total, free, used;
};
NL_FAKE int nvmlDeviceGetMemoryInfo(void* device, FakeMemory* to) {
  *to = {device == &g_mig_device ? 71'000'000'000ull : 150'754'820'096ull, 0, 1'000'000'000};
  return 0;
}
NL_FAKE int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
NL_FAKE int nvmlDeviceGetNumGpuCores(void*, unsigned* cores) {
  *cores = 16'896;
  return 0;
}
NL_FAKE int nvmlDeviceGetMaxClockInfo(void*, int clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1980 : 3201;
  return Is("poor") ? 3 : 0;
}
NL_FAKE int nvmlDeviceGetPowerManagementLimit(void* device, unsigned* mw) {
  *mw = IsDevice("FAKE_NVML_WEAK", device) ? 400'000 : 700'000;
  return 0;
}
NL_FAKE int nvmlDeviceGetPowerManagementDefaultLimit(void*, unsigned* mw) {
  *mw = 700'000;
  return 0;
}
NL_FAKE int nvmlDeviceGetEccMode(void*, unsigned* now, unsigned* pending) {
  *now = *pending = 1;
  return 0;
}
NL_FAKE int nvmlDeviceGetPersistenceMode(void* device, unsigned* mode) {
  *mode = IsDevice("FAKE_NVML_WEAK", device) ? 0 : 1;
  return 0;
}
NL_FAKE int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* pending) {
  *now = *pending = IsDevice("FAKE_NVML_MIG", device) ? 1 : 0;
  return 0;
}
NL_FAKE int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 7;
  return 0;
}
NL_FAKE int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** part) {
  *part = &g_mig_device;
  return index < 2 ? 0 : 6;
}
NL_FAKE int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* lanes) {
  *lanes = IsDevice("FAKE_NVML_WEAK", device) ? 8 : 16;
  return 0;
}
NL_FAKE int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* lanes) {
  *lanes = 16;
  return 0;
}
// 18 links, all of them to the other device.
NL_FAKE int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* active) {
  *active = 1;
  return DeviceCount() > 1 && link < 18 ? 0 : 3;
}
NL_FAKE int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) {
  *version = 7;
  return 0;
}
NL_FAKE int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, FakePci* to) {
  return nvmlDeviceGetPciInfo_v3(&g_devices[NumberOf(device) == 0 ? 1 : 0], to);
}
NL_FAKE int nvmlDeviceGetTopologyCommonAncestor(void*, void*, int* level) {
  *level = 50;
  return 0;
}
struct FakeProcess {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};
NL_FAKE int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, FakeProcess* to) {
  const char* path = std::getenv("FAKE_NVML_PROCESSES");
  std::ifstream file(path != nullptr ? path : "/dev/null");
  std::vector<unsigned> pids;
  for (unsigned pid = 0; file >> pid;) pids.push_back(pid);
  const unsigned room = *count;
  *count = static_cast<unsigned>(pids.size());
  if (pids.size() > room) return 7;  // as NVML: the caller must give more room
  for (size_t i = 0; i < pids.size(); ++i) to[i] = {pids[i], 1 << 20, 0xFFFFFFFF, 0xFFFFFFFF};
  return 0;
}
int Changed(const char* format, const void* device, unsigned least, unsigned most) {
  const char* path = std::getenv("FAKE_NVML_CLOCKS");
  if (path == nullptr) return 4;  // NVML_ERROR_NO_PERMISSION
  FILE* file = std::fopen(path, "a");
  if (file == nullptr) return 999;
  std::fprintf(file, format, NumberOf(device), least, most);
  std::fclose(file);
  return 0;
}
NL_FAKE int nvmlDeviceSetGpuLockedClocks(void* device, unsigned least, unsigned most) {
  const char* last = std::getenv("FAKE_NVML_LOCKED_MOST");
  if (last != nullptr && NumberOf(device) >= std::strtoul(last, nullptr, 10)) return 3;
  return Changed("%u locked %u %u\n", device, least, most);
}
NL_FAKE int nvmlDeviceResetGpuLockedClocks(void* device) { return Changed("%u restored\n", device, 0, 0); }
NL_FAKE const char* nvmlErrorString(int) { return "Driver Not Loaded"; }
NL_FAKE int64_t fake_nvml_reads() { return g_reads.load(); }
