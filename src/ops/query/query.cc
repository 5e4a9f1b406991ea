// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "ops/find_run.h"
#include "ops/open_store.h"
#include "report/text_table.h"

namespace nl::ops::query {

namespace {

constexpr char kCsvType[] = "text/csv";
constexpr char kParquetType[] = "application/vnd.apache.parquet";

bool IsNumeric(const std::string& type) {
  return type.find("INT") != std::string::npos || type == "DOUBLE" || type == "FLOAT" ||
         type.rfind("DECIMAL", 0) == 0;
}

std::string CellText(const Scalar& cell) {
  if (const auto* b = std::get_if<bool>(&cell)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<int64_t>(&cell)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&cell)) return DumpJson(Json(*d));
  if (const auto* s = std::get_if<std::string>(&cell)) return *s;
  return "";
}

// What JSON has no scalar for is text: lists and structs as JSON, integers above 2^63 as digits.
Scalar ScalarOf(Json& cell) {
  switch (cell.type()) {
    case Json::value_t::null: return std::monostate();
    case Json::value_t::boolean: return cell.get<bool>();
    case Json::value_t::number_integer: return cell.get<int64_t>();
    case Json::value_t::number_float: return cell.get<double>();
    case Json::value_t::string: return std::move(cell.get_ref<std::string&>());
    case Json::value_t::number_unsigned:
      if (cell.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return cell.get<int64_t>();
      return DumpJson(cell);
    default: return DumpJson(cell);
  }
}

struct QueryColumn {
  std::string name, type;
};
void Describe(Record<QueryColumn>& r) {
  r.Name("QueryColumn", "A column of a query's result");
  r.Field("name", &QueryColumn::name, "Name, unique in the result");
  r.Field("type", &QueryColumn::type, "SQL type");
}

struct QueryReply {
  std::vector<std::string> runs;
  std::vector<QueryColumn> columns;
  std::vector<std::vector<Scalar>> rows;
  int64_t row_count = 0;
  bool truncated = false;
  int64_t cut_cells = 0;
  double elapsed_ms = 0;
  std::optional<std::string> file;
  std::optional<int64_t> file_bytes;
};
void Describe(Record<QueryReply>& r) {
  r.Name("QueryReply", "Reply of `neurolens query`");
  r.Field("runs", &QueryReply::runs, "Runs that were queried");
  r.Field("columns", &QueryReply::columns, "Columns of the result");
  r.Field("rows", &QueryReply::rows,
          "Rows, one value per column; lists and structs are JSON text, integers above 2^63 digits as text");
  r.Field("row_count", &QueryReply::row_count, "Rows of the result");
  r.Field("truncated", &QueryReply::truncated, "More rows exist than the limit allows");
  r.Field("cut_cells", &QueryReply::cut_cells,
          "Cells larger than 1 MiB, of which only the beginning is given");
  r.Field("elapsed_ms", &QueryReply::elapsed_ms, Unit::kMs, "Time the query took");
  r.Field("file", &QueryReply::file, "File the result was written to");
  r.Field("file_bytes", &QueryReply::file_bytes, Unit::kBytes, "Size of that file");
}

TextTable MakeTable(const QueryReply& reply) {
  std::vector<TextColumn> header;
  for (const QueryColumn& column : reply.columns) {
    const bool numeric = IsNumeric(column.type);
    header.push_back({column.name, numeric ? Align::kRight : Align::kLeft, !numeric, 8});
  }
  TextTable table(std::move(header));
  for (const std::vector<Scalar>& row : reply.rows) {
    std::vector<std::string> cells;
    for (const Scalar& cell : row) cells.push_back(CellText(cell));
    table.AddRow(std::move(cells));
  }
  return table;
}

// An array of objects, one per line: easy to read and to cut. Lists and structs keep their form.
std::string JsonLines(const std::vector<SqlColumn>& columns, const Json& rows) {
  std::string out = "[";
  for (size_t i = 0; i < rows.size(); ++i) {
    Json object = Json::object();
    for (size_t c = 0; c < columns.size(); ++c) object[columns[c].name] = rows[i][c];
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
    info.summary = "Query the tables of one or several runs with SQL";
    info.choose_when =
        "Choose it when no other command answers the question; `SHOW TABLES` and `DESCRIBE kernel` list what "
        "is "
        "there.";
    info.example =
        "neurolens query @latest \"SELECT name, sum(dur_ns) FROM kernel GROUP BY name ORDER BY 2 DESC\"";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<QueryReply>();
    info.file_types = {kCsvType, kParquetType};
    info.tool.place = 10;
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("args", args_, "Runs (none: @latest; @all: every run), then one SQL statement")
        .Run()
        .Positional()
        .Required();
    binder.Add("format", format_, "Output format").Choices({"table", "csv", "json", "parquet"});
    binder.Add("out", out_, "Write the result to this file").Path();
    binder.Add("max_rows", max_rows_, "Most rows to return; 0: the setting query_rows").Range(0, 1e9);
    binder.Add("timeout", timeout_, "Time limit in seconds; 0: the setting query_seconds").Range(0, 86'400);
  }

  Result<Reply> Run(OpContext& context) override {
    const std::string sql = args_.back();
    std::vector<std::string> refs(args_.begin(), args_.end() - 1);
    if (refs.empty()) refs.push_back("@latest");
    if (!LooksLikeSql(sql)) {
      return InvalidInput(fmt::format("the last argument must be an SQL statement, not '{}'", sql))
          .Hint("for example: neurolens query @latest \"SELECT count(*) FROM kernel\"");
    }
    const bool sends_file = context.takes_files && out_.empty() && (format_ == "parquet" || format_ == "csv");
    if (format_ == "parquet" && out_.empty() && !sends_file)
      return InvalidInput("--format parquet needs --out FILE");

    NL_ASSIGN(const FoundRuns found, FindRuns(context, refs));
    const auto& [store, runs, in_use] = found;
    const auto begin = std::chrono::steady_clock::now();
    NL_ASSIGN(QueryRequest request, RequestSql(context, *store, runs));
    request.sql = sql;
    std::optional<TempDir> folder;
    if (sends_file && format_ == "parquet") {
      NL_ASSIGN(folder, TempDir::Make("neurolens-query-"));
      out_ = folder->path() + "/query.parquet";
    }
    if (format_ == "parquet") request.parquet_path = out_;
    if (max_rows_ > 0) request.limits.max_rows = max_rows_;
    if (timeout_ > 0) request.limits.max_seconds = timeout_;
    // A format that has no place for a note must not be truncated silently at a default limit.
    request.limits.refuse_more_rows = sends_file || (max_rows_ == 0 && (format_ != "table" || !out_.empty()));
    NL_ASSIGN(QueryAnswer answer, RunQuery(request));
    if (answer.cut_cells > 0 && (format_ != "table" || !out_.empty())) {
      return Limit(fmt::format("the result has {} cell{} larger than {}", answer.cut_cells,
                               answer.cut_cells == 1 ? "" : "s", HumanBytes(kMaxCellBytes)))
          .Hint("write it with --format parquet --out FILE, or select less of each cell");
    }

    QueryReply reply;
    for (const CatalogRun& run : runs) reply.runs.push_back(run.run_id);
    for (const SqlColumn& column : answer.table.columns) reply.columns.push_back({column.name, column.type});
    reply.row_count = answer.rows;
    reply.truncated = answer.table.truncated;
    reply.cut_cells = answer.cut_cells;
    std::string raw;
    std::shared_ptr<ReplyFile> file;
    if (sends_file && format_ == "csv") {
      NL_ASSIGN(folder, TempDir::Make("neurolens-query-"));
      out_ = folder->path() + "/query.csv";
    }
    NL_TRY(format_ == "parquet" ? NoteFile(reply) : TakeRows(answer.table, reply, raw));
    if (sends_file) {
      NL_ASSIGN(file, OpenForReply(reply));
      reply.file.reset();  // nobody else finds it there
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    reply.elapsed_ms = std::round(elapsed.count() * 1000) / 1000;
    Reply out = Reply::Of(std::move(reply));
    out.raw = std::move(raw);
    out.file = std::move(file);
    return out;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<QueryReply>();
    std::string more = reply.truncated ? fmt::format("; truncated by --max-rows {}", reply.row_count) : "";
    if (reply.cut_cells > 0) {
      more += fmt::format("; {} cell{} cut to {}", reply.cut_cells, reply.cut_cells == 1 ? "" : "s",
                          HumanBytes(kMaxCellBytes));
    }
    if (reply.file) {
      return fmt::format("wrote {} ({}) to {}{}\n", Counted(reply.row_count, "row"),
                         HumanBytes(reply.file_bytes.value_or(0)), *reply.file, more);
    }
    const bool is_plan =
        reply.rows.size() == 1 && reply.columns.size() == 2 && reply.columns[0].name == "explain_key";
    if (is_plan) return PrintableText(CellText(reply.rows[0][1]), Keep::kLines);
    return MakeTable(reply).Render(style.width, style.color) +
           fmt::format("{} row{} in {}{}\n", HumanCount(reply.row_count), reply.row_count == 1 ? "" : "s",
                       HumanMs(reply.elapsed_ms), more);
  }

 private:
  Status TakeRows(SqlTable& table, QueryReply& reply, std::string& raw) const {
    if (format_ == "json") raw = JsonLines(table.columns, table.rows);
    for (Json& row : table.rows) {
      std::vector<Scalar>& cells = reply.rows.emplace_back();
      for (Json& cell : row) cells.push_back(ScalarOf(cell));
      row = nullptr;  // one copy of a large result is enough
    }
    if (format_ == "csv") raw = MakeTable(reply).Csv();
    if (out_.empty()) return {};
    if (format_ == "table") raw = MakeTable(reply).Render(0, false);
    NL_TRY(WriteFileAtomically(out_, raw));
    raw.clear();
    return NoteFile(reply);
  }

  Status NoteFile(QueryReply& reply) const {
    std::error_code ec;
    const uintmax_t bytes = std::filesystem::file_size(out_, ec);
    if (ec) return FileError("read", out_, ec.value());
    reply.file = out_;
    reply.file_bytes = static_cast<int64_t>(bytes);
    return {};
  }

  Result<std::shared_ptr<ReplyFile>> OpenForReply(const QueryReply& reply) const {
    auto file = std::make_shared<ReplyFile>();
    file->file = UniqueFd(::open(out_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file->file.valid()) return FileError("read", out_);
    file->bytes = reply.file_bytes.value_or(0);
    file->media_type = format_ == "csv" ? kCsvType : kParquetType;
    file->name = "query." + format_;
    return file;
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
