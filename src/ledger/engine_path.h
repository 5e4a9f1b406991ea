// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of files for DuckDB, which reads * ? [ in a name as a pattern and a=b as a column, and refuses bytes
// that are not UTF-8. The part of a path up to the last such folder is opened once in this process and named
// /proc/self/fd/N instead.
// Thread rule: any thread. The descriptors stay open; there is one for each store with such a name.

#include <string>

#include "base/result.h"

namespace nl {

// `absolute_path` itself when it is plain.
Result<std::string> EnginePath(const std::string& absolute_path);

}  // namespace nl
