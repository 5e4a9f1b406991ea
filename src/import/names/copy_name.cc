// SPDX-License-Identifier: Apache-2.0
#include "import/names/copy_name.h"

#include <utility>

namespace nl {

CopyName ParseCopyName(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kKinds[] = {{"HtoD", "HtoD"},
                                                                             {"DtoH", "DtoH"},
                                                                             {"DtoD", "DtoD"},
                                                                             {"HtoH", "HtoH"},
                                                                             {"PtoP", "PtoP"},
                                                                             {"HtoA", "HtoA"},
                                                                             {"AtoH", "AtoH"},
                                                                             {"HostToDevice", "HtoD"},
                                                                             {"DeviceToHost", "DtoH"},
                                                                             {"DeviceToDevice", "DtoD"},
                                                                             {"HostToHost", "HtoH"},
                                                                             {"Host-to-Device", "HtoD"},
                                                                             {"Device-to-Host", "DtoH"},
                                                                             {"Device-to-Device", "DtoD"},
                                                                             {"Host-to-Host", "HtoH"},
                                                                             {"Peer-to-Peer", "PtoP"},
                                                                             {"HOST_TO_DEVICE", "HtoD"},
                                                                             {"DEVICE_TO_HOST", "DtoH"},
                                                                             {"DEVICE_TO_DEVICE", "DtoD"},
                                                                             {"HOST_TO_HOST", "HtoH"}};
  CopyName out;
  for (const auto& [spelled, kind] : kKinds) {
    if (name.find(spelled) == std::string_view::npos) continue;
    out.kind = kind;
    break;
  }
  const size_t open = name.find('('), arrow = name.find(" -> "), close = name.rfind(')');
  if (open == std::string_view::npos || arrow == std::string_view::npos || close == std::string_view::npos ||
      arrow < open || close < arrow)
    return out;
  out.src = name.substr(open + 1, arrow - open - 1);
  out.dst = name.substr(arrow + 4, close - arrow - 4);
  return out;
}

}  // namespace nl
