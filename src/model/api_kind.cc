// SPDX-License-Identifier: Apache-2.0
#include "model/api_kind.h"

#include <algorithm>

namespace nl {

namespace {

// Names of the MTIA runtime, which are words rather than functions: "enqueueCommand memcpyHtoDAsync".
ApiKind ClassifyMtia(std::string_view name) {
  if (name.starts_with("runFunction")) return ApiKind::kLaunch;
  if (name == "synchronize" || name == "synchronizeStream") return ApiKind::kSync;
  if (name == "recordEvent") return ApiKind::kEventRecord;
  if (!name.starts_with("enqueueCommand ")) return ApiKind::kOther;
  if (name.ends_with(" waitOnEvent")) return ApiKind::kStreamWait;
  return name.find("memcpy") != std::string_view::npos ? ApiKind::kCopy : ApiKind::kOther;
}

}  // namespace

ApiKind ClassifyApi(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("Synchronize")) return ApiKind::kSync;
  if (has("GraphLaunch")) return ApiKind::kGraphLaunch;
  // cudaLaunchKernelExC, cuLaunchKernel, hipExtModuleLaunchKernel, cudaLaunchHostFunc
  if (has("Launch")) return ApiKind::kLaunch;
  if (has("EventRecord")) return ApiKind::kEventRecord;
  if (has("StreamWaitEvent")) return ApiKind::kStreamWait;
  if (has("Memset")) return ApiKind::kMemset;
  // hipMemcpyWithStream waits although it takes a stream.
  if (has("Memcpy")) return has("Async") || has("Enqueue") ? ApiKind::kCopy : ApiKind::kBlockingCopy;
  if (has("AppendMemoryCopy")) return ApiKind::kCopy;  // Level Zero
  const bool memory = has("Malloc") || has("Free") || has("MemAlloc") || has("HostAlloc") ||
                      has("HostRegister") || has("MemCreate") || has("MemRelease") || has("MemMap") ||
                      has("MemAddressReserve");
  if (!memory || has("FreeArray")) return ClassifyMtia(name);
  if (has("Async")) return ApiKind::kPoolAlloc;
  for (const std::string_view waits : {"cudaFree", "hipFree", "cuMemFree", "cuMemFree_v2"}) {
    if (name == waits) return ApiKind::kBlockingFree;
  }
  return ApiKind::kAlloc;
}

bool IsEventCall(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return has("EventRecord") || has("EventQuery") || has("EventCreate") || has("EventDestroy") ||
         has("EventElapsedTime") || has("EventSynchronize") || has("StreamIsCapturing") || name == "INVALID";
}

std::string_view ApiGroup(ApiKind kind) {
  switch (kind) {
    case ApiKind::kLaunch: return "launch";
    case ApiKind::kGraphLaunch: return "graph launch";
    case ApiKind::kSync: return "sync";
    case ApiKind::kMemset:
    case ApiKind::kCopy:
    case ApiKind::kBlockingCopy: return "copy";
    case ApiKind::kAlloc:
    case ApiKind::kBlockingFree:
    case ApiKind::kPoolAlloc: return "alloc";
    case ApiKind::kEventRecord:
    case ApiKind::kStreamWait:
    case ApiKind::kOther: break;
  }
  return "other";
}

std::string_view WithoutApiVersion(std::string_view name) {
  const size_t at = name.rfind("_v");
  if (at == std::string_view::npos || name.size() - at < 6) return name;
  const std::string_view digits = name.substr(at + 2);
  return std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })
             ? name.substr(0, at)
             : name;
}

WaitKind WaitOf(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("StreamWaitEvent")) return WaitKind::kStreamWait;
  if (has("EventSynchronize") || has("EventQuery")) return WaitKind::kEvent;
  if (has("StreamSynchronize")) return WaitKind::kStream;
  return has("DeviceSynchronize") || has("CtxSynchronize") ? WaitKind::kContext : WaitKind::kNone;
}

const char* NameOf(WaitKind kind) {
  switch (kind) {
    case WaitKind::kEvent: return "Event Sync";
    case WaitKind::kStreamWait: return "Stream Wait Event";
    case WaitKind::kStream: return "Stream Sync";
    case WaitKind::kContext: return "Context Sync";
    case WaitKind::kNone: break;
  }
  return nullptr;
}

}  // namespace nl
