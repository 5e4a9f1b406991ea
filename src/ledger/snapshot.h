// SPDX-License-Identifier: Apache-2.0
#pragma once
// Snapshot: what crosses the arrow ledger -> analyze. A read-only view of one stored
// run: typed columns loaded on demand, one string pool, SQL when columns do not do.
// Nothing in a store or a bundle is believed: a column of another type than the schema's, a row id beyond
// the table it names and a time beyond kMostTime_ns are errors here, so that readers may rely on all three.
// Thread rule: one thread at a time. Ownership: loaded columns belong to the caller,
// their string ids to this object's pool.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ledger/sql_session.h"
#include "model/event_batch.h"
#include "model/string_pool.h"

namespace nl {

class Snapshot {
 public:
  Snapshot(std::unique_ptr<SqlSession> session, const std::atomic<bool>* cancelled)
      : session_(std::move(session)), cancelled_(cancelled) {}

  // The named columns of one table, in row order; the other vectors stay empty.
  // KernelColumns k; snapshot.Load(k, {"start_ns", "dur_ns"});
  Status Load(ColumnSet& to, const std::vector<const char*>& columns);
  // Every column of the rows numbered from `first_row`, at most `rows`; appended to `to`.
  Status LoadPart(ColumnSet& to, int64_t first_row, int64_t rows);

  const StringPool& strings() const { return strings_; }
  SqlSession& sql() { return *session_; }

 private:
  Status LoadColumns(ColumnSet& to, const std::vector<const char*>& columns, const std::string& where);
  Status CheckValues(const TableInfo& table, const ColumnInfo& column, const void* vector, size_t from);
  Result<int64_t> RowsOf(const std::string& table);
  std::unique_ptr<SqlSession> session_;
  const std::atomic<bool>* cancelled_;
  StringPool strings_;
  std::map<std::string, int64_t> rows_of_;
};

}  // namespace nl
