// SPDX-License-Identifier: Apache-2.0
#include "ledger/catalog_sqlite.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "ledger/run_list_sql.h"
#include "ledger/sqlite_statement.h"

namespace nl {

namespace {

constexpr int kBusyTimeoutMs = 10'000;

// Index i brings the file from version i to i + 1. Published entries never change.
const char* const kMigrations[] = {
    R"sql(
CREATE TABLE run (
  added_seq INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL UNIQUE,
  created_at_ns INTEGER NOT NULL,
  backend TEXT NOT NULL,
  model TEXT NOT NULL,
  device TEXT NOT NULL,
  device_count INTEGER NOT NULL,
  precision TEXT NOT NULL,
  adapter TEXT NOT NULL,
  tool TEXT NOT NULL,
  source_name TEXT NOT NULL,
  source_bytes INTEGER NOT NULL,
  content_sha256 TEXT NOT NULL,
  wall_ns INTEGER NOT NULL,
  event_count INTEGER NOT NULL,
  op_count INTEGER NOT NULL,
  kernel_count INTEGER NOT NULL,
  lost_records INTEGER NOT NULL,
  stored_bytes INTEGER NOT NULL,
  schema_version INTEGER NOT NULL
);
CREATE UNIQUE INDEX run_content ON run(content_sha256) WHERE content_sha256 <> '';
CREATE INDEX run_created ON run(created_at_ns);
CREATE TABLE tag (
  run_id TEXT NOT NULL REFERENCES run(run_id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_id, key)
) WITHOUT ROWID;
CREATE INDEX tag_value ON tag(key, value);
)sql",
    R"sql(
CREATE TABLE baseline (
  name TEXT NOT NULL PRIMARY KEY,
  created_at_ns INTEGER NOT NULL,
  note TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE baseline_run (
  name TEXT NOT NULL REFERENCES baseline(name) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  run_id TEXT NOT NULL REFERENCES run(run_id) ON DELETE CASCADE,
  PRIMARY KEY (name, position)
) WITHOUT ROWID;
CREATE INDEX baseline_run_id ON baseline_run(run_id);
)sql",
    R"sql(
CREATE TABLE note (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL REFERENCES run(run_id) ON DELETE CASCADE,
  created_at_ns INTEGER NOT NULL,
  author TEXT NOT NULL,
  text TEXT NOT NULL,
  from_ns INTEGER,
  to_ns INTEGER,
  event_table TEXT NOT NULL,
  event_id INTEGER
);
CREATE INDEX note_run ON note(run_id);
)sql",
};
constexpr int kBaselineVersion = 2;  // from which there are baselines
constexpr int kNoteVersion = 3;      // from which there are notes
constexpr int kVersion = static_cast<int>(std::size(kMigrations));

// Order matters: ReadRun counts columns from here, Insert binds by it.
constexpr const char* kRunColumns =
    "run_id, created_at_ns, backend, model, device, device_count, precision, adapter, tool, source_name, "
    "source_bytes, content_sha256, wall_ns, event_count, op_count, kernel_count, lost_records, stored_bytes, "
    "schema_version";
constexpr const char* kSelectRun =
    "SELECT r.run_id, r.created_at_ns, r.backend, r.model, r.device, r.device_count, r.precision, r.adapter, "
    "r.tool, r.source_name, r.source_bytes, r.content_sha256, r.wall_ns, r.event_count, r.op_count, "
    "r.kernel_count, r.lost_records, r.stored_bytes, r.schema_version FROM run r ";

CatalogRun ReadRun(const Statement& s) {
  CatalogRun run;
  int i = 0;
  run.run_id = s.Text(i++);
  run.created_at_ns = s.Int(i++);
  run.backend = s.Text(i++);
  run.model = s.Text(i++);
  run.device = s.Text(i++);
  run.device_count = s.Int(i++);
  run.precision = s.Text(i++);
  run.adapter = s.Text(i++);
  run.tool = s.Text(i++);
  run.source_name = s.Text(i++);
  run.source_bytes = s.Int(i++);
  run.content_sha256 = s.Text(i++);
  run.wall_ns = s.Int(i++);
  run.event_count = s.Int(i++);
  run.op_count = s.Int(i++);
  run.kernel_count = s.Int(i++);
  run.lost_records = s.Int(i++);
  run.stored_bytes = s.Int(i++);
  run.schema_version = s.Int(i++);
  return run;
}

class SqliteCatalog final : public Catalog {
 public:
  explicit SqliteCatalog(std::string path) : path_(std::move(path)) {}
  ~SqliteCatalog() override { sqlite3_close_v2(db_); }

  Status Open(CatalogMode mode);

  Result<InsertOutcome> Insert(const CatalogRun& run, const std::vector<RunNote>& notes) override;
  Result<std::optional<CatalogRun>> Find(std::string_view run_id) override {
    return One("WHERE r.run_id = ?", run_id);
  }
  Result<std::optional<CatalogRun>> FindByContent(std::string_view content_sha256) override {
    if (content_sha256.empty()) return std::optional<CatalogRun>();
    return One("WHERE r.content_sha256 = ? AND r.content_sha256 <> ''", content_sha256);
  }
  Result<std::vector<CatalogRun>> FindByPrefix(std::string_view prefix, int64_t limit) override;
  Result<std::vector<CatalogRun>> List(const RunFilter& filter) override;
  Result<int64_t> CountMatching(const RunFilter& filter) override;
  Result<RunChoices> Choices(int64_t limit) override { return ReadChoices(db_, path_, limit); }
  Result<std::vector<WorkloadHistory>> Histories(const std::vector<CatalogRun>& runs,
                                                 int64_t newest) override {
    return ReadHistories(db_, path_, runs, newest);
  }
  Result<std::pair<std::string, std::string>> Neighbours(std::string_view run_id) override;
  Result<std::optional<CatalogRun>> Latest(int64_t back) override;
  Status SetTag(std::string_view run_id, std::string_view key, std::string_view value) override;
  Status RemoveTag(std::string_view run_id, std::string_view key) override;
  Status Remove(std::string_view run_id) override;
  Status SetBaseline(const Baseline& baseline) override;
  Result<std::optional<Baseline>> FindBaseline(std::string_view name) override;
  Result<std::vector<Baseline>> ListBaselines() override;
  Status RemoveBaseline(std::string_view name) override;
  Result<std::vector<std::string>> BaselinesOf(std::string_view run_id) override;
  Result<int64_t> AddNote(const RunNote& note) override;
  Result<std::vector<RunNote>> ListNotes(std::string_view run_id) override;
  Status RemoveNote(std::string_view run_id, int64_t id) override;
  Result<int64_t> Count() override { return Number("SELECT count(*) FROM run"); }
  Result<std::vector<std::string>> CheckIntegrity() override;

 private:
  Statement Prepare(const std::string& sql) { return Statement(db_, path_, sql); }
  Status Execute(const std::string& sql);
  Result<int64_t> Number(const std::string& sql);
  Status Connect(const std::string& uri, int flags);
  Status ConnectAlone();
  bool HasWal() const;
  Status OpenForReading();
  Status EnableWal();
  Status Migrate();
  template <class Body>
  Status Transaction(Body body);
  Result<std::optional<CatalogRun>> One(const std::string& where, std::string_view value);
  Result<const std::vector<int64_t>*> Matching(const RunFilter& filter);
  Result<std::vector<CatalogRun>> Collect(Statement& statement);
  Status LoadTags(CatalogRun& run);
  Status InsertNote(const std::string& run_id, const RunNote& note);

  // The runs that a filter found last, in order, for as long as the catalog does not change: a page is asked
  // for together with the number of all, and to compare every run with the words of a text is most of the
  // work.
  struct Matches {
    std::string sql;
    std::vector<std::string> values;
    int64_t version = -1, own_changes = 0;  // of the file, by others and by this connection
    std::vector<int64_t> keys;
  };

  std::string path_;
  sqlite3* db_ = nullptr;
  Matches matches_;
  int64_t version_ = 0;  // of the file as it is read
};

Status SqliteCatalog::Execute(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return SqliteError(db_, code, path_);
  return {};
}

Result<int64_t> SqliteCatalog::Number(const std::string& sql) {
  Statement s = Prepare(sql);
  NL_ASSIGN(bool row, s.Step());
  return row ? s.Int(0) : 0;
}

std::string FileUri(const std::string& path, std::string_view options) {
  std::string out = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return fmt::format("{}?{}", out, options);
}

Status SqliteCatalog::Connect(const std::string& uri, int flags) {
  sqlite3_close_v2(std::exchange(db_, nullptr));
  const int code = sqlite3_open_v2(uri.c_str(), &db_, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) return SqliteError(db_, code, path_);
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, kBusyTimeoutMs);
  NL_TRY(AddListFunctions(db_, path_));
  return Execute("PRAGMA foreign_keys = ON");
}

bool IsFullDisk(int code) { return (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_FULL; }

// A full disk has no room for the index that processes share (-shm). A process that locks the file for itself
// keeps the index in its own memory; others wait for it.
Status SqliteCatalog::ConnectAlone() {
  NL_TRY(Connect(FileUri(path_, "mode=rw"), SQLITE_OPEN_READWRITE));
  return Execute("PRAGMA locking_mode = EXCLUSIVE");
}

bool SqliteCatalog::HasWal() const {
  struct stat info {};
  return ::stat((path_ + "-wal").c_str(), &info) == 0 && info.st_size > 0;
}

// A WAL file in a folder we may not write cannot be opened the normal way unless
// a writer is alive; `immutable` reads it then without any lock file.
Status SqliteCatalog::OpenForReading() {
  NL_TRY(Connect(FileUri(path_, "mode=ro"), SQLITE_OPEN_READONLY));
  int code = sqlite3_exec(db_, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr);
  bool full = IsFullDisk(code);
  if (full && HasWal()) {
    // What the last writer left there is moved into the file, which has room for it already.
    NL_TRY(ConnectAlone());
    code = sqlite3_exec(db_, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
    full = !HasWal();
  }
  const int kind = code & 0xff;
  if (full || kind == SQLITE_CANTOPEN || kind == SQLITE_READONLY) {
    return Connect(FileUri(path_, "mode=ro&immutable=1"), SQLITE_OPEN_READONLY);
  }
  if (code != SQLITE_OK) return SqliteError(db_, code, path_);
  return {};
}

// Switching to WAL needs an exclusive moment, for which SQLite does not always
// call the busy handler: two first imports at once meet here.
Status SqliteCatalog::EnableWal() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyTimeoutMs);
  bool alone = false;
  for (;;) {
    const int code = sqlite3_exec(db_, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) break;
    if (IsFullDisk(code) && !alone) {
      alone = true;
      NL_TRY(ConnectAlone());
      continue;
    }
    const bool busy = (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
    if (!busy || std::chrono::steady_clock::now() > deadline) return SqliteError(db_, code, path_);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Execute("PRAGMA synchronous = FULL");
}

Status SqliteCatalog::Migrate() {
  return Transaction([&]() -> Status {
    // Read again inside the transaction: another process may have migrated meanwhile.
    NL_ASSIGN(int64_t version, Number("PRAGMA user_version"));
    for (int64_t v = version; v < kVersion; ++v) {
      NL_TRY(Execute(kMigrations[v]));
      NL_TRY(Execute(fmt::format("PRAGMA user_version = {}", v + 1)));
    }
    return {};
  });
}

Status SqliteCatalog::Open(CatalogMode mode) {
  if (mode == CatalogMode::kReadOnly) {
    if (::access(path_.c_str(), F_OK) != 0) return NotFound(fmt::format("no catalog at {}", path_));
    if (::access(path_.c_str(), R_OK) != 0) return IoError(fmt::format("cannot read the catalog {}", path_));
    NL_TRY(OpenForReading());
  } else {
    NL_TRY(Connect(FileUri(path_, "mode=rwc"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    NL_TRY(EnableWal());
  }
  NL_ASSIGN(int64_t version, Number("PRAGMA user_version"));
  if (version > kVersion) {
    return Unsupported(
               fmt::format("the catalog {} was written by a newer NeuroLens (catalog version {}, this one "
                           "knows up to {})",
                           path_, version, kVersion))
        .Hint("use that newer version, or another store");
  }
  version_ = version;
  if (version == kVersion) return {};
  if (mode == CatalogMode::kReadWrite) {
    NL_TRY(Migrate());
    version_ = kVersion;
    return {};
  }
  if (version == 0) return NotFound(fmt::format("the catalog {} is still empty", path_));
  return {};  // older, and not ours to change here: what it does not have yet reads as none
}

template <class Body>
Status SqliteCatalog::Transaction(Body body) {
  NL_TRY(Execute("BEGIN IMMEDIATE"));
  Status status = body();
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

Status SqliteCatalog::LoadTags(CatalogRun& run) {
  Statement s = Prepare("SELECT key, value FROM tag WHERE run_id = ?");
  s.Bind(run.run_id);
  for (;;) {
    NL_ASSIGN(bool row, s.Step());
    if (!row) return {};
    run.tags[s.Text(0)] = s.Text(1);
  }
}

Result<std::vector<CatalogRun>> SqliteCatalog::Collect(Statement& statement) {
  std::vector<CatalogRun> runs;
  for (;;) {
    NL_ASSIGN(bool row, statement.Step());
    if (!row) break;
    runs.push_back(ReadRun(statement));
    NL_TRY(LoadTags(runs.back()));
  }
  return runs;
}

Result<std::optional<CatalogRun>> SqliteCatalog::One(const std::string& where, std::string_view value) {
  Statement s = Prepare(kSelectRun + where);
  s.Bind(value);
  NL_ASSIGN(std::vector<CatalogRun> runs, Collect(s));
  if (runs.empty()) return std::optional<CatalogRun>();
  return std::optional<CatalogRun>(std::move(runs[0]));
}

Result<InsertOutcome> SqliteCatalog::Insert(const CatalogRun& run, const std::vector<RunNote>& notes) {
  InsertOutcome outcome;
  NL_TRY(Transaction([&]() -> Status {
    NL_ASSIGN(auto existing, FindByContent(run.content_sha256));
    if (!existing) {
      NL_ASSIGN(existing, Find(run.run_id));
    }
    if (existing) {
      outcome = {false, existing->run_id};
      return {};
    }
    Statement s = Prepare(
        fmt::format("INSERT INTO run ({}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", kRunColumns));
    s.Bind(run.run_id).Bind(run.created_at_ns).Bind(run.backend).Bind(run.model).Bind(run.device);
    s.Bind(run.device_count).Bind(run.precision).Bind(run.adapter).Bind(run.tool).Bind(run.source_name);
    s.Bind(run.source_bytes).Bind(run.content_sha256).Bind(run.wall_ns).Bind(run.event_count);
    s.Bind(run.op_count).Bind(run.kernel_count).Bind(run.lost_records).Bind(run.stored_bytes);
    s.Bind(run.schema_version);
    NL_TRY(s.Run());
    for (const auto& [key, value] : run.tags) {
      Statement tag = Prepare("INSERT INTO tag (run_id, key, value) VALUES (?,?,?)");
      tag.Bind(run.run_id).Bind(key).Bind(value);
      NL_TRY(tag.Run());
    }
    for (const RunNote& note : notes) NL_TRY(InsertNote(run.run_id, note));
    outcome = {true, run.run_id};
    return {};
  }));
  return outcome;
}

Result<std::vector<CatalogRun>> SqliteCatalog::FindByPrefix(std::string_view prefix, int64_t limit) {
  // Ids are hexadecimal digits and dashes, all below '~'.
  Statement s =
      Prepare(fmt::format("{} WHERE r.run_id >= ? AND r.run_id < ? ORDER BY r.run_id LIMIT ?", kSelectRun));
  s.Bind(prefix).Bind(std::string(prefix) + "~").Bind(limit);
  return Collect(s);
}

Result<const std::vector<int64_t>*> SqliteCatalog::Matching(const RunFilter& filter) {
  Matches found;
  const std::string where = WhereOf(filter, found.values);
  found.sql = fmt::format("SELECT r.added_seq FROM run r {} {}", where, OrderOf(filter));
  NL_ASSIGN(found.version, Number("PRAGMA data_version"));
  found.own_changes = sqlite3_total_changes(db_);
  if (matches_.version == found.version && matches_.own_changes == found.own_changes &&
      matches_.sql == found.sql && matches_.values == found.values)
    return &matches_.keys;
  Statement s = Prepare(found.sql);
  for (const std::string& value : found.values) s.Bind(value);
  for (;;) {
    NL_ASSIGN(const bool row, s.Step());
    if (!row) break;
    found.keys.push_back(s.Int(0));
  }
  matches_ = std::move(found);
  return &matches_.keys;
}

// Sorts the keys of the rows alone: whole rows make a page far from the first one twice as slow.
Result<std::vector<CatalogRun>> SqliteCatalog::List(const RunFilter& filter) {
  std::vector<std::string> values;
  std::string keys;
  if (filter.text.empty()) {
    keys = fmt::format("SELECT r.added_seq FROM run r {} {} LIMIT {} OFFSET {}", WhereOf(filter, values),
                       OrderOf(filter), filter.limit, filter.offset);
  } else {
    NL_ASSIGN(const std::vector<int64_t>* found, Matching(filter));
    const auto size = static_cast<int64_t>(found->size());
    const int64_t first = std::clamp<int64_t>(filter.offset, 0, size),
                  last = filter.limit < 0 ? size : std::min(size, first + filter.limit);
    keys = fmt::format("{}", fmt::join(found->begin() + first, found->begin() + last, ","));
  }
  Statement s = Prepare(fmt::format("{}WHERE r.added_seq IN ({}) {}", kSelectRun, keys, OrderOf(filter)));
  for (const std::string& value : values) s.Bind(value);
  return Collect(s);
}

Result<int64_t> SqliteCatalog::CountMatching(const RunFilter& filter) {
  if (!filter.text.empty()) {
    NL_ASSIGN(const std::vector<int64_t>* found, Matching(filter));
    return static_cast<int64_t>(found->size());
  }
  std::vector<std::string> values;
  const std::string where = WhereOf(filter, values);
  Statement s = Prepare("SELECT count(*) FROM run r " + where);
  for (const std::string& value : values) s.Bind(value);
  NL_ASSIGN(const bool row, s.Step());
  return row ? s.Int(0) : 0;
}

Result<std::pair<std::string, std::string>> SqliteCatalog::Neighbours(std::string_view run_id) {
  Statement s = Prepare(
      "SELECT (SELECT max(run_id) FROM run WHERE run_id < ?), (SELECT min(run_id) FROM run WHERE run_id > "
      "?)");
  s.Bind(run_id).Bind(run_id);
  NL_ASSIGN(const bool row, s.Step());
  return row ? std::pair(s.Text(0), s.Text(1)) : std::pair<std::string, std::string>();
}

Result<std::optional<CatalogRun>> SqliteCatalog::Latest(int64_t back) {
  Statement s = Prepare(fmt::format("{} ORDER BY r.added_seq DESC LIMIT 1 OFFSET ?", kSelectRun));
  s.Bind(back);
  NL_ASSIGN(std::vector<CatalogRun> runs, Collect(s));
  if (runs.empty()) return std::optional<CatalogRun>();
  return std::optional<CatalogRun>(std::move(runs[0]));
}

Status SqliteCatalog::SetTag(std::string_view run_id, std::string_view key, std::string_view value) {
  return Transaction([&]() -> Status {
    NL_ASSIGN(auto run, Find(run_id));
    if (!run) return NotFound(fmt::format("no such run: {}", run_id));
    Statement s = Prepare("INSERT OR REPLACE INTO tag (run_id, key, value) VALUES (?,?,?)");
    s.Bind(run_id).Bind(key).Bind(value);
    return s.Run();
  });
}

Status SqliteCatalog::RemoveTag(std::string_view run_id, std::string_view key) {
  return Transaction([&]() -> Status {
    Statement s = Prepare("DELETE FROM tag WHERE run_id = ? AND key = ?");
    s.Bind(run_id).Bind(key);
    NL_TRY(s.Run());
    if (sqlite3_changes(db_) == 0) return NotFound(fmt::format("run {} has no tag '{}'", run_id, key));
    return {};
  });
}

Status SqliteCatalog::Remove(std::string_view run_id) {
  return Transaction([&]() -> Status {
    Statement s = Prepare("DELETE FROM run WHERE run_id = ?");
    s.Bind(run_id);
    NL_TRY(s.Run());
    if (sqlite3_changes(db_) == 0) return NotFound(fmt::format("no such run: {}", run_id));
    return {};
  });
}

Status SqliteCatalog::SetBaseline(const Baseline& baseline) {
  NL_TRY(CheckBaselineName(baseline.name));
  return Transaction([&]() -> Status {
    for (const std::string& run_id : baseline.run_ids) {
      NL_ASSIGN(const auto run, Find(run_id));
      if (!run) return NotFound(fmt::format("no such run: {}", run_id));
    }
    Statement clear = Prepare("DELETE FROM baseline WHERE name = ?");
    clear.Bind(baseline.name);
    NL_TRY(clear.Run());
    Statement head = Prepare("INSERT INTO baseline (name, created_at_ns, note) VALUES (?,?,?)");
    head.Bind(baseline.name).Bind(baseline.created_at_ns).Bind(baseline.note);
    NL_TRY(head.Run());
    for (size_t i = 0; i < baseline.run_ids.size(); ++i) {
      Statement row = Prepare("INSERT INTO baseline_run (name, position, run_id) VALUES (?,?,?)");
      row.Bind(baseline.name).Bind(static_cast<int64_t>(i)).Bind(baseline.run_ids[i]);
      NL_TRY(row.Run());
    }
    return {};
  });
}

Result<std::optional<Baseline>> SqliteCatalog::FindBaseline(std::string_view name) {
  if (version_ < kBaselineVersion) return std::optional<Baseline>();
  Statement s = Prepare("SELECT name, created_at_ns, note FROM baseline WHERE name = ?");
  s.Bind(name);
  NL_ASSIGN(const bool found, s.Step());
  if (!found) return std::optional<Baseline>();
  Baseline out{s.Text(0), s.Int(1), s.Text(2), {}};
  Statement runs = Prepare("SELECT run_id FROM baseline_run WHERE name = ? ORDER BY position");
  runs.Bind(name);
  NL_ASSIGN(out.run_ids, Texts(runs));
  return std::optional<Baseline>(std::move(out));
}

Result<std::vector<Baseline>> SqliteCatalog::ListBaselines() {
  std::vector<Baseline> out;
  if (version_ < kBaselineVersion) return out;
  Statement s = Prepare("SELECT name FROM baseline ORDER BY name");
  NL_ASSIGN(const std::vector<std::string> names, Texts(s));
  for (const std::string& name : names) {
    NL_ASSIGN(std::optional<Baseline> baseline, FindBaseline(name));
    if (baseline) out.push_back(*std::move(baseline));
  }
  return out;
}

Status SqliteCatalog::RemoveBaseline(std::string_view name) {
  return Transaction([&]() -> Status {
    Statement s = Prepare("DELETE FROM baseline WHERE name = ?");
    s.Bind(name);
    NL_TRY(s.Run());
    if (sqlite3_changes(db_) == 0) return NotFound(fmt::format("no such baseline: '{}'", name));
    return {};
  });
}

Result<std::vector<std::string>> SqliteCatalog::BaselinesOf(std::string_view run_id) {
  if (version_ < kBaselineVersion) return std::vector<std::string>();
  Statement s = Prepare("SELECT DISTINCT name FROM baseline_run WHERE run_id = ? ORDER BY name");
  s.Bind(run_id);
  return Texts(s);
}

Status SqliteCatalog::InsertNote(const std::string& run_id, const RunNote& note) {
  Statement s = Prepare(
      "INSERT INTO note (run_id, created_at_ns, author, text, from_ns, to_ns, event_table, event_id) "
      "VALUES (?,?,?,?,?,?,?,?)");
  s.Bind(run_id).Bind(note.created_at_ns).Bind(note.author).Bind(note.text);
  s.Bind(note.from_ns).Bind(note.to_ns).Bind(note.table).Bind(note.row_id);
  return s.Run();
}

Result<int64_t> SqliteCatalog::AddNote(const RunNote& note) {
  int64_t id = 0;
  NL_TRY(Transaction([&]() -> Status {
    NL_ASSIGN(const auto run, Find(note.run_id));
    if (!run) return NotFound(fmt::format("no such run: {}", note.run_id));
    NL_TRY(InsertNote(note.run_id, note));
    id = sqlite3_last_insert_rowid(db_);
    return {};
  }));
  return id;
}

Result<std::vector<RunNote>> SqliteCatalog::ListNotes(std::string_view run_id) {
  std::vector<RunNote> out;
  if (version_ < kNoteVersion) return out;
  Statement s = Prepare(
      "SELECT id, run_id, created_at_ns, author, text, from_ns, to_ns, event_table, event_id FROM note "
      "WHERE ?1 = '' OR run_id = ?1 ORDER BY id");
  s.Bind(run_id);
  for (;;) {
    NL_ASSIGN(const bool row, s.Step());
    if (!row) return out;
    out.push_back({s.Int(0), s.Text(1), s.Int(2), s.Text(3), s.Text(4), s.MaybeInt(5), s.MaybeInt(6),
                   s.Text(7), s.MaybeInt(8)});
  }
}

Status SqliteCatalog::RemoveNote(std::string_view run_id, int64_t id) {
  return Transaction([&]() -> Status {
    Statement s = Prepare("DELETE FROM note WHERE run_id = ? AND id = ?");
    s.Bind(run_id).Bind(id);
    NL_TRY(s.Run());
    if (sqlite3_changes(db_) == 0) return NotFound(fmt::format("run {} has no note {}", run_id, id));
    return {};
  });
}

Result<std::vector<std::string>> SqliteCatalog::CheckIntegrity() {
  std::vector<std::string> problems;
  for (const char* pragma : {"PRAGMA integrity_check(20)", "PRAGMA foreign_key_check"}) {
    Statement s = Prepare(pragma);
    for (;;) {
      NL_ASSIGN(bool row, s.Step());
      if (!row) break;
      if (s.Text(0) != "ok") problems.push_back(s.Text(0));
    }
  }
  return problems;
}

}  // namespace

Result<std::unique_ptr<Catalog>> OpenSqliteCatalog(const std::string& path, CatalogMode mode) {
  auto catalog = std::make_unique<SqliteCatalog>(path);
  NL_TRY(catalog->Open(mode));
  return std::unique_ptr<Catalog>(std::move(catalog));
}

}  // namespace nl
