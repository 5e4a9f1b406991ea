// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables that `nsys stats --format csv` prints: sums per name, without the events. One or
// several tables of one recording become a run without a timeline (import/rows/synthesized_spans.h).
// Thread rule: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "import/adapter.h"

namespace nl::adapters::nsys {

// Does it begin with the header of such a table?
bool LooksLikeStats(std::string_view head);

// Which of them, and the name it shares with the others of a recording: "report1" of
// report1_cuda_gpu_kern_sum.csv. Sizes of copies and traces have no part: they hold no sums of times.
FileRole StatsRole(std::string_view head, std::string_view file_name);

// Unsupported: a table without sums of times, and what to import instead.
Error RefuseStats(std::string_view head, std::string_view path);

// The tables of one recording, each once.
Status ImportStats(std::vector<ImportFile>& files);

}  // namespace nl::adapters::nsys
