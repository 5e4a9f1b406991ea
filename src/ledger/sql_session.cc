// SPDX-License-Identifier: Apache-2.0
#include "ledger/sql_session.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ledger/engine_path.h"
#include "ledger/sql_values.h"

namespace nl {

namespace {

constexpr auto kWatchInterval = std::chrono::milliseconds(20);

// Stops a running statement when its time is over or the user has had enough.
class Watchdog {
 public:
  Watchdog(const DuckDbApi& api, duckdb_connection connection, const SqlLimits& limits)
      : api_(api), connection_(connection), limits_(limits) {
    if (limits.max_seconds > 0 || limits.cancelled != nullptr) thread_ = std::thread([this] { Watch(); });
  }
  ~Watchdog() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  bool timed_out() const { return timed_out_; }
  bool cancelled() const { return cancelled_; }

 private:
  void Watch() {
    using Clock = std::chrono::steady_clock;
    const auto deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(std::min(limits_.max_seconds, 1e7)));
    std::unique_lock<std::mutex> lock(mutex_);
    while (!wake_.wait_for(lock, kWatchInterval, [this] { return done_; })) {
      if (limits_.cancelled != nullptr && limits_.cancelled->load()) cancelled_ = true;
      if (limits_.max_seconds > 0 && Clock::now() >= deadline) timed_out_ = true;
      // Again and again: an interrupt between two statements is forgotten by the engine.
      if (cancelled_ || timed_out_) api_.interrupt(connection_);
    }
  }

  const DuckDbApi& api_;
  duckdb_connection connection_;
  const SqlLimits& limits_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::atomic<bool> timed_out_{false};
  std::atomic<bool> cancelled_{false};
};

bool AsksForTheCatalog(const std::string& name) {
  return name == "show" || name == "information_schema" || name.starts_with("duckdb_") ||
         name.starts_with("pg_") || name.starts_with("sqlite_") || name.starts_with("pragma_");
}

bool NamesAFile(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.find("parquet") != std::string_view::npos;
}

// Table names of a statement; a file is named in a string.
std::vector<std::string> NamesWithFiles(const GuardedSql& guarded) {
  std::vector<std::string> names = guarded.names;
  const Result<std::vector<SqlToken>> tokens = TokenizeSql(guarded.text);
  if (!tokens.ok()) return names;
  for (const SqlToken& token : *tokens) {
    if (token.kind == SqlToken::Kind::kString && NamesAFile(token.text)) names.push_back(token.text);
  }
  return names;
}

}  // namespace

Json SqlChunk::Cell(uint64_t column, uint64_t row) const {
  return CellToJson(api_, api_.data_chunk_get_vector(chunk_, column), row);
}

// Everything one statement holds while it runs.
struct SqlSession::Execution {
  explicit Execution(const DuckDbApi& a) : api(a) {}
  ~Execution() { Reset(); }
  void Reset() {
    api.destroy_result(&result);
    if (prepared != nullptr) api.destroy_prepare(&prepared);
    result = {};
    prepared = nullptr;
  }
  const DuckDbApi& api;
  duckdb_prepared_statement prepared = nullptr;
  duckdb_result result{};
};

namespace {

// DuckDB nests a chain of UNIONs once for each of them, and a thousand runs are deeper than it allows: long
// chains are made of shorter ones. (Set operations in brackets would do, but 1.4.4 loses rows of them.)
std::string UnionAll(std::vector<std::string> selects) {
  constexpr size_t kMostInAChain = 64;
  while (selects.size() > kMostInAChain) {
    std::vector<std::string> chains;
    for (size_t first = 0; first < selects.size(); first += kMostInAChain) {
      const size_t last = std::min(selects.size(), first + kMostInAChain);
      chains.push_back(
          fmt::format("SELECT * FROM ({})",
                      fmt::join(selects.begin() + static_cast<ptrdiff_t>(first),
                                selects.begin() + static_cast<ptrdiff_t>(last), " UNION ALL BY NAME ")));
    }
    selects = std::move(chains);
  }
  return fmt::format("{}", fmt::join(selects, " UNION ALL BY NAME "));
}

}  // namespace

Result<std::unique_ptr<SqlSession>> SqlSession::Open(const std::vector<RunSource>& runs,
                                                     SqlSessionOptions options) {
  NL_ASSIGN(const DuckDbApi* api, LoadDuckDb(options.duckdb_path));
  std::unique_ptr<SqlSession> session(new SqlSession(*api));
  NL_TRY(session->Connect(options));
  NL_TRY(session->CollectTables(runs, options));
  for (const std::string& statement : options.trusted_setup) NL_TRY(session->Run(statement));
  NL_TRY(session->Fence());
  return session;
}

SqlSession::~SqlSession() {
  if (connection_ != nullptr) api_.disconnect(&connection_);
  if (database_ != nullptr) api_.close(&database_);
}

Status SqlSession::Connect(const SqlSessionOptions& options) {
  std::vector<std::pair<std::string, std::string>> settings = {
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"memory_limit", fmt::format("{}MB", std::max<int64_t>(options.memory_limit_mb, 64))},
      {"temp_directory", ""},
  };
  if (options.threads > 0) settings.emplace_back("threads", fmt::format("{}", options.threads));
  duckdb_config config = nullptr;
  if (api_.create_config(&config) != DuckDBSuccess) return Internal("DuckDB gave no configuration");
  std::string refused;
  for (const auto& [key, value] : settings) {
    if (api_.set_config(config, key.c_str(), value.c_str()) != DuckDBSuccess) refused = key;
  }
  char* error = nullptr;
  const bool opened = refused.empty() && api_.open_ext(nullptr, &database_, config, &error) == DuckDBSuccess;
  api_.destroy_config(&config);
  if (!opened) {
    const std::string reason = error != nullptr ? error : "setting " + refused;
    api_.free(error);
    return Internal(fmt::format("DuckDB {} does not open: {}", api_.version, reason));
  }
  if (api_.connect(database_, &connection_) != DuckDBSuccess) return Internal("DuckDB does not connect");
  return {};
}

Status SqlSession::CollectTables(const std::vector<RunSource>& runs, const SqlSessionOptions& options) {
  for (const TableSchemaLite& table : options.known_tables) {
    known_[table.name] = table;
    tables_[table.name];
  }
  for (const RunSource& run : runs) NL_TRY(AddParts(run));
  return {};
}

Status SqlSession::AddParts(const RunSource& run) {
  NL_ASSIGN(const RunParts parts, PartsOfRun(run));
  for (const auto& [table, files] : parts) {
    std::vector<std::string> before;
    for (const RunPart& part : files) {
      NL_ASSIGN(const std::string folder, EnginePath(part.run_folder));
      const std::string file = folder + "/" + part.name;
      tables_[table].push_back({part, file, before});
      before.push_back(file);
    }
  }
  return {};
}

// Exactly the tables' files and not their folders: with a folder allowed, DuckDB
// 1.4.4 would write log files into it from inside a SELECT.
Status SqlSession::Fence() {
  std::string list;
  for (const auto& [name, parts] : tables_) {
    for (const Part& part : parts) list += (list.empty() ? "" : ", ") + SqlQuote(part.file);
  }
  if (!list.empty()) NL_TRY(Run(fmt::format("SET allowed_paths = [{}]", list)));
  NL_TRY(Run("SET enable_external_access = false"));
  return Run("SET lock_configuration = true");
}

Status SqlSession::Run(const std::string& sql) {
  duckdb_result result{};
  const bool good = api_.query(connection_, sql.c_str(), &result) == DuckDBSuccess;
  const char* message = good ? nullptr : api_.result_error(&result);
  Status status;
  if (!good) status = Internal(message != nullptr ? message : "DuckDB failed without a reason");
  api_.destroy_result(&result);
  return status;
}

Status SqlSession::Verify(const std::string& table, const std::atomic<bool>* cancelled) {
  for (const Part& part : tables_[table]) NL_TRY(VerifyRunPart(part, cancelled));
  return {};
}

void SqlSession::CreateView(const std::string& name) {
  std::vector<std::string> selects;
  for (const Part& part : tables_[name]) {
    std::string id;
    for (const std::string& file : part.after)
      id += fmt::format(" + (SELECT count(*) FROM read_parquet({}))", SqlQuote(file));
    const std::string columns = id.empty() ? "*" : fmt::format("* REPLACE (id{} AS id)", id);
    selects.push_back(fmt::format("SELECT {} AS run, {} FROM read_parquet({})", SqlQuote(part.label), columns,
                                  SqlQuote(part.file)));
  }
  std::string body = UnionAll(std::move(selects));
  if (body.empty()) {
    body = "SELECT NULL::VARCHAR AS run";
    for (const auto& [column, type] : known_[name].columns) {
      body += fmt::format(", NULL::{} AS {}", type, SqlName(column));
    }
    body += " WHERE false";
  }
  const Status status = Run(fmt::format("CREATE VIEW {} AS {}", SqlName(name), body));
  if (!status.ok()) broken_[name] = status.error().message;
}

// A view costs verifying its files and reading their footers, so only the tables a
// statement names are made; one that names none, asks what exists, or names a file, gets all.
Status SqlSession::EnsureViews(const std::vector<std::string>& names, const std::atomic<bool>* cancelled) {
  std::vector<std::string> wanted;
  bool all = false;
  for (const std::string& name : names) {
    if (AsksForTheCatalog(name) || NamesAFile(name)) all = true;
    if (tables_.count(name) > 0) wanted.push_back(name);
  }
  if (all || wanted.empty()) {
    wanted.clear();
    for (const auto& [name, parts] : tables_) wanted.push_back(name);
  }
  for (const std::string& name : wanted) {
    if (created_.count(name) > 0) continue;
    NL_TRY(Verify(name, cancelled));
    created_.insert(name);
    CreateView(name);
  }
  return {};
}

Error SqlSession::Explain(const std::string& message, const std::vector<std::string>& names) const {
  const bool is_broken = std::any_of(names.begin(), names.end(),
                                     [this](const std::string& name) { return broken_.count(name) > 0; });
  if (is_broken || message.starts_with("Permission Error") || message.starts_with("IO Error")) {
    for (const auto& [table, parts] : tables_) {
      for (const Part& part : parts) {
        if (!PathExists(part.run_folder)) return RemovedRun(part.label);
      }
    }
  }
  for (const std::string& name : names) {
    if (const auto it = broken_.find(name); it != broken_.end()) {
      return IoError(fmt::format("the table {} cannot be read: {}", name, it->second), 0)
          .Hint("neurolens doctor checks the files of the store");
    }
  }
  if (message.starts_with("Permission Error")) {
    return InvalidInput(message).Hint(
        "a query sees the tables of its runs and no other file; SHOW TABLES lists them");
  }
  if (message.starts_with("Out of Memory Error")) {
    return Limit("the query needs more memory than it may use").Hint("raise query_memory_mb, or select less");
  }
  if (message.starts_with("IO Error")) return IoError(message, 0).Hint("neurolens doctor checks the store");
  // What DuckDB did not expect is a damaged file as a rule: its tables are Parquet files that anybody may
  // have written.
  if (message.starts_with("INTERNAL Error") || message.starts_with("FATAL Error"))
    return IoError(message.substr(0, message.find('\n')), 0)
        .Hint("neurolens doctor checks the files of the store");
  if (message.starts_with("Catalog Error: Table")) {
    return InvalidInput(message).Hint("neurolens query RUN \"SHOW TABLES\" lists the tables");
  }
  return InvalidInput(message);
}

Result<duckdb_prepared_statement> SqlSession::Prepare(const std::string& sql, bool* is_explain) {
  duckdb_extracted_statements statements = nullptr;
  const idx_t count = api_.extract_statements(connection_, sql.c_str(), &statements);
  duckdb_prepared_statement prepared = nullptr;
  Status status;
  if (count == 0) {
    const char* message = api_.extract_statements_error(statements);
    status = InvalidInput(message != nullptr ? message : "the query is empty");
  } else if (count > 1) {
    status =
        InvalidInput("this is more than one statement to the engine; give PIVOT its values with IN (...)");
  } else if (api_.prepare_extracted_statement(connection_, statements, 0, &prepared) != DuckDBSuccess) {
    const char* message = api_.prepare_error(prepared);
    status = InvalidInput(message != nullptr ? message : "the query cannot be prepared");
  } else if (api_.nparams(prepared) > 0) {
    status = InvalidInput("parameters ($1, ?) are not supported; write the values");
  } else {
    const duckdb_statement_type type = api_.prepared_statement_type(prepared);
    *is_explain = type == DUCKDB_STATEMENT_TYPE_EXPLAIN;
    if (type != DUCKDB_STATEMENT_TYPE_SELECT && !*is_explain) {
      status = InvalidInput("this statement is refused: a query only reads");
    }
  }
  api_.destroy_extracted(&statements);
  if (status.ok()) return prepared;
  if (prepared != nullptr) api_.destroy_prepare(&prepared);
  return std::move(status).error();
}

Result<duckdb_prepared_statement> SqlSession::PrepareGuarded(const GuardedSql& guarded) {
  bool is_explain = false;
  if (!guarded.explained.empty()) {
    // EXPLAIN ANALYZE runs what it explains: that must be a query as well.
    NL_ASSIGN(duckdb_prepared_statement inner, Prepare(guarded.explained, &is_explain));
    api_.destroy_prepare(&inner);
    if (is_explain) return InvalidInput("EXPLAIN of EXPLAIN is refused");
  }
  NL_ASSIGN(duckdb_prepared_statement prepared, Prepare(guarded.text, &is_explain));
  if (is_explain && guarded.explained.empty()) {
    api_.destroy_prepare(&prepared);
    return InvalidInput("this statement is refused: a query only reads");
  }
  return prepared;
}

Status SqlSession::Start(Execution& run, const GuardedSql& guarded, bool cast_unknown) {
  NL_ASSIGN(run.prepared, PrepareGuarded(guarded));
  if (api_.execute_prepared_streaming(run.prepared, &run.result) != DuckDBSuccess) {
    const char* message = api_.result_error(&run.result);
    return InvalidInput(message != nullptr ? message : "the query failed");
  }
  if (!cast_unknown) return {};
  bool all_known = true;
  std::string list;
  for (idx_t i = 0; i < api_.column_count(&run.result); ++i) {
    duckdb_logical_type type = api_.column_logical_type(&run.result, i);
    const bool known = HasJsonForm(api_, type);
    api_.destroy_logical_type(&type);
    all_known = all_known && known;
    const std::string value = known ? fmt::format("#{}", i + 1) : fmt::format("CAST(#{} AS VARCHAR)", i + 1);
    list += fmt::format("{}{} AS {}", i == 0 ? "" : ", ", value, SqlName(api_.column_name(&run.result, i)));
  }
  if (all_known) return {};
  run.Reset();
  GuardedSql wrapped = guarded;
  wrapped.text = fmt::format("SELECT {} FROM ({}\n)", list, guarded.text);
  return Start(run, wrapped, false);
}

Result<SqlOutcome> SqlSession::Fetch(Execution& run, int64_t max_rows, const ChunkFn& on_chunk) {
  SqlOutcome outcome;
  std::set<std::string> names;
  for (idx_t i = 0; i < api_.column_count(&run.result); ++i) {
    const std::string given = api_.column_name(&run.result, i);
    std::string name = given;
    for (int suffix = 1; !names.insert(name).second; ++suffix) name = fmt::format("{}_{}", given, suffix);
    duckdb_logical_type type = api_.column_logical_type(&run.result, i);
    outcome.columns.push_back({std::move(name), SqlTypeName(api_, type)});
    api_.destroy_logical_type(&type);
  }
  for (;;) {
    duckdb_data_chunk chunk = api_.fetch_chunk(run.result);
    if (chunk == nullptr) break;
    auto rows = static_cast<int64_t>(api_.data_chunk_get_size(chunk));
    const bool over = max_rows >= 0 && outcome.rows + rows > max_rows;
    if (over) {
      outcome.truncated = true;
      rows = max_rows - outcome.rows;
      api_.data_chunk_set_size(chunk, static_cast<idx_t>(rows));
    }
    Status status;
    if (rows > 0) status = on_chunk(outcome, SqlChunk(api_, chunk, static_cast<uint64_t>(rows)));
    api_.destroy_data_chunk(&chunk);
    if (!status.ok()) return std::move(status).error();
    outcome.rows += rows;
    if (over) return outcome;
  }
  const char* message = api_.result_error(&run.result);
  if (message != nullptr && *message != '\0') return InvalidInput(message);
  return outcome;
}

Result<SqlOutcome> SqlSession::Execute(std::string_view sql, const SqlLimits& limits, bool cast_unknown,
                                       const ChunkFn& on_chunk) {
  NL_ASSIGN(GuardedSql guarded, GuardSql(sql));
  NL_TRY(EnsureViews(NamesWithFiles(guarded), limits.cancelled));
  Watchdog watchdog(api_, connection_, limits);
  Status sink_status;
  const auto deliver = [&](const SqlOutcome& so_far, const SqlChunk& chunk) -> Status {
    if (watchdog.timed_out() || watchdog.cancelled()) return InvalidInput("interrupted");
    sink_status = on_chunk(so_far, chunk);
    return sink_status;
  };
  Result<SqlOutcome> outcome = Internal("not run");
  {
    Execution run(api_);
    Status started = Start(run, guarded, cast_unknown && guarded.explained.empty());
    outcome =
        started.ok() ? Fetch(run, limits.max_rows, deliver) : Result<SqlOutcome>(std::move(started).error());
  }
  if (outcome.ok() && outcome->truncated && limits.refuse_more_rows) {
    return Limit(fmt::format("the answer has more than {} rows", limits.max_rows))
        .Hint("give --max-rows, or a LIMIT in the SQL");
  }
  if (outcome.ok()) return outcome;
  if (!sink_status.ok()) return std::move(sink_status).error();
  if (watchdog.cancelled()) return Cancelled();
  if (watchdog.timed_out()) {
    return Limit(fmt::format("the query was stopped after {:g} s", limits.max_seconds))
        .Hint("give it more with --timeout, or select less");
  }
  Error& error = outcome.error();
  // Our own refusals carry their hint already; the engine's messages are graded here.
  if (error.hint.empty()) return Explain(error.message, guarded.names);
  return std::move(error);
}

Result<SqlOutcome> SqlSession::Query(std::string_view sql, const SqlLimits& limits, const ChunkFn& on_chunk) {
  return Execute(sql, limits, true, on_chunk);
}

Result<SqlTable> SqlSession::QueryTable(std::string_view sql, const SqlLimits& limits) {
  SqlTable table;
  NL_ASSIGN(SqlOutcome outcome,
            Query(sql, limits, [&](const SqlOutcome& so_far, const SqlChunk& chunk) -> Status {
              for (uint64_t row = 0; row < chunk.rows(); ++row) {
                Json cells = Json::array();
                for (uint64_t i = 0; i < so_far.columns.size(); ++i) cells.push_back(chunk.Cell(i, row));
                table.rows.push_back(std::move(cells));
              }
              return {};
            }));
  table.columns = std::move(outcome.columns);
  table.truncated = outcome.truncated;
  return table;
}

}  // namespace nl
