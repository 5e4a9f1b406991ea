// SPDX-License-Identifier: Apache-2.0
#pragma once
// The programs of others that `neurolens deep` runs (Nsight Compute, Nsight Systems): whether they are here,
// how they are called, and what they say when they fail.
// Thread rule: free functions; FindTool runs the program for its version.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl::deep {

struct Tool {
  std::string name;     // "ncu", "nsys"
  std::string path;     // empty: not on PATH
  std::string version;  // "2025.3.1.0"; empty: it did not print one
  std::string detail;   // one sentence: what was found, or what is missing and how to get it
};
Tool FindTool(std::string_view name);
// NotFound with `detail` when the tool is not on PATH.
Result<Tool> NeedTool(std::string_view name);

// "Version 2025.3.1.0 (build 36398880)" and "NVIDIA Nsight Systems version 2025.3.2.474-..." -> the number.
std::string VersionIn(std::string_view text);

// What a user does about ERR_NVGPUCTRPERM.
extern const char* const kCounterPermission;

// The lines of a log that ncu or nsys marks as errors ("==ERROR== ..."), without the mark; without any, the
// last lines.
std::string ToolsWords(std::string_view log, size_t most_lines = 6);

}  // namespace nl::deep
