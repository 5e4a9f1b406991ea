// SPDX-License-Identifier: Apache-2.0
#pragma once
// Snapshot: what crosses the arrow ledger -> analyze. A read-only view of one stored
// run: typed columns loaded on demand, and one string pool. It decodes the files itself (parquet_reader.h):
// on a small run, starting an engine would take longer than the whole analysis. SQL is for what columns
// cannot answer (sql_session.h). Nothing in a store or a bundle is believed: a file that is not as the run
// notes it, a column of another type than the schema's, a row id beyond the table it names and a time beyond
// kMostTime_ns are errors here, so that readers may rely on all of them. Thread rule: one thread at a time; a
// large load has threads of its own. Ownership: loaded columns belong to the caller, their string ids to this
// object's pool.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ledger/parquet_reader.h"
#include "ledger/run_parts.h"
#include "model/event_batch.h"
#include "model/string_pool.h"

namespace nl {

struct SnapshotOptions {
  const std::atomic<bool>* cancelled = nullptr;  // may be null
  int64_t threads = 0;                           // of a large load; 0: one per core
};

class Snapshot {
 public:
  static Result<std::unique_ptr<Snapshot>> Open(const RunSource& run, SnapshotOptions options = {});

  // The named columns of one table, in row order; the other vectors stay empty.
  // KernelColumns k; snapshot.Load(k, {"start_ns", "dur_ns"});
  Status Load(ColumnSet& to, const std::vector<const char*>& columns);
  // Every column of the rows numbered from `first_row`, at most `rows`; appended to `to`.
  Status LoadPart(ColumnSet& to, int64_t first_row, int64_t rows);

  const StringPool& strings() const { return strings_; }

 private:
  struct Target;  // a column and where its values go
  struct Piece;   // the rows of one row group that are wanted
  struct TableFiles {
    std::vector<std::unique_ptr<ParquetReader>> files;
    int64_t rows = 0;
  };
  Snapshot(RunParts parts, SnapshotOptions options) : parts_(std::move(parts)), options_(options) {}
  Result<const TableFiles*> FilesOf(const std::string& table);
  Status LoadRows(ColumnSet& to, const std::vector<const char*>& columns, int64_t first_row, int64_t rows);
  Status LoadNumbers(const std::vector<Piece>& pieces, const std::vector<Target>& targets) const;
  Status LoadTexts(const std::vector<Piece>& pieces, const Target& target);
  Status InParallel(size_t jobs, int64_t rows, const std::function<Status(size_t job)>& run) const;
  Status CheckValues(const TableInfo& table, const ColumnInfo& column, const void* vector, size_t from);

  RunParts parts_;
  SnapshotOptions options_;
  StringPool strings_;
  std::map<std::string, TableFiles> open_;
};

}  // namespace nl
