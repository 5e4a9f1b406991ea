// SPDX-License-Identifier: Apache-2.0
#pragma once
// RunData: the columns of one run that the passes read, loaded once from a Snapshot
// (or filled by a test), and the run document.
// Thread rule: read-only once loaded; any thread may read. Ownership: owns the columns;
// the string pool belongs to the snapshot and must outlive this.

#include <string>
#include <string_view>
#include <vector>

#include "base/intervals.h"
#include "base/json.h"
#include "base/result.h"
#include "ledger/snapshot.h"
#include "model/event_batch.h"

namespace nl {

// Times in which recording paused, as a run document has them; in order.
std::vector<Interval> PausesOf(const Json& document);

// Its tables are those of EventBatch; the ones no pass reads stay empty.
struct RunData : EventBatch {
  Json document = Json::object();  // run.json
  const StringPool* strings = nullptr;

  std::string_view Text(StringId id) const { return strings->Text(id); }
  // True when durations were measured one by one, so that starts give only the order.
  bool OrderOnly() const;
  std::vector<Interval> Pauses() const { return PausesOf(document); }
};

// Loads the columns that passes read, of every table above.
Status LoadRunData(Snapshot& snapshot, RunData& to);

}  // namespace nl
