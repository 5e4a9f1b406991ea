// SPDX-License-Identifier: Apache-2.0
#pragma once
// The SQL of the catalog's list of runs: filter, order, the values that runs can be filtered by, and the
// histories of their workloads. Thread rule: as the connection, one thread at a time. Ownership: the
// connection is borrowed.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ledger/catalog.h"

struct sqlite3;

namespace nl {

// The functions that the SQL below calls; once for each connection.
Status AddListFunctions(sqlite3* db, const std::string& path);

// The ORDER BY of a list over `run r`.
std::string OrderOf(const RunFilter& filter);

// The WHERE of a filter over `run r`, and the values it binds, in order.
std::string WhereOf(const RunFilter& filter, std::vector<std::string>& values);

Result<RunChoices> ReadChoices(sqlite3* db, const std::string& path, int64_t limit);
Result<std::vector<WorkloadHistory>> ReadHistories(sqlite3* db, const std::string& path,
                                                   const std::vector<CatalogRun>& runs, int64_t newest);

}  // namespace nl
