// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces that several Markdown forms of a report share.
// Thread rule: pure functions.

#include <string>

#include "report/report_model.h"

namespace nl {

std::string RunTitle(const Report& report);         // "base on NVIDIA H200"
std::string DeviceLabel(const DeviceTime& device);  // "rank 1 GPU 0 NVIDIA H200"
// One warning line per kind of lost or suspect record, and the profiler's own cost; "" when clean.
std::string LossLines(const Report& report);
// Tables end with a newline; "" when there are no rows. `heading` goes before them.
std::string OperatorTable(const Report& report, size_t rows, const std::string& heading);
std::string KernelTable(const Report& report, size_t rows, const std::string& heading);
std::string StageTable(const Report& report);
std::string EnvironmentTable(const Report& report);

}  // namespace nl
