// SPDX-License-Identifier: Apache-2.0
#pragma once
// EventBatch: rows of every event table, as one importer thread produced them from
// one piece of input. String and thread ids are local to the producer until the
// sink makes them the run's own. The tables are those of model/tables/, listed by CMake
// (cmake/tables.cmake) in the order of their file names.
// Thread rule: one thread at a time. Ownership: plain value.

#include <array>

#include "model/all_tables.h"

namespace nl {

// Place of each table in EventBatch::Tables() and kAllTables.
enum class Table : uint8_t {
#define NL_TABLE_PLACE(Type, name) k##Type,
  NL_ALL_TABLES(NL_TABLE_PLACE)
#undef NL_TABLE_PLACE
      kCount
};

struct EventBatch {
#define NL_TABLE_MEMBER(Type, name) Type##Columns name;
  NL_ALL_TABLES(NL_TABLE_MEMBER)
#undef NL_TABLE_MEMBER

  static constexpr size_t kTables = static_cast<size_t>(Table::kCount);

  EventBatch();
  EventBatch(const EventBatch&);
  EventBatch(EventBatch&&) noexcept;
  EventBatch& operator=(const EventBatch&);
  EventBatch& operator=(EventBatch&&) noexcept;
  ~EventBatch();

  // Every table, in the order of the members.
  std::array<ColumnSet*, kTables> Tables();
  void Clear();
};

// Descriptions of every table, in the same order.
extern const std::array<const TableInfo*, EventBatch::kTables> kAllTables;

}  // namespace nl
