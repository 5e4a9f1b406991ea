// SPDX-License-Identifier: Apache-2.0
#include "import/names/cuda_calls.h"

#include <algorithm>

namespace nl {

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
