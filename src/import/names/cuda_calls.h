// SPDX-License-Identifier: Apache-2.0
#pragma once
// What names of CUDA calls say, for every adapter that reads what CUPTI recorded.
// Thread rule: pure functions; the views point into the text.

#include <string_view>

#include "import/rows/launches.h"

namespace nl {

// "cudaLaunchKernel_v7000" without "_v7000", as other profilers write it; "cuMemcpyHtoD_v2" stays.
std::string_view WithoutApiVersion(std::string_view name);
// What the call waits for.
WaitKind WaitOf(std::string_view name);
// Name of a row of table sync; null for kNone.
const char* NameOf(WaitKind kind);

}  // namespace nl
