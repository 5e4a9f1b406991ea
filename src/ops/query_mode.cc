// SPDX-License-Identifier: Apache-2.0
#include "ops/query_mode.h"

#include <string_view>

#include "ledger/query_process.h"

namespace nl {

std::optional<int> RunAsQueryProcess(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == kQueryProcessArgument) return ServeQuery();
  UseQueryProcess();
  return std::nullopt;
}

}  // namespace nl
