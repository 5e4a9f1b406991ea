// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens ls`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ledger/catalog.h"

namespace nl {

struct ListedRun : CatalogRun {
  std::string short_id;
};
inline void Describe(Record<ListedRun>& r) {
  r.Name("ListedRun", "A run of the store, with the shortest id that names it");
  r.Base<CatalogRun>();
  r.Field("short_id", &ListedRun::short_id,
          "Shortest prefix of the id, 8 characters or more, that is unique");
}

struct LsReply {
  std::string store;
  int64_t total = 0, runs_total = 0;
  std::optional<int64_t> next_offset;
  std::vector<ListedRun> runs;
  std::optional<RunChoices> choices;
  std::optional<std::vector<WorkloadHistory>> histories;
};
inline void Describe(Record<LsReply>& r) {
  r.Name("LsReply", "Reply of `neurolens ls`");
  r.Field("store", &LsReply::store, "Folder of the store");
  r.Field("total", &LsReply::total, "Runs in the store, before filters");
  r.Field("runs_total", &LsReply::runs_total, "Runs that match the filters, on all pages");
  r.Field("next_offset", &LsReply::next_offset, "Offset of the next page; null: this is the last one");
  r.Field("runs", &LsReply::runs, "Runs that match the filters, in the order asked for");
  r.OptionalField("choices", &LsReply::choices, "What runs can be filtered by; with `choices`");
  r.OptionalField("histories", &LsReply::histories,
                  "Workloads of the listed runs that have two runs or more; with `history`");
}

// The run with its short id, from the catalog that holds it.
inline Result<ListedRun> ListRun(Catalog& catalog, const CatalogRun& run) {
  ListedRun listed;
  static_cast<CatalogRun&>(listed) = run;
  NL_ASSIGN(listed.short_id, catalog.ShortId(run.run_id));
  return listed;
}

}  // namespace nl
