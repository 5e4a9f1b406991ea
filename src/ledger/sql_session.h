// SPDX-License-Identifier: Apache-2.0
#pragma once
// SqlSession: read-only SQL over the Parquet tables of the selected runs, for
// people who may type anything. One view per table, first column `run`.
// Fences, from outside in: the text guard (sql_guard.h), the type of the prepared
// statement, and the engine itself: it may open only the runs' Parquet files, no
// extension, no setting can be changed, memory and threads are limited.
// A file that a statement may read is verified first (run_files.h): a damaged or missing one is an Io error.
// Thread rule: one object, one thread at a time. Owns its in-memory database.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "ledger/duckdb_library.h"
#include "ledger/run_parts.h"
#include "ledger/sql_guard.h"

namespace nl {

// A table every run could have; absent from all selected runs it is an empty view.
struct TableSchemaLite {
  std::string name;
  std::vector<std::pair<std::string, std::string>> columns;  // name, SQL type
};

struct SqlSessionOptions {
  std::string duckdb_path;  // as for LoadDuckDb
  int64_t threads = 0;      // 0: one per core
  int64_t memory_limit_mb = 1024;
  std::vector<TableSchemaLite> known_tables;
  std::vector<std::string> trusted_setup;  // our own statements (more views), run before the fence closes
};

struct SqlLimits {
  int64_t max_rows = 10'000;                     // negative: no limit
  double max_seconds = 60;                       // 0 or less: no limit
  const std::atomic<bool>* cancelled = nullptr;  // may be null
  bool refuse_more_rows = false;                 // more than max_rows is a Limit error, not a cut
};

struct SqlColumn {
  std::string name;  // unique in the result: a second `a` is `a_1`
  std::string type;  // SQL name of the type
};

// Rows of a result as the engine hands them out; valid during the callback only.
class SqlChunk {
 public:
  SqlChunk(const DuckDbApi& api, duckdb_data_chunk chunk, uint64_t rows)
      : api_(api), chunk_(chunk), rows_(rows) {}
  uint64_t rows() const { return rows_; }
  // See sql_values.h for how types map.
  Json Cell(uint64_t column, uint64_t row) const;
  duckdb_data_chunk handle() const { return chunk_; }

 private:
  const DuckDbApi& api_;
  duckdb_data_chunk chunk_;
  uint64_t rows_;
};

struct SqlOutcome {
  std::vector<SqlColumn> columns;
  int64_t rows = 0;
  bool truncated = false;  // max_rows was reached and there was more
};

struct SqlTable {
  std::vector<SqlColumn> columns;
  Json rows = Json::array();  // an array per row
  bool truncated = false;
};

class SqlSession {
 public:
  static Result<std::unique_ptr<SqlSession>> Open(const std::vector<RunSource>& runs,
                                                  SqlSessionOptions options);
  ~SqlSession();
  SqlSession(const SqlSession&) = delete;
  SqlSession& operator=(const SqlSession&) = delete;

  const DuckDbApi& api() const { return api_; }

  // One reading statement. What is refused or wrong is InvalidInput, a limit reached
  // before the end is Limit, a raised `cancelled` is Cancelled.
  using ChunkFn = std::function<Status(const SqlOutcome& so_far, const SqlChunk& chunk)>;
  Result<SqlOutcome> Query(std::string_view sql, const SqlLimits& limits, const ChunkFn& on_chunk);
  Result<SqlTable> QueryTable(std::string_view sql, const SqlLimits& limits);

  // Writes the result to a Parquet file, atomically. The user's SQL still runs inside
  // the fence; only its rows, held in memory, reach a second database that may write.
  Result<SqlOutcome> QueryToParquet(std::string_view sql, const SqlLimits& limits, const std::string& path);

 private:
  struct Execution;
  explicit SqlSession(const DuckDbApi& api) : api_(api) {}
  Status Connect(const SqlSessionOptions& options);
  Status CollectTables(const std::vector<RunSource>& runs, const SqlSessionOptions& options);
  Status Fence();
  Status Run(const std::string& sql);
  Status Verify(const std::string& table, const std::atomic<bool>* cancelled);
  void CreateView(const std::string& name);
  Status EnsureViews(const std::vector<std::string>& names, const std::atomic<bool>* cancelled);
  Result<duckdb_prepared_statement> Prepare(const std::string& sql, bool* is_explain);
  Result<duckdb_prepared_statement> PrepareGuarded(const GuardedSql& guarded);
  Status Start(Execution& run, const GuardedSql& guarded, bool cast_unknown);
  Result<SqlOutcome> Fetch(Execution& run, int64_t max_rows, const ChunkFn& on_chunk);
  Result<SqlOutcome> Execute(std::string_view sql, const SqlLimits& limits, bool cast_unknown,
                             const ChunkFn& on_chunk);
  Error Explain(const std::string& message, const std::vector<std::string>& names) const;

  struct Part : RunPart {
    std::string file;  // as the engine opens it
    // Files of the same run before it: its rows are numbered after theirs.
    std::vector<std::string> after;
  };
  Status AddParts(const RunSource& run);
  const DuckDbApi& api_;
  duckdb_database database_ = nullptr;
  duckdb_connection connection_ = nullptr;
  std::map<std::string, std::vector<Part>> tables_;
  std::map<std::string, TableSchemaLite> known_;
  std::set<std::string> created_;
  std::map<std::string, std::string> broken_;  // table: why its view could not be made
};

}  // namespace nl
