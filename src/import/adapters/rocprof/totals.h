// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of sums that rocprofv3 --stats writes, where they are all there is of a recording:
// a run without a timeline (import/rows/synthesized_spans.h). What a table sums up is given by its file's
// name. Thread rule: pure functions.

#include <string_view>
#include <vector>

#include "import/adapter.h"

namespace nl::adapters::rocprof {

enum class Summed : uint8_t { kUnknown, kKernels, kCopies, kHipCalls, kHsaCalls, kOther };
Summed SummedBy(std::string_view file_name);

// Tables whose names gives no information are Unsupported when there are no others.
Status ImportTotals(std::vector<ImportFile>& files);

}  // namespace nl::adapters::rocprof
