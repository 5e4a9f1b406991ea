// SPDX-License-Identifier: Apache-2.0
#include "import/read/sqlite_reader.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace nl {

namespace {

constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);
constexpr int kProgressSteps = 100'000;  // virtual machine steps between looks at the cancel flag

uint32_t BigEndian32(const char* p) {
  const auto* b = reinterpret_cast<const uint8_t*>(p);
  return uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | b[3];
}

// What the first 100 bytes say (https://www.sqlite.org/fileformat.html).
struct Header {
  int64_t page_bytes = 0;
  int64_t pages = 0;  // 0: not given
};

Result<Header> ReadHeader(const std::string& path, const std::string& shown) {
  char bytes[100];
  std::ifstream in(path, std::ios::binary);
  in.read(bytes, sizeof bytes);
  const auto got = static_cast<size_t>(in.gcount());
  const bool zero = std::all_of(bytes, bytes + got, [](char c) { return c == 0; });
  if (got > 0 && zero) {
    return InvalidInput("the database has no header: the program that wrote it was interrupted")
        .At(shown, 0)
        .Hint("write the database again, from the file it was made of");
  }
  if (got < sizeof bytes || std::memcmp(bytes, kSqliteMagic.data(), kSqliteMagic.size()) != 0)
    return InvalidInput("is no SQLite database, or only the first bytes of one").At(shown, 0);
  Header header;
  header.page_bytes = static_cast<uint8_t>(bytes[16]) << 8 | static_cast<uint8_t>(bytes[17]);
  if (header.page_bytes == 1) header.page_bytes = 65536;
  // The page count holds only when the last writer was one that keeps it.
  if (std::memcmp(bytes + 24, bytes + 92, 4) == 0) header.pages = BigEndian32(bytes + 28);
  return header;
}

int OnProgress(void* options) { return static_cast<const ImportOptions*>(options)->Cancelled() ? 1 : 0; }

std::string Quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

// Immutable: no locks, no files beside it, and a folder that cannot be written to will do.
std::string UriOf(const std::string& path) {
  std::string out = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '/' || c == '.' || c == '_' || c == '-')
      out.push_back(c);
    else
      out += fmt::format("%{:02x}", byte);
  }
  return out + "?immutable=1";
}

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sqlite3_strnicmp(a.data(), b.data(), static_cast<int>(a.size())) == 0;
}

}  // namespace

bool SqliteReader::Table::Has(std::string_view column) const {
  return std::any_of(columns.begin(), columns.end(),
                     [&](const std::string& name) { return SameName(name, column); });
}

SqliteReader::~SqliteReader() { sqlite3_close(db_); }

Error SqliteReader::Failed(int code, std::string_view what) const {
  const std::string text = db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(code);
  if (code == SQLITE_INTERRUPT) return Cancelled();
  if (code == SQLITE_NOMEM) return Limit(fmt::format("{}: {}", what, text)).At(shown_);
  if (cut_) return InvalidInput(fmt::format("{}: the file is cut off", what)).At(shown_);
  return InvalidInput(fmt::format("{}: {}", what, text))
      .At(shown_)
      .Hint("the file was damaged on its way here or its writer was interrupted; write it again");
}

Result<std::unique_ptr<SqliteReader>> SqliteReader::Open(const std::string& path, const std::string& shown,
                                                         const ImportOptions& options) {
  std::unique_ptr<SqliteReader> reader(new SqliteReader);
  reader->shown_ = shown;
  reader->options_ = &options;
  NL_ASSIGN(const Header header, ReadHeader(path, shown));
  std::error_code code;
  for (const char* beside : {"-journal", "-wal"}) {
    if (std::filesystem::file_size(path + beside, code) == 0 || code) continue;
    return InvalidInput(fmt::format("{}{} exists: the database is still being written, or its writer "
                                    "was interrupted",
                                    std::filesystem::path(path).filename().string(), beside))
        .At(shown)
        .Hint("wait for the writer to end, or write it again");
  }
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, code));
  reader->cut_ = size < header.page_bytes * header.pages;
  if (reader->cut_ && !options.allow_truncated) {
    return InvalidInput(
               fmt::format("the file is truncated: {} bytes of {}", size, header.page_bytes * header.pages))
        .At(shown, size)
        .Hint("import --allow-truncated keeps the tables that can still be read");
  }
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  if (const int failed = sqlite3_open_v2(UriOf(path).c_str(), &reader->db_, flags, nullptr);
      failed != SQLITE_OK)
    return reader->Failed(failed, "cannot be opened");
  NL_TRY(reader->Configure());
  NL_TRY(reader->List());
  return reader;
}

Status SqliteReader::Configure() {
  // SQLite opens a file that lacks pages only for somebody who may write the schema; the file is
  // still open for reading.
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, cut_ ? 0 : 1, nullptr);
  if (cut_) sqlite3_db_config(db_, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_progress_handler(db_, kProgressSteps, OnProgress, const_cast<ImportOptions*>(options_));
  // Rows are read once from the front: a small cache will do, and damage shows at once.
  const int code =
      sqlite3_exec(db_, "PRAGMA cell_size_check=ON; PRAGMA cache_size=-4096; PRAGMA query_only=ON", nullptr,
                   nullptr, nullptr);
  return code == SQLITE_OK ? Status() : Failed(code, "cannot be read");
}

Status SqliteReader::List() {
  // The schema table is named by the reader itself, so it can be read before its columns are known.
  sqlite3_stmt* raw = nullptr;
  const char* sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY rowid";
  if (const int code = sqlite3_prepare_v2(db_, sql, -1, &raw, nullptr); code != SQLITE_OK)
    return Failed(code, "its schema cannot be read");
  SqliteRows schema(*this, "sqlite_schema", raw);
  while (schema.Next()) {
    const std::string_view name = schema.Text(0), made_by = schema.Text(1);
    if (name.starts_with("sqlite_") || !SameName(made_by.substr(0, 12), "CREATE TABLE")) continue;
    tables_.push_back({std::string(name), {}});
  }
  NL_TRY(schema.status());
  for (Table& table : tables_) {
    const std::string pragma = fmt::format("PRAGMA table_info({})", Quoted(table.name));
    if (const int code = sqlite3_prepare_v2(db_, pragma.c_str(), -1, &raw, nullptr); code != SQLITE_OK)
      return Failed(code, "its schema cannot be read");
    SqliteRows columns(*this, table.name, raw);
    while (columns.Next()) table.columns.emplace_back(columns.Text(1));
    NL_TRY(columns.status());
  }
  return {};
}

const SqliteReader::Table* SqliteReader::Find(std::string_view name) const {
  const auto it = std::find_if(tables_.begin(), tables_.end(),
                               [&](const Table& table) { return SameName(table.name, name); });
  return it == tables_.end() ? nullptr : &*it;
}

Result<SqliteRows> SqliteReader::Read(std::string_view table, std::span<const char* const> columns,
                                      std::string_view clause) {
  const Table* found = Find(table);
  if (found == nullptr) return Internal(fmt::format("no table {}", table));
  std::string sql = "SELECT ";
  for (const char* column : columns) {
    if (column != columns.front()) sql += ", ";
    sql += found->Has(column) ? Quoted(column) : "NULL";
  }
  // NOT INDEXED: in the order of the rows, whatever indexes somebody added.
  sql += fmt::format(" FROM main.{} NOT INDEXED", Quoted(found->name));
  if (!clause.empty()) sql += fmt::format(" {}", clause);
  sqlite3_stmt* statement = nullptr;
  if (const int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr); code != SQLITE_OK)
    return Failed(code, fmt::format("table {} cannot be read", table));
  return SqliteRows(*this, found->name, statement);
}

Result<int64_t> SqliteReader::CountRows(std::string_view table) {
  const std::string sql = fmt::format("SELECT count(*) FROM main.{}", Quoted(table));
  sqlite3_stmt* statement = nullptr;
  if (const int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr); code != SQLITE_OK)
    return Failed(code, fmt::format("table {} cannot be read", table));
  SqliteRows rows(*this, std::string(table), statement);
  const int64_t count = rows.Next() ? rows.Int(0) : 0;
  NL_TRY(rows.status());
  return count;
}

int64_t SqliteReader::LastRow(std::string_view table) {
  const std::string sql = fmt::format("SELECT max(rowid) FROM main.{}", Quoted(table));
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return 0;
  SqliteRows rows(*this, std::string(table), statement);
  return rows.Next() && !rows.IsNull(0) ? std::max<int64_t>(rows.Int(0), 0) : 0;
}

SqliteRows::SqliteRows(SqliteRows&& other) noexcept
    : reader_(other.reader_),
      table_(std::move(other.table_)),
      statement_(std::exchange(other.statement_, nullptr)),
      code_(other.code_),
      rows_(other.rows_) {}

SqliteRows::~SqliteRows() { sqlite3_finalize(statement_); }

Status SqliteRows::status() const {
  if (code_ == SQLITE_DONE || code_ == SQLITE_ROW || code_ == SQLITE_OK) return {};
  return reader_->Failed(code_, fmt::format("table {} cannot be read after row {}", table_, rows_));
}

double SqliteRows::Double(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  return type == SQLITE_FLOAT || type == SQLITE_INTEGER ? sqlite3_column_double(statement_, column)
                                                        : NullOf<double>::value;
}

std::string_view SqliteRows::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace nl
