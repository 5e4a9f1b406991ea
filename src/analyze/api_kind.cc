// SPDX-License-Identifier: Apache-2.0
#include "analyze/api_kind.h"

namespace nl {

namespace {
bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
}  // namespace

ApiKind ClassifyApi(std::string_view name) {
  if (Has(name, "GraphLaunch")) return ApiKind::kGraphLaunch;
  if (Has(name, "Launch"))
    return ApiKind::kLaunch;  // cudaLaunchKernelExC, cuLaunchKernel, hipExtModuleLaunchKernel
  if (Has(name, "Synchronize")) return ApiKind::kSync;
  if (Has(name, "Memcpy") || Has(name, "Memset")) return ApiKind::kCopy;
  if (Has(name, "Malloc") || Has(name, "Free") || Has(name, "MemAlloc") || Has(name, "HostAlloc") ||
      Has(name, "HostRegister") || Has(name, "MemCreate") || Has(name, "MemMap") ||
      Has(name, "MemAddressReserve")) {
    return ApiKind::kAlloc;
  }
  return ApiKind::kOther;
}

std::string_view ApiKindName(ApiKind kind) {
  constexpr std::string_view names[kApiKinds] = {"launch", "graph launch", "sync", "copy", "alloc", "other"};
  return names[static_cast<size_t>(kind)];
}

bool IsBlockingCopy(std::string_view name) { return Has(name, "Memcpy") && !Has(name, "Async"); }

}  // namespace nl
