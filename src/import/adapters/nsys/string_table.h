// SPDX-License-Identifier: Apache-2.0
#pragma once
// StringTable: table StringIds of an export. Every text is read once; it becomes a string
// of the run when a row first needs it (most are never needed: file contents, paths).
// Thread rule: one thread.

#include <unordered_map>
#include <vector>

#include "base/counter.h"
#include "import/read/sqlite_reader.h"
#include "model/string_pool.h"

namespace nl::adapters::nsys {

class StringTable {
 public:
  StringTable(StringPool& pool, CounterSet& counters) : pool_(pool), counters_(counters) {}
  // Without the table every number is missing, and counted when a row asks for it.
  Status Load(SqliteReader& reader);

  // The run's string; null when the export has none of that number.
  StringId Find(int64_t id);
  // The text itself; empty when there is none.
  std::string_view Text(int64_t id) const;
  // A text that stands in the row itself.
  StringId Add(std::string_view text);

 private:
  struct Entry {
    std::string_view text;
    StringId in_run = StringId::kNull;
  };
  const Entry* Lookup(int64_t id) const;

  StringPool& pool_;
  CounterSet& counters_;
  TextArena texts_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> dense_;  // entry + 1 by number, while the numbers are close together
  std::unordered_map<int64_t, uint32_t> sparse_;
};

}  // namespace nl::adapters::nsys
