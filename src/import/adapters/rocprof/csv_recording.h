// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CSV files of rocprofv3 (one for each kind of record, together one recording) and the
// single table of rocprof v1 and v2.
// Thread rule: one thread.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/adapter.h"

namespace nl::adapters::rocprof {

// What a file is by its header line and first row: "kernel_trace", "hip_api", ...; "totals" for
// tables of sums; "dispatches" for v1 and v2; empty: none of ours.
std::string CsvPart(std::string_view head);
// The name that the files of one recording share: "908" of 908_kernel_trace.csv, "." of
// kernel_trace.csv; empty when the name gives no information.
std::string CsvSet(std::string_view file_name);

// One file, or the files of one recording, in any order, each with its part. The run's facts
// go to the first.
Status ImportCsv(const std::vector<std::pair<ImportFile*, std::string>>& files);

}  // namespace nl::adapters::rocprof
