// SPDX-License-Identifier: Apache-2.0
#pragma once
// The JSON of rocprofv3 (results.json): tables of names and agents, then arrays of records.
// Thread rule: one thread.

#include <string>
#include <string_view>

#include "import/adapter.h"

namespace nl::adapters::rocprof {

bool LooksLikeJson(std::string_view head);
Status ImportJson(ImportFile& file, const std::string& path);

}  // namespace nl::adapters::rocprof
