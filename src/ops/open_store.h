// SPDX-License-Identifier: Apache-2.0
#pragma once
// What operations on stored runs share: the configured store, the runs a person
// named, SQL over them. Sits between ops/<name> and the ledger.
// Thread rule: as Store and SqlSession, one thread at a time.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ledger/query_process.h"
#include "ledger/sql_session.h"
#include "ledger/store.h"
#include "ops/op.h"

namespace nl {

// The store of the settings. kReadOnly on a missing store is NotFound.
Result<std::unique_ptr<Store>> OpenStore(const OpContext& context, Store::Mode mode);

// One run each, in the order given and without repeats; `@all` is every run, oldest first.
Result<std::vector<CatalogRun>> ResolveRuns(Store& store, const std::vector<std::string>& refs);

// SQL over the tables of `runs`, with the limits of the settings. The `run` column
// holds the shortest id that names the run; the view `runs` lists them all.
Result<std::unique_ptr<SqlSession>> OpenSql(const OpContext& context, Store& store,
                                            const std::vector<CatalogRun>& runs);
// The same for the SQL of a user: to be completed with the statement and run by RunQuery.
Result<QueryRequest> RequestSql(const OpContext& context, Store& store, const std::vector<CatalogRun>& runs);

// Row and time limits of the settings, and the request's cancel flag.
SqlLimits SettingsLimits(const OpContext& context);

// "2025-11-15 01:32" (UTC).
std::string ShortTime(int64_t unix_ns);

}  // namespace nl
