// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/nvml.h"

#include <dlfcn.h>
#include <cmath>
#include <cstdio>

#include "capture/lib/system.h"
#include "machine/nvml_library.h"

namespace nl::capture {

namespace {

// NVML's bits fit a float as long as there are fewer than 24 of them; there are nine.
constexpr const char* kClockNames[] = {"sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c",
                                       "clock_limit_reasons"};
constexpr uint32_t kCount = sizeof kClockNames / sizeof kClockNames[0];

// "0000:1b:00.0" of a device by its number in CUDA, which differs from NVML's where
// CUDA_VISIBLE_DEVICES leaves some out.
bool PciBusId(uint32_t device, char* to, int bytes, bool& cuda_there) {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  cuda_there = cuda != nullptr;
  if (!cuda_there) return false;
  int (*get)(int*, int) = nullptr;
  int (*bus_id)(char*, int, int) = nullptr;
  int handle = 0;
  return TakeSymbol(cuda, "cuDeviceGet", get) && TakeSymbol(cuda, "cuDeviceGetPCIBusId", bus_id) &&
         get(&handle, static_cast<int>(device)) == 0 && bus_id(to, bytes, handle) == 0;
}

}  // namespace

void NvmlClocks::Say(const char* what, int result) {
  const char* why = call_.ErrorString != nullptr ? call_.ErrorString(result) : "";
  char text[256];
  std::snprintf(text, sizeof text, "clocks of the devices are not recorded: %s (%d %s)", what, result, why);
  notes_.Say(MessageLevel::kInfo, text);
}

bool NvmlClocks::Load() {
  if (tried_) return loaded_;
  tried_ = true;
  void* library = machine::OpenNvml();
  if (library == nullptr) {
    Say("libnvidia-ml.so.1 is not there", 0);
    return false;
  }
  const bool whole = TakeSymbol(library, "nvmlInit_v2", call_.Init) &&
                     TakeSymbol(library, "nvmlDeviceGetHandleByPciBusId_v2", call_.ByPciBusId) &&
                     TakeSymbol(library, "nvmlDeviceGetHandleByIndex_v2", call_.ByIndex) &&
                     TakeSymbol(library, "nvmlDeviceGetClockInfo", call_.ClockInfo);
  TakeSymbol(library, "nvmlDeviceGetPowerUsage", call_.PowerUsage);
  TakeSymbol(library, "nvmlDeviceGetTemperature", call_.Temperature);
  TakeSymbol(library, "nvmlErrorString", call_.ErrorString);
  if (!TakeSymbol(library, "nvmlDeviceGetCurrentClocksEventReasons", call_.LimitReasons))
    TakeSymbol(library, "nvmlDeviceGetCurrentClocksThrottleReasons",
               call_.LimitReasons);  // before driver 535
  if (!whole) {
    Say("libnvidia-ml.so.1 lacks functions", 0);
    return false;
  }
  const int result = call_.Init();
  loaded_ = result == 0;
  if (!loaded_) Say("nvmlInit failed", result);
  return loaded_;
}

bool NvmlClocks::Find(uint32_t device, Handle& handle) {
  char id[64] = {};
  bool cuda_there = false;
  const bool named = PciBusId(device, id, sizeof id, cuda_there);
  const int result = named         ? call_.ByPciBusId(id, &handle)
                     : !cuda_there ? call_.ByIndex(device, &handle)
                                   : -1;
  if (result != 0)
    Say(named ? "NVML does not know the device" : "CUDA does not say which device it is", result);
  return result == 0;
}

void NvmlClocks::Add(uint32_t device, uint32_t set_id, uint32_t interval_ms) {
  if (count_ == kMostDevices || !Load()) return;
  Handle handle = nullptr;
  if (!Find(device, handle)) return;
  devices_[count_++] = {handle, set_id};
  CounterSet set;
  set.entry = {set_id, device, CounterClock::kMonotonic, CounterSource::kNvml, interval_ms * 1'000'000,
               kCount};
  for (uint32_t i = 0; i < kCount; ++i) set.names[i] = kClockNames[i];
  queue_.AddSet(set);
}

void NvmlClocks::Read() {
  for (uint32_t i = 0; i < count_; ++i) {
    const Handle handle = devices_[i].handle;
    CounterReading reading;
    for (float& value : reading.values) value = NAN;
    unsigned value = 0;
    unsigned long long reasons = 0;
    if (call_.ClockInfo(handle, machine::kNvmlSmClock, &value) == 0)
      reading.values[0] = static_cast<float>(value);
    if (call_.ClockInfo(handle, machine::kNvmlMemoryClock, &value) == 0)
      reading.values[1] = static_cast<float>(value);
    if (call_.PowerUsage != nullptr && call_.PowerUsage(handle, &value) == 0)
      reading.values[2] = static_cast<float>(value) / 1000.0f;
    if (call_.Temperature != nullptr && call_.Temperature(handle, machine::kNvmlGpuSensor, &value) == 0)
      reading.values[3] = static_cast<float>(value);
    if (call_.LimitReasons != nullptr && call_.LimitReasons(handle, &reasons) == 0)
      reading.values[4] = static_cast<float>(reasons);
    const int64_t now_ns = MonotonicNs();
    reading.entry = {now_ns, now_ns, devices_[i].set, 1, kCount};
    queue_.Put(reading);
  }
}

}  // namespace nl::capture
