// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/terminal.h"
#include "ledger/sql_values.h"
#include "ops/open_store.h"
#include "report/text_table.h"

namespace nl::ops::query {

namespace {

bool IsNumeric(const std::string& type) {
  return type.find("INT") != std::string::npos || type == "DOUBLE" || type == "FLOAT" ||
         type.rfind("DECIMAL", 0) == 0;
}

TextTable MakeTable(const Json& columns, const Json& rows) {
  std::vector<TextColumn> header;
  for (const Json& column : columns) {
    const bool numeric = IsNumeric(column["type"].get<std::string>());
    header.push_back(
        {column["name"].get<std::string>(), numeric ? Align::kRight : Align::kLeft, !numeric, 8});
  }
  TextTable table(std::move(header));
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const Json& cell : row) cells.push_back(CellText(cell));
    table.AddRow(std::move(cells));
  }
  return table;
}

// An array of objects, one per line: easy to read and to cut.
std::string JsonLines(const Json& columns, const Json& rows) {
  std::string out = "[";
  for (size_t i = 0; i < rows.size(); ++i) {
    Json object = Json::object();
    for (size_t c = 0; c < columns.size(); ++c) object[columns[c]["name"].get<std::string>()] = rows[i][c];
    out += (i == 0 ? "\n" : ",\n") + DumpJson(object);
  }
  return out + "\n]\n";
}

bool LooksLikeSql(const std::string& text) { return text.find_first_of(" \t\n(") != std::string::npos; }

class QueryOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "query";
    info.summary = "Ask SQL of the tables of one or several runs";
    info.choose_when =
        "when no other command answers the question; SHOW TABLES and DESCRIBE kernel tell what is there";
    info.example =
        "neurolens query @latest \"SELECT name, sum(dur_ns) FROM kernel GROUP BY name ORDER BY 2 DESC\"";
    info.cost = Cost::kSeconds;
    info.reply_schema = SchemaFromText(R"({"type": "object",
      "required": ["runs", "columns", "rows", "row_count", "truncated", "elapsed_ms"], "properties": {
      "runs": {"type": "array", "items": {"type": "string"}},
      "columns": {"type": "array", "items": {"type": "object", "required": ["name", "type"],
        "properties": {"name": {"type": "string"}, "type": {"type": "string"}}}},
      "rows": {"type": "array", "items": {"type": "array"}},
      "row_count": {"type": "integer"}, "truncated": {"type": "boolean"}, "elapsed_ms": {"type": "number"},
      "file": {"type": "string"}, "file_bytes": {"type": "integer"}}})");
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("args", args_, "Runs (none: @latest; @all: every run), then one SQL statement")
        .Run()
        .Positional()
        .Required();
    binder.Add("format", format_, "Form of the answer").Choices({"table", "csv", "json", "parquet"});
    binder.Add("out", out_, "Write the answer to this file").Path().LocalOnly();
    binder.Add("max_rows", max_rows_, "Most rows to return; 0 takes the setting query_rows").Range(0, 1e9);
    binder.Add("timeout", timeout_, "Longest time, in seconds; 0 takes the setting query_seconds")
        .Range(0, 86'400);
  }

  Result<Reply> Run(OpContext& context) override {
    const std::string sql = args_.back();
    std::vector<std::string> refs(args_.begin(), args_.end() - 1);
    if (refs.empty()) refs.push_back("@latest");
    if (!LooksLikeSql(sql)) {
      return InvalidInput(fmt::format("the last argument must be an SQL statement, not '{}'", sql))
          .Hint("for example: neurolens query @latest \"SELECT count(*) FROM kernel\"");
    }
    if (format_ == "parquet" && out_.empty()) return InvalidInput("--format parquet needs --out FILE");

    NL_ASSIGN(auto store, OpenStore(context, Store::Mode::kReadOnly));
    NL_ASSIGN(std::vector<CatalogRun> runs, ResolveRuns(*store, refs));
    const auto begin = std::chrono::steady_clock::now();
    NL_ASSIGN(auto session, OpenSql(context, *store, runs));
    SqlLimits limits = SettingsLimits(context);
    if (max_rows_ > 0) limits.max_rows = max_rows_;
    if (timeout_ > 0) limits.max_seconds = timeout_;
    // A form that has no place for a note must not be cut silently at a limit nobody typed.
    limits.refuse_more_rows = max_rows_ == 0 && (format_ != "table" || !out_.empty());

    Reply reply;
    reply.json["runs"] = Json::array();
    for (const CatalogRun& run : runs) reply.json["runs"].push_back(run.run_id);
    NL_TRY(format_ == "parquet" ? ToParquet(*session, sql, limits, reply)
                                : ToReply(*session, sql, limits, reply));
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    reply.json["elapsed_ms"] = std::round(elapsed.count() * 1000) / 1000;
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& json = reply.json;
    const auto row_count = json["row_count"].get<int64_t>();
    const std::string more = json["truncated"].get<bool>()
                                 ? fmt::format("; there are more, --max-rows {} cut them off", row_count)
                                 : "";
    if (json.contains("file")) {
      return fmt::format("wrote {} rows ({}) to {}{}\n", HumanCount(row_count),
                         HumanBytes(json["file_bytes"].get<int64_t>()), json["file"].get<std::string>(),
                         more);
    }
    if (row_count == 1 && json["columns"].size() == 2 && json["columns"][0]["name"] == "explain_key") {
      return PrintableText(CellText(json["rows"][0][1]), Keep::kLines);
    }
    std::string out = MakeTable(json["columns"], json["rows"]).Render(style.width, style.color);
    return out + fmt::format("{} row{} in {}{}\n", HumanCount(row_count), row_count == 1 ? "" : "s",
                             HumanMs(json["elapsed_ms"].get<double>()), more);
  }

 private:
  static Json ColumnsJson(const std::vector<SqlColumn>& columns) {
    Json out = Json::array();
    for (const SqlColumn& column : columns) out.push_back({{"name", column.name}, {"type", column.type}});
    return out;
  }

  Status ToParquet(SqlSession& session, const std::string& sql, const SqlLimits& limits, Reply& reply) const {
    NL_ASSIGN(SqlOutcome outcome, session.QueryToParquet(sql, limits, out_));
    reply.json["columns"] = ColumnsJson(outcome.columns);
    reply.json["rows"] = Json::array();
    reply.json["row_count"] = outcome.rows;
    reply.json["truncated"] = outcome.truncated;
    return NoteFile(reply);
  }

  Status ToReply(SqlSession& session, const std::string& sql, const SqlLimits& limits, Reply& reply) const {
    NL_ASSIGN(SqlTable table, session.QueryTable(sql, limits));
    const Json columns = ColumnsJson(table.columns);
    std::string raw;
    if (format_ == "csv") raw = MakeTable(columns, table.rows).Csv();
    if (format_ == "json") raw = JsonLines(columns, table.rows);
    if (format_ == "table" && !out_.empty()) raw = MakeTable(columns, table.rows).Render(0, false);
    reply.json["columns"] = columns;
    reply.json["row_count"] = static_cast<int64_t>(table.rows.size());
    reply.json["truncated"] = table.truncated;
    reply.json["rows"] = std::move(table.rows);
    if (out_.empty()) {
      reply.raw = std::move(raw);
      return {};
    }
    NL_TRY(WriteFileAtomically(out_, raw));
    return NoteFile(reply);
  }

  Status NoteFile(Reply& reply) const {
    std::error_code ec;
    const uintmax_t bytes = std::filesystem::file_size(out_, ec);
    if (ec) return FileError("read", out_, ec.value());
    reply.json["file"] = out_;
    reply.json["file_bytes"] = bytes;
    return {};
  }

  std::vector<std::string> args_;
  std::string format_ = "table";
  std::string out_;
  int64_t max_rows_ = 0;
  double timeout_ = 0;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<QueryOp>(); }

}  // namespace nl::ops::query
