// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report a recording is kept in (.nsys-rep). Its format is the profiler's own: an
// installed nsys makes the SQLite export that is then read.
// Thread rule: one thread.

#include <string>

#include "import/adapter.h"

namespace nl::adapters::nsys {

// Does the name say report, and do the bytes not say text?
bool LooksLikeReport(std::string_view head, std::string_view file_name);

// Exports `report` into `folder`; gives the path of the database. Unsupported when there is
// no nsys; when it fails, InvalidInput with what it said.
Result<std::string> ExportReport(const ImportFile& file, const std::string& report,
                                 const std::string& folder);

}  // namespace nl::adapters::nsys
