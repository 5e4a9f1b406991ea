// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which processes and which time a CSV file of rocprof is of, without importing it, to separate the files of
// one recording from those of another with the same name.
// Thread rule: one thread.

#include <string>

#include "import/adapter.h"

namespace nl::adapters::rocprof {

// Empty for a file without such columns (agent_info.csv, tables of sums).
Result<RecordingSpan> CsvSpan(const std::string& path, bool exact);

}  // namespace nl::adapters::rocprof
