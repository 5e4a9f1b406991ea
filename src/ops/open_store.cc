// SPDX-License-Identifier: Apache-2.0
#include "ops/open_store.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/time_text.h"
#include "model/event_batch.h"
#include "ops/settings.h"

namespace nl {

namespace {

std::vector<TableSchemaLite> KnownTables() {
  std::vector<TableSchemaLite> tables;
  for (const TableInfo* info : kAllTables) {
    TableSchemaLite table{info->name, {{"id", "BIGINT"}}};
    for (const ColumnInfo& column : info->columns)
      table.columns.emplace_back(column.name, SqlType(column.type));
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string TagsText(const CatalogRun& run) {
  std::string out;
  for (const auto& [key, value] : run.tags) out += fmt::format("{}{}={}", out.empty() ? "" : " ", key, value);
  return out;
}

std::string RunsView(const std::vector<CatalogRun>& runs, const std::vector<std::string>& labels) {
  std::string rows;
  for (size_t i = 0; i < runs.size(); ++i) {
    const CatalogRun& run = runs[i];
    rows += fmt::format(
        "{}({}, {}, make_timestamp_ns({}::BIGINT), {}, {}, {}, {}, {}, {}, {}::BIGINT, {}::BIGINT)",
        i == 0 ? "" : ", ", SqlQuote(labels[i]), SqlQuote(run.run_id), run.created_at_ns,
        SqlQuote(run.backend), SqlQuote(run.model), SqlQuote(run.device), SqlQuote(run.precision),
        SqlQuote(run.source_name), SqlQuote(TagsText(run)), run.wall_ns, run.lost_records);
  }
  return fmt::format(
      "CREATE VIEW runs AS SELECT * FROM (VALUES {}) AS t(run, run_id, created_at, backend, model, device, "
      "precision, source_name, tags, wall_ns, lost_records)",
      rows);
}

}  // namespace

Result<std::unique_ptr<Store>> OpenStore(const OpContext& context, Store::Mode mode) {
  return Store::Open(context.settings != nullptr ? context.settings->Get("store") : "", mode);
}

Result<std::vector<CatalogRun>> ResolveRuns(Store& store, const std::vector<std::string>& refs) {
  std::vector<CatalogRun> runs;
  std::set<std::string> seen;
  const auto add = [&](CatalogRun run) {
    if (seen.insert(run.run_id).second) runs.push_back(std::move(run));
  };
  for (const std::string& ref : refs) {
    if (ref == "@all") {
      RunFilter oldest_first;
      oldest_first.descending = false;
      NL_ASSIGN(std::vector<CatalogRun> all, store.catalog().List(oldest_first));
      for (CatalogRun& run : all) add(std::move(run));
    } else {
      NL_ASSIGN(CatalogRun run, store.catalog().Resolve(ref));
      add(std::move(run));
    }
  }
  if (runs.empty()) return NotFound("the store holds no run").Hint("neurolens import FILE adds one");
  return runs;
}

namespace {

SqlSessionOptions SqlOptions(const OpContext& context) {
  SqlSessionOptions options;
  options.known_tables = KnownTables();
  if (context.settings != nullptr) {
    options.duckdb_path = context.settings->Get("duckdb");
    options.threads = context.settings->GetInt("threads");
    options.memory_limit_mb = context.settings->GetInt("query_memory_mb");
  }
  return options;
}

}  // namespace

Result<QueryRequest> RequestSql(const OpContext& context, Store& store, const std::vector<CatalogRun>& runs) {
  QueryRequest request;
  request.options = SqlOptions(context);
  request.limits = SettingsLimits(context);
  std::vector<std::string> labels;
  for (const CatalogRun& run : runs) {
    NL_ASSIGN(std::string label, store.catalog().ShortId(run.run_id));
    labels.push_back(label);
    request.runs.push_back({std::move(label), store.RunPath(run.run_id), {}});
  }
  request.options.trusted_setup.push_back(RunsView(runs, labels));
  return request;
}

Result<std::unique_ptr<SqlSession>> OpenSql(const OpContext& context, Store& store,
                                            const std::vector<CatalogRun>& runs) {
  NL_ASSIGN(QueryRequest request, RequestSql(context, store, runs));
  return SqlSession::Open(request.runs, std::move(request.options));
}

SqlLimits SettingsLimits(const OpContext& context) {
  SqlLimits limits;
  if (context.settings != nullptr) {
    limits.max_rows = context.settings->GetInt("query_rows");
    limits.max_seconds = static_cast<double>(context.settings->GetInt("query_seconds"));
  }
  limits.cancelled = context.cancelled;
  return limits;
}

std::string ShortTime(int64_t unix_ns) {
  std::string text = Rfc3339Utc(unix_ns).substr(0, 16);
  if (text.size() > 10) text[10] = ' ';
  return text;
}

}  // namespace nl
