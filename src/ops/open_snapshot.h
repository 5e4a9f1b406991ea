// SPDX-License-Identifier: Apache-2.0
#pragma once
// What operations that analyse one stored run share: the run a person named, its
// snapshot, and tables of names with their options.
// Thread rule: one request, one thread.

#include <memory>
#include <string>
#include <vector>

#include "analyze/totals.h"
#include "ledger/snapshot.h"
#include "ops/open_store.h"

namespace nl {

struct OpenRun {
  std::unique_ptr<Store> store;
  CatalogRun run;
  std::unique_ptr<Snapshot> snapshot;
};
Result<OpenRun> OpenSnapshot(const OpContext& context, const std::string& ref);
Result<Json> ReadJsonFile(const std::string& path);
Result<Json> ReadDocument(const OpenRun& run);

// Parameters, reply and text of `operators` and `kernels`, which differ in their rows only.
struct TotalsParams {
  std::string run = "@latest", sort = "gpu";
  int64_t limit = 20, device = -1, stream = -1;
  bool by_shape = false, by_type = false, md = false, csv = false;

  void Bind(ParamBinder& binder, const std::vector<std::string>& sorts);
  TotalsFilter Filter() const;
};
enum class TotalsKind { kOperators, kKernels };
Json TotalsSchema(TotalsKind kind);
Reply TotalsReply(const OpenRun& run, std::vector<NameStats> stats, const TotalsParams& params,
                  TotalsKind kind);
std::string TotalsText(const Json& rows, TotalsKind kind, const TextStyle& style);

// What shares are parts of: all device time, or without any the self time of the host.
struct TotalsWhole {
  int64_t ns = 0;
  bool on_host = false;
};
TotalsWhole WholeOf(const std::vector<NameStats>& stats, TotalsKind kind);
// One row of either list, as in analysis replies.
Json NameStatsJson(const NameStats& stats, const TotalsWhole& whole, TotalsKind kind);

}  // namespace nl
