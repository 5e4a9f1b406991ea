// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports that a profiler keeps in a format of its own: the installed profiler is called to
// print what an adapter can read. What adapters of such reports share.
// Thread rule: free functions; one import, one thread.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/adapter.h"

namespace nl {

// Does the name (less .gz, .zst) end like a report, and do the bytes not say text?
bool LooksLikeReportFile(std::string_view head, std::string_view file_name,
                         std::span<const std::string_view> endings);

// A name for the report inside `folder`: profilers recognise reports by their ending, which an
// unpacked copy does not have.
Result<std::string> LinkReport(const std::string& report, const std::string& folder, std::string_view name);

struct ExportCall {
  std::vector<std::string> arguments;  // the program first
  std::string what;                    // as messages name it: nsys export
  std::string hint;                    // when it fails
  std::string output;                  // the file it makes
  bool prints = false;                 // to standard output, which becomes that file
};
// Progress is the size of the output. When it fails or makes nothing, InvalidInput with what
// it said.
Status RunExport(const ImportFile& file, const ExportCall& call);

}  // namespace nl
