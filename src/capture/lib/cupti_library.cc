// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "capture/control.h"
#include "capture/lib/system.h"

namespace nl::capture {

namespace {

// Names under which a program may have loaded it already, newest first.
constexpr const char* kCuptiNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
constexpr const char* kFolders[] = {"/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64",
                                    "/usr/local/cuda/lib", "/opt/cuda/extras/CUPTI/lib64"};

void* Open(char* found, size_t found_bytes) {
  if (const char* given = std::getenv(kCuptiVariable); given != nullptr && given[0] != '\0') {
    std::snprintf(found, found_bytes, "%s", given);
    return dlopen(given, RTLD_NOW | RTLD_LOCAL);
  }
  // One that the program brings along fits its CUDA; a second one would not see its calls.
  for (const char* name : kCuptiNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  for (const char* name : kCuptiNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  for (const char* folder : kFolders) {
    for (const char* name : kCuptiNames) {
      char path[256];
      std::snprintf(path, sizeof path, "%s/%s", folder, name);
      if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

}  // namespace

bool LoadCupti(CuptiLibrary& to) {
  void* library = Open(to.path, sizeof to.path);
  if (library == nullptr) {
    const char* why = dlerror();
    std::snprintf(to.problem, sizeof to.problem, "libcupti could not be loaded: %s",
                  why != nullptr ? why : "");
    return false;
  }
  to.handle = library;
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0')
    std::snprintf(to.path, sizeof to.path, "%s", map->l_name);
  cupti::Functions& f = to.call;
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!TakeSymbol(library, name, function)) missing = name;
  };
  need("cuptiGetVersion", f.GetVersion);
  need("cuptiGetResultString", f.GetResultString);
  need("cuptiGetTimestamp", f.GetTimestamp);
  need("cuptiSubscribe", f.Subscribe);
  need("cuptiUnsubscribe", f.Unsubscribe);
  need("cuptiEnableCallback", f.EnableCallback);
  need("cuptiGetCallbackName", f.GetCallbackName);
  need("cuptiActivityRegisterCallbacks", f.ActivityRegisterCallbacks);
  need("cuptiActivityEnable", f.ActivityEnable);
  need("cuptiActivityDisable", f.ActivityDisable);
  need("cuptiActivityFlushAll", f.ActivityFlushAll);
  need("cuptiActivityGetNextRecord", f.ActivityGetNextRecord);
  need("cuptiActivityGetNumDroppedRecords", f.ActivityGetNumDroppedRecords);
  TakeSymbol(library, "cuptiActivitySetAttribute", f.ActivitySetAttribute);
  TakeSymbol(library, "cuptiGetStreamIdEx", f.GetStreamIdEx);
  TakeSymbol(library, "cuptiSetThreadIdType", f.SetThreadIdType);
  TakeSymbol(library, "cuptiGetDeviceId", f.GetDeviceId);
  TakeSymbol(library, "cuptiEnableDomain", f.EnableDomain);
  TakeSymbol(library, "cuptiFinalize", f.Finalize);
  if (missing != nullptr) {
    std::snprintf(to.problem, sizeof to.problem, "%.200s has no function %s", to.path, missing);
    return false;
  }
  if (f.GetVersion(&to.version) != cupti::kSuccess) to.version = 0;
  return true;
}

bool LoadPmSampling(const CuptiLibrary& library, cupti::pm::Functions& to, char* problem,
                    size_t problem_bytes) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!TakeSymbol(library.handle, name, function)) missing = name;
  };
  need("cuptiProfilerInitialize", to.ProfilerInitialize);
  need("cuptiDeviceGetChipName", to.DeviceGetChipName);
  need("cuptiProfilerHostInitialize", to.ProfilerHostInitialize);
  need("cuptiProfilerHostDeinitialize", to.ProfilerHostDeinitialize);
  need("cuptiProfilerHostGetMetricProperties", to.ProfilerHostGetMetricProperties);
  need("cuptiProfilerHostConfigAddMetrics", to.ProfilerHostConfigAddMetrics);
  need("cuptiProfilerHostGetConfigImageSize", to.ProfilerHostGetConfigImageSize);
  need("cuptiProfilerHostGetConfigImage", to.ProfilerHostGetConfigImage);
  need("cuptiProfilerHostGetNumOfPasses", to.ProfilerHostGetNumOfPasses);
  need("cuptiProfilerHostEvaluateToGpuValues", to.ProfilerHostEvaluateToGpuValues);
  need("cuptiPmSamplingEnable", to.PmSamplingEnable);
  need("cuptiPmSamplingDisable", to.PmSamplingDisable);
  need("cuptiPmSamplingSetConfig", to.PmSamplingSetConfig);
  need("cuptiPmSamplingStart", to.PmSamplingStart);
  need("cuptiPmSamplingStop", to.PmSamplingStop);
  need("cuptiPmSamplingDecodeData", to.PmSamplingDecodeData);
  need("cuptiPmSamplingGetCounterAvailability", to.PmSamplingGetCounterAvailability);
  need("cuptiPmSamplingGetCounterDataSize", to.PmSamplingGetCounterDataSize);
  need("cuptiPmSamplingCounterDataImageInitialize", to.PmSamplingCounterDataImageInitialize);
  need("cuptiPmSamplingGetCounterDataInfo", to.PmSamplingGetCounterDataInfo);
  need("cuptiPmSamplingCounterDataGetSampleInfo", to.PmSamplingCounterDataGetSampleInfo);
  TakeSymbol(library.handle, "cuptiProfilerDeInitialize", to.ProfilerDeInitialize);
  TakeSymbol(library.handle, "cuptiProfilerDeviceSupported", to.ProfilerDeviceSupported);
  if (missing == nullptr) return true;
  std::snprintf(
      problem, problem_bytes,
      "hardware counters are not recorded: %.120s has no function %s (PM sampling came with CUDA 12.6)",
      library.path, missing);
  return false;
}

void LoadPerfLibraries(const CuptiLibrary& library) {
  const char* slash = std::strrchr(library.path, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - library.path);
  for (const char* name : {"libnvperf_host.so", "libnvperf_target.so"}) {
    char path[sizeof library.path + 32];
    std::snprintf(path, sizeof path, "%.*s%s", folder, library.path, name);
    dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  }
}

}  // namespace nl::capture
