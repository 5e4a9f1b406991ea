// SPDX-License-Identifier: Apache-2.0
// An NVML without a GPU: one device at 1,755 MHz, 310.5 W and 41 degrees. FAKE_NVML=broken: cannot be
// initialised; FAKE_NVML=poor: says nothing but the SM clock. FAKE_NVML_PROCESSES names a file with the ids
// of the processes that compute on the device, one a line.
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
int g_device;
std::atomic<int64_t> g_reads{0};

}  // namespace

NL_FAKE int nvmlInit_v2() { return Is("broken") ? 9 : 0; }
NL_FAKE int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  *device = &g_device;
  return 0;
}
NL_FAKE int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  *device = &g_device;
  return 0;
}
NL_FAKE int nvmlDeviceGetClockInfo(void*, int clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1755 : 2619;
  if (clock == 1) g_reads.fetch_add(1);
  return Is("poor") && clock != 1 ? 3 : 0;
}
NL_FAKE int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1980;
  return Is("poor") ? 3 : 0;
}
NL_FAKE int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::snprintf(text, bytes, "580.95.05");
  return Is("poor") ? 3 : 0;
}
NL_FAKE int nvmlDeviceGetPowerUsage(void*, unsigned* mw) {
  *mw = 310'500;
  return Is("poor") ? 3 : 0;
}
NL_FAKE int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 41;
  return Is("poor") ? 3 : 0;
}
NL_FAKE int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  *reasons = 4;
  return Is("poor") ? 3 : 0;
}
NL_FAKE int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
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
NL_FAKE const char* nvmlErrorString(int) { return "Driver Not Loaded"; }
NL_FAKE int64_t fake_nvml_reads() { return g_reads.load(); }
