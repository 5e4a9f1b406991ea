// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report a profile is kept in (.ncu-rep). Its format is the profiler's own: an installed
// ncu prints the pages that are then read.
// Thread rule: one thread.

#include <string>

#include "import/adapter.h"

namespace nl::adapters::ncu {

// Does the name say report, and do the bytes not say text?
bool LooksLikeReport(std::string_view head, std::string_view file_name);

struct PrintedPages {
  std::string raw, details;  // paths
};
// Prints both pages of `report` into `folder`: exact metrics stand on the raw page, what the
// rules say on the details page. Unsupported when there is no ncu; when it fails,
// InvalidInput with what it said.
Result<PrintedPages> PrintPages(const ImportFile& file, const std::string& report, const std::string& folder);

}  // namespace nl::adapters::ncu
