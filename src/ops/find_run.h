// SPDX-License-Identifier: Apache-2.0
#pragma once
// The run that a person named, in the store that holds it: the user's, or for `@live` the partial run of a
// recording that is under way (docs/live.md). A partial run is imported when it is asked for, at most every
// two seconds and never for more than a fifth of the time.
// Thread rule: one request, one thread. Ownership: a partial run is kept while `in_use` is.

#include <memory>
#include <string>
#include <vector>

#include "base/file_ops.h"
#include "ledger/live.h"
#include "ops/open_store.h"

namespace nl {

struct FoundRun {
  std::unique_ptr<Store> store;
  CatalogRun run;
  std::shared_ptr<UniqueFd> in_use;  // of a partial run
};
// `ref`: what Catalog::Resolve takes, `@live` (the newest recording), `@live:ID` with the beginning of its
// id, or the id of a partial run.
Result<FoundRun> FindRun(const OpContext& context, const std::string& ref);

struct FoundRuns {
  std::unique_ptr<Store> store;
  std::vector<CatalogRun> runs;
  std::shared_ptr<UniqueFd> in_use;
};
// As ResolveRuns; a partial run is alone.
Result<FoundRuns> FindRuns(const OpContext& context, const std::vector<std::string>& refs);

// The recording that `@live` or `@live:ID` names.
Result<LiveRecording> FindLive(const std::string& store_path, std::string_view ref);

}  // namespace nl
