// SPDX-License-Identifier: Apache-2.0
#pragma once
// Do two programs give the same result? Their texts byte by byte, or number by number within a tolerance;
// files that they write, only if the run at hand wrote them. Thread rule: pure functions; files are read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl::bench {

// Where two texts differ, in one sentence; none: they are equal. With a tolerance above 0, words that are
// numbers may differ by that share of the larger one.
std::optional<std::string> TextDifference(std::string_view a, std::string_view b, double tolerance);

struct OutputFile {
  std::string path;  // as the pattern gave it
  std::string bytes;
};
// The files that match the patterns (glob), below `directory` when a pattern is relative, and were written
// since `since_ns` (Unix time). InvalidInput when a pattern matches none, or only files that are older.
Result<std::vector<OutputFile>> ReadOutputFiles(const std::vector<std::string>& patterns,
                                                const std::string& directory, int64_t since_ns);

// Names the file that differs.
std::optional<std::string> FilesDifference(const std::vector<OutputFile>& a, const std::vector<OutputFile>& b,
                                           double tolerance);

}  // namespace nl::bench
