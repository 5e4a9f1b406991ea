// SPDX-License-Identifier: Apache-2.0
#pragma once
// SqliteReader: a foreign SQLite database as tables of rows, read once from the front.
// Columns are asked for by name; one the file does not have reads as null. Nothing in the
// file is trusted: views, triggers and virtual tables are not run, damage is an error.
// Sits below the adapters of database formats; knows none of them.
// Thread rule: a reader and its rows belong to one thread; open the file twice for two.
// Ownership: rows must not outlive their reader.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "base/result.h"
#include "import/adapter.h"
#include "model/ids.h"

namespace nl {

class SqliteRows;

class SqliteReader {
 public:
  struct Table {
    std::string name;
    std::vector<std::string> columns;
    bool Has(std::string_view column) const;
  };

  // `path` is opened, `shown` named in errors. A file that is cut, still being written or
  // whose header was never written is InvalidInput that says so; with
  // options.allow_truncated a truncated one is still opened.
  static Result<std::unique_ptr<SqliteReader>> Open(const std::string& path, const std::string& shown,
                                                    const ImportOptions& options);
  ~SqliteReader();

  const std::vector<Table>& tables() const { return tables_; }
  const Table* Find(std::string_view name) const;
  bool cut() const { return cut_; }  // shorter than its header says

  // The named columns of every row, in the order the file holds the rows. `clause` (WHERE,
  // ORDER BY) is SQL of the caller's own, never text of a file.
  Result<SqliteRows> Read(std::string_view table, std::span<const char* const> columns,
                          std::string_view clause = "");
  Result<int64_t> CountRows(std::string_view table);
  // The highest row number, found without reading the table: the count of rows where none
  // was removed; 0 when there is none or it is unknown.
  int64_t LastRow(std::string_view table);

 private:
  SqliteReader() = default;
  Status Configure();
  Status List();
  Error Failed(int code, std::string_view what) const;

  friend class SqliteRows;
  sqlite3* db_ = nullptr;
  std::string shown_;
  const ImportOptions* options_ = nullptr;
  std::vector<Table> tables_;
  bool cut_ = false;
};

// A cursor. Values are those of the row Next() stands on; texts live until the next call.
class SqliteRows {
 public:
  SqliteRows(SqliteRows&& other) noexcept;
  SqliteRows& operator=(SqliteRows&&) = delete;
  ~SqliteRows();

  // False after the last row and on failure; status() distinguishes them.
  bool Next() {
    code_ = sqlite3_step(statement_);
    rows_ += code_ == SQLITE_ROW;
    return code_ == SQLITE_ROW;
  }
  // Damage in the middle of a table is InvalidInput with the table and row.
  Status status() const;
  int64_t rows() const { return rows_; }  // read so far
  const std::string& table() const { return table_; }

  bool IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  // Null when the value is not an integer.
  int64_t Int(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_INTEGER
               ? sqlite3_column_int64(statement_, column)
               : NullOf<int64_t>::value;
  }
  // Null when it is not an integer or does not fit.
  int32_t Int32(int column) const {
    const int64_t wide = Int(column);
    return wide > INT32_MIN && wide <= INT32_MAX ? static_cast<int32_t>(wide) : NullOf<int32_t>::value;
  }
  double Double(int column) const;
  // Empty for null; numbers as SQLite prints them.
  std::string_view Text(int column) const;

 private:
  friend class SqliteReader;
  SqliteRows(const SqliteReader& reader, std::string table, sqlite3_stmt* statement)
      : reader_(&reader), table_(std::move(table)), statement_(statement) {}

  const SqliteReader* reader_;
  std::string table_;
  sqlite3_stmt* statement_;
  int code_ = SQLITE_OK;
  int64_t rows_ = 0;
};

}  // namespace nl
