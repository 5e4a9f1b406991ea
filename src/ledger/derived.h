// SPDX-License-Identifier: Apache-2.0
#pragma once
// Derived files: what is computed from a run once and kept, such as the overview of its timeline. They lie in
// derived/<run_id>/ of the store, outside the run, whose files never change. They are a cache: whoever reads
// one must be able to make it again, and deleting the folder derived/ loses nothing. The name of a file
// carries its checksum: <name>.<checksum>.parquet. Staged in the same folder and renamed, so that any number
// of processes may make the same file. Thread rule: free functions; any number of processes on one store.

#include <functional>
#include <string>

#include "base/result.h"
#include "ledger/store.h"

namespace nl {

std::string DerivedPath(const std::string& store_path);

// Path of a whole derived file; empty: there is none, or it is damaged.
std::string FindDerived(const Store& store, const std::string& run_id, const std::string& name);

// `write` writes the file at the path it is given and returns its checksum (ledger/run_files.h).
using DerivedWriter = std::function<Result<uint64_t>(const std::string& path)>;
Status WriteDerived(const Store& store, const std::string& run_id, const std::string& name,
                    const DerivedWriter& write);

// Deletes all that was derived from a run; gives the bytes freed. Absent is fine.
Result<int64_t> RemoveDerived(const std::string& store_path, const std::string& run_id);

}  // namespace nl
