// SPDX-License-Identifier: Apache-2.0
#pragma once
// RunColumns: the columns of one run that are loaded so far, and the run document.
// RunData: what a reader (a pass, a comparison, a report) sees of them: the columns it declares.
// Thread rule: read-only once loaded; any thread may read. Ownership: RunColumns owns the columns;
// the string pool belongs to the snapshot and must outlive it. RunData owns nothing.

#include <string_view>
#include <vector>

#include "base/intervals.h"
#include "base/json.h"
#include "base/result.h"
#include "ledger/snapshot.h"
#include "model/reads.h"

namespace nl {

// Times in which recording paused, as a run document has them; in order.
std::vector<Interval> PausesOf(const Json& document);

struct RunColumns : EventBatch {
  Json document = Json::object();  // run.json
  const StringPool* strings = nullptr;
  Reads loaded;

  // Loads those columns of `reads` that are not loaded yet. Columns that are loaded do not move.
  // After an error the columns are incomplete and must not be used.
  Status Load(Snapshot& snapshot, const Reads& reads);
  size_t Bytes();  // of the values of all columns
};

struct RunData {
#define NL_TABLE_VIEW(Type, name) Type##View name;
  NL_ALL_TABLES(NL_TABLE_VIEW)
#undef NL_TABLE_VIEW
  const Json& document;  // run.json
  const StringPool* strings;

  // Shows the columns that `reads` declares, which must be loaded. `reader` is named when it reads
  // another, such as "pass idle"; it and `from` must outlive this.
  RunData(const RunColumns& from, const Reads& reads, const char* reader);
  void Show(const RunColumns& from, const Reads& reads, const char* reader);

  std::string_view Text(StringId id) const { return strings->Text(id); }
  // Text at a place of run.json, such as "/software/backend"; "" where there is none.
  std::string_view Noted(const char* place) const;
  // Whether the recorder started the program, so that the run has its imports and initialisation.
  bool FromProgramStart() const;
  // True when durations were measured one by one, so that starts give only the order.
  bool OrderOnly() const;
  std::vector<Interval> Pauses() const { return PausesOf(document); }
};

}  // namespace nl
