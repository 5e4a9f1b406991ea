// SPDX-License-Identifier: Apache-2.0
#pragma once
// What operations that analyse one stored run share: the run that was asked for and its
// snapshot.
// Thread rule: one request, one thread.

#include <memory>
#include <string>

#include "ledger/snapshot.h"
#include "ops/find_run.h"
#include "ops/open_store.h"

namespace nl {

struct OpenRun {
  std::unique_ptr<Store> store;
  CatalogRun run;
  std::shared_ptr<UniqueFd> in_use;  // of a partial run (ops/find_run.h)
  std::unique_ptr<Snapshot> snapshot;
};
Result<OpenRun> OpenSnapshot(const OpContext& context, const std::string& ref);
Result<std::unique_ptr<Snapshot>> SnapshotOf(const OpContext& context, Store& store, const CatalogRun& run);
Result<Json> ReadJsonFile(const std::string& path);
Result<Json> ReadDocument(const OpenRun& run);

}  // namespace nl
