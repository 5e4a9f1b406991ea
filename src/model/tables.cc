// SPDX-License-Identifier: Apache-2.0
// The one source in which the members of every table are compiled (model/table.h says why).
// It stays out of unity builds: the macro must be set when the headers are first read.
#define NL_DEFINE_TABLES
#include "model/event_batch.h"

namespace nl {

EventBatch::EventBatch() = default;
EventBatch::EventBatch(const EventBatch&) = default;
EventBatch::EventBatch(EventBatch&&) noexcept = default;
EventBatch& EventBatch::operator=(const EventBatch&) = default;
EventBatch& EventBatch::operator=(EventBatch&&) noexcept = default;
EventBatch::~EventBatch() = default;

std::array<ColumnSet*, EventBatch::kTables> EventBatch::Tables() {
#define NL_TABLE_ADDRESS(Type, name) &name,
  return {NL_ALL_TABLES(NL_TABLE_ADDRESS)};
#undef NL_TABLE_ADDRESS
}

void EventBatch::Clear() {
  for (ColumnSet* table : Tables()) table->Clear();
}

#define NL_TABLE_INFO(Type, name) &Type##Columns::kInfo,
constinit const std::array<const TableInfo*, EventBatch::kTables> kAllTables = {NL_ALL_TABLES(NL_TABLE_INFO)};
#undef NL_TABLE_INFO

}  // namespace nl
