// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces that several Markdown forms of a report share.
// Thread rule: pure functions.

#include <string>

#include "base/json.h"

namespace nl {

std::string RunTitle(const Json& report);     // "base on NVIDIA H200"
std::string DeviceLabel(const Json& device);  // "rank 1 GPU 0 NVIDIA H200"
std::string BytesAt(const Json& object, const char* key);
// One warning line per kind of lost or suspect record, and the profiler's own cost; "" when clean.
std::string LossLines(const Json& report);
// Tables end with a newline; "" when there are no rows. `heading` goes before them.
std::string OperatorTable(const Json& report, size_t rows, const std::string& heading);
std::string KernelTable(const Json& report, size_t rows, const std::string& heading);
std::string StageTable(const Json& report);
std::string EnvironmentTable(const Json& report);

}  // namespace nl
