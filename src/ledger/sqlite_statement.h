// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prepared statements of SQLite and its errors in our words, for the catalog alone.
// Thread rule: as the connection, one thread at a time. Ownership: a statement borrows the connection.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/result.h"
#include "ledger/catalog_sqlite.h"

namespace nl {

inline Error SqliteError(sqlite3* db, int code, const std::string& path) {
  const std::string text = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  Error error = IoError(fmt::format("catalog {}: {}", path, text), 0);
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      error.message = fmt::format("the catalog {} is damaged: {}", path, text);
      error.hint = kDamagedCatalogHint;
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      error.message = fmt::format("the catalog {} is locked by another process", path);
      error.hint = "try again when the other import has finished";
      break;
    case SQLITE_FULL: error.hint = "the disk is full: free some space"; break;
    case SQLITE_READONLY:
    case SQLITE_PERM: error.hint = "the store is read-only for this user: choose another with --store"; break;
    case SQLITE_CANTOPEN: error.hint = "check that the store folder exists and its permissions"; break;
    default: break;
  }
  return error;
}

// A prepared statement for one use.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& path, const std::string& sql) : db_(db), path_(path) {
    code_ = sqlite3_prepare_v2(db, sql.c_str(), static_cast<int>(sql.size()), &stmt_, nullptr);
  }
  ~Statement() { sqlite3_finalize(stmt_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& Bind(std::string_view text) {
    if (code_ == SQLITE_OK) {
      code_ = sqlite3_bind_text(stmt_, ++bound_, text.data() == nullptr ? "" : text.data(),
                                static_cast<int>(text.size()), SQLITE_TRANSIENT);
    }
    return *this;
  }
  Statement& Bind(const std::optional<int64_t>& value) {
    if (value) return Bind(*value);
    if (code_ == SQLITE_OK) code_ = sqlite3_bind_null(stmt_, ++bound_);
    return *this;
  }
  Statement& Bind(int64_t value) {
    if (code_ == SQLITE_OK) code_ = sqlite3_bind_int64(stmt_, ++bound_, value);
    return *this;
  }

  // True when a row is there, false at the end.
  Result<bool> Step() {
    if (code_ != SQLITE_OK) return SqliteError(db_, code_, path_);
    const int code = sqlite3_step(stmt_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return SqliteError(db_, code, path_);
  }
  Status Run() {
    NL_ASSIGN(bool more, Step());
    while (more) {
      NL_ASSIGN(more, Step());
    }
    return {};
  }

  std::string Text(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(stmt_, column));
    return text == nullptr ? std::string()
                           : std::string(text, static_cast<size_t>(sqlite3_column_bytes(stmt_, column)));
  }
  int64_t Int(int column) const { return sqlite3_column_int64(stmt_, column); }
  std::optional<int64_t> MaybeInt(int column) const {
    if (sqlite3_column_type(stmt_, column) == SQLITE_NULL) return std::nullopt;
    return Int(column);
  }

 private:
  sqlite3* db_;
  const std::string& path_;
  sqlite3_stmt* stmt_ = nullptr;
  int code_ = SQLITE_OK;
  int bound_ = 0;
};

// The first column of every row.
inline Result<std::vector<std::string>> Texts(Statement& s) {
  std::vector<std::string> out;
  for (;;) {
    NL_ASSIGN(const bool row, s.Step());
    if (!row) return out;
    out.push_back(s.Text(0));
  }
}

}  // namespace nl
