// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/api_list.h"

namespace nl::capture {

namespace {

// Beginnings of the part after "cuda" or "cu".
constexpr std::string_view kListed[] = {
    "Launch",
    "GraphLaunch",
    "GraphInstantiate",
    "GraphExecUpdate",
    "GraphExecDestroy",
    "GraphUpload",
    "GraphDestroy",
    "StreamBeginCapture",
    "StreamEndCapture",
    "Memcpy",
    "Memset",
    "MemPrefetch",
    "Malloc",
    "Free",
    "MemAlloc",
    "MemFree",
    "MemCreate",
    "MemRelease",
    "MemMap",
    "MemUnmap",
    "HostAlloc",
    "MemHostAlloc",
    "HostRegister",
    "HostUnregister",
    "MemHostRegister",
    "MemHostUnregister",
    "StreamSynchronize",
    "StreamWaitEvent",
    "StreamWaitValue",
    "StreamCreate",
    "StreamDestroy",
    "EventRecord",
    "EventSynchronize",
    "EventQuery",
    "StreamQuery",
    "DeviceSynchronize",
    "CtxSynchronize",
    "CtxCreate",
    "CtxDestroy",
    "DeviceReset",
    "ModuleLoad",
    "ModuleUnload",
    "LibraryLoad",
    "LibraryUnload",
    "DevicePrimaryCtxRetain",
};
// What begins like one of those and is only a question.
constexpr std::string_view kNotListed[] = {"MemcpyGetInfo", "LaunchKernelExGetInfo"};

cupti::Wait WaitOfName(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("StreamSynchronize")) return cupti::Wait::kStream;
  if (has("EventSynchronize")) return cupti::Wait::kEvent;
  if (has("StreamWaitEvent")) return cupti::Wait::kStreamForEvent;
  if (has("DeviceSynchronize") || has("CtxSynchronize")) return cupti::Wait::kContext;
  return cupti::Wait::kNothing;
}

}  // namespace

bool IsListedApi(std::string_view name) {
  if (name.starts_with("cuda"))
    name.remove_prefix(4);
  else if (name.starts_with("cu"))
    name.remove_prefix(2);
  else
    return false;
  for (const std::string_view unwanted : kNotListed) {
    if (name.starts_with(unwanted)) return false;
  }
  for (const std::string_view wanted : kListed) {
    if (name.starts_with(wanted)) return true;
  }
  return false;
}

void ApiList::Learn(const cupti::Functions& call, bool all) {
  for (const int number : {cupti::kRuntimeApi, cupti::kDriverApi}) {
    Domain& domain = number == cupti::kRuntimeApi ? runtime_ : driver_;
    uint32_t missing = 0;
    // CUPTI 13 has 500 runtime and 800 driver calls; a gap of 64 is the end.
    for (uint32_t id = 1; id < kMostIds && missing < 64; ++id) {
      const char* name = nullptr;
      if (call.GetCallbackName(number, id, &name) != cupti::kSuccess || name == nullptr) {
        ++missing;
        continue;
      }
      missing = 0;
      domain.name[id] = name;
      domain.listed[id] = all || IsListedApi(name);
      domain.wait[id] = WaitOfName(name);
      domain.threads_stream[id] = std::string_view(name).find("_ptsz") != std::string_view::npos;
      domain.last = id;
    }
  }
}

}  // namespace nl::capture
