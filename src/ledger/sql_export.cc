// SPDX-License-Identifier: Apache-2.0
// SqlSession::QueryToParquet: rows out of the fenced session, through a second
// in-memory database of our own, into a file.
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ledger/sql_session.h"

namespace nl {

namespace {

// A database that may write files; no text of the user's ever runs in it except quoted names.
class OpenDatabase {
 public:
  explicit OpenDatabase(const DuckDbApi& api) : api_(api) {}
  ~OpenDatabase() {
    if (appender_ != nullptr) api_.appender_destroy(&appender_);
    if (connection_ != nullptr) api_.disconnect(&connection_);
    if (database_ != nullptr) api_.close(&database_);
  }
  OpenDatabase(const OpenDatabase&) = delete;
  OpenDatabase& operator=(const OpenDatabase&) = delete;

  Status Open() {
    if (api_.open_ext(nullptr, &database_, nullptr, nullptr) != DuckDBSuccess ||
        api_.connect(database_, &connection_) != DuckDBSuccess) {
      return Internal("DuckDB does not open a second database");
    }
    NL_TRY(Run("SET autoinstall_known_extensions = false"));
    return Run("SET autoload_known_extensions = false");
  }
  Status CreateTable(const std::vector<SqlColumn>& columns) {
    std::string list;
    for (const SqlColumn& column : columns) {
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", SqlName(column.name), column.type);
    }
    NL_TRY(Run(fmt::format("CREATE TABLE result ({})", list)));
    if (api_.appender_create(connection_, nullptr, "result", &appender_) != DuckDBSuccess)
      return AppenderError();
    return {};
  }
  Status Append(duckdb_data_chunk chunk) {
    if (api_.append_data_chunk(appender_, chunk) != DuckDBSuccess) return AppenderError();
    return {};
  }
  Status Close() {
    if (api_.appender_close(appender_) != DuckDBSuccess) return AppenderError();
    return {};
  }
  Status Run(const std::string& sql, idx_t* rows = nullptr) {
    duckdb_result result{};
    Status status;
    if (api_.query(connection_, sql.c_str(), &result) != DuckDBSuccess) {
      const char* message = api_.result_error(&result);
      status = IoError(message != nullptr ? message : "DuckDB failed without a reason", 0);
    } else if (rows != nullptr) {
      duckdb_data_chunk chunk = api_.fetch_chunk(result);
      *rows = chunk != nullptr ? api_.data_chunk_get_size(chunk) : 0;
      if (chunk != nullptr) api_.destroy_data_chunk(&chunk);
    }
    api_.destroy_result(&result);
    return status;
  }

 private:
  Error AppenderError() {
    const char* message = appender_ != nullptr ? api_.appender_error(appender_) : nullptr;
    return Internal(fmt::format("DuckDB appender: {}", message != nullptr ? message : "no reason given"));
  }

  const DuckDbApi& api_;
  duckdb_database database_ = nullptr;
  duckdb_connection connection_ = nullptr;
  duckdb_appender appender_ = nullptr;
};

// Parquet has no HUGEINT and DuckDB writes it as DOUBLE: keep sums exact where 64 bits hold them.
Result<std::string> SelectList(OpenDatabase& database, const std::vector<SqlColumn>& columns) {
  std::string list;
  for (const SqlColumn& column : columns) {
    const std::string name = SqlName(column.name);
    std::string item = name;
    if (column.type == "HUGEINT") {
      idx_t too_large = 0;
      NL_TRY(database.Run(
          fmt::format("SELECT 1 FROM result WHERE {0} IS NOT NULL AND TRY_CAST({0} AS BIGINT) IS NULL "
                      "LIMIT 1",
                      name),
          &too_large));
      if (too_large == 0) item = fmt::format("CAST({0} AS BIGINT) AS {0}", name);
    }
    list += (list.empty() ? "" : ", ") + item;
  }
  return list;
}

}  // namespace

Result<SqlOutcome> SqlSession::QueryToParquet(std::string_view sql, const SqlLimits& limits,
                                              const std::string& path) {
  NL_ASSIGN(GuardedSql guarded, GuardSql(sql));
  if (!guarded.explained.empty()) return InvalidInput("the answer of EXPLAIN cannot be written to a file");
  // The engine spells its own types, nested ones included, as CREATE TABLE takes them.
  SqlLimits no_row_limit = limits;
  no_row_limit.max_rows = -1;
  NL_ASSIGN(SqlTable description,
            QueryTable(fmt::format("DESCRIBE SELECT * FROM ({}\n)", guarded.text), no_row_limit));
  std::vector<SqlColumn> columns;
  for (const Json& row : description.rows) {
    columns.push_back({row.at(0).get<std::string>(), row.at(1).get<std::string>()});
    if (columns.back().type == "\"NULL\"") columns.back().type = "INTEGER";
  }
  OpenDatabase database(api_);
  NL_TRY(database.Open());
  NL_TRY(database.CreateTable(columns));
  NL_ASSIGN(SqlOutcome outcome, Execute(fmt::format("SELECT * FROM ({}\n)", guarded.text), limits, false,
                                        [&](const SqlOutcome&, const SqlChunk& chunk) {
                                          return database.Append(chunk.handle());
                                        }));
  NL_TRY(database.Close());
  NL_ASSIGN(std::string list, SelectList(database, columns));
  const std::string temporary = fmt::format("{}.tmp-{}", path, RandomHex(8));
  Status written = database.Run(fmt::format(
      "COPY (SELECT {} FROM result) TO {} (FORMAT parquet, COMPRESSION zstd)", list, SqlQuote(temporary)));
  if (written.ok()) written = SyncFile(temporary);
  if (written.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) written = FileError("write", path);
  if (!written.ok()) {
    std::remove(temporary.c_str());
    return std::move(written).error();
  }
  return outcome;
}

}  // namespace nl
