// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nsys/export_file.h"

#include <algorithm>

#include <fmt/format.h>

namespace nl::adapters::nsys {

namespace {

constexpr int64_t kYearNs = int64_t{366} * 24 * 3600 * 1'000'000'000;
constexpr int64_t kReportRows = 1 << 16;
constexpr int64_t kMaxPlanned = int64_t{1} << 40;  // row numbers are whatever the file says

bool InRange(int64_t time_ns) { return time_ns > -50 * kYearNs && time_ns < 200 * kYearNs; }

std::string Shown(int64_t value) { return IsNull(value) ? "null" : fmt::format("{}", value); }

// Lists of names, descriptions of other tables' columns, and tables the readers use
// without being rows of events.
bool IsDescription(std::string_view table) {
  if (table.starts_with("ENUM_") || table.starts_with("META_DATA_") || table.starts_with("TARGET_INFO_"))
    return true;
  for (const std::string_view name :
       {"StringIds", "ANALYSIS_FILE", "ANALYSIS_DETAILS", "ProcessStreams", "PROCESSES", "ThreadNames",
        "NVTX_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_SCHEMA_ENTRIES", "NVTX_PAYLOAD_ENUMS",
        "NVTX_PAYLOAD_ENUM_ENTRIES", "NVTX_SCOPES", "EXPORT_META_DATA"}) {
    if (table == name) return true;
  }
  return false;
}

}  // namespace

Status ExportFile::ForEach(const char* table, std::span<const char* const> columns, int needed,
                           const std::function<Status(const SqliteRows&)>& row) {
  const SqliteReader::Table* found = reader.Find(table);
  if (found == nullptr) return {};
  Expect(table, columns);
  for (int i = 0; i < needed; ++i) {
    if (found->Has(columns[static_cast<size_t>(i)])) continue;
    file.counters.Add(kMissingColumn, -1, fmt::format("{}.{}", table, columns[static_cast<size_t>(i)]));
    return {};
  }
  NL_ASSIGN(SqliteRows rows, reader.Read(table, columns));
  while (rows.Next()) {
    NL_TRY(row(rows));
    NL_TRY(writer.Flow());
    if (rows.rows() % kReportRows == 0) Report(kReportRows);
  }
  Report(rows.rows() % kReportRows);
  Status status = rows.status();
  if (status.ok() || !file.options.allow_truncated || status.error().code != ErrorCode::kInvalidInput)
    return status;
  file.counters.Add(kDamagedTable, -1, status.error().message);
  return {};
}

Status ExportFile::ForFew(const char* table, std::span<const char* const> columns,
                          const std::function<void(const SqliteRows&)>& row) {
  if (reader.Find(table) == nullptr) return {};
  Expect(table, columns);
  NL_ASSIGN(SqliteRows rows, reader.Read(table, columns));
  while (rows.Next()) row(rows);
  Status status = rows.status();
  if (status.ok() || !file.options.allow_truncated || status.error().code != ErrorCode::kInvalidInput)
    return status;
  file.counters.Add(kDamagedTable, -1, status.error().message);
  return {};
}

void ExportFile::Expect(const char* table, std::span<const char* const> columns) {
  auto& known = known_[table];
  known.insert(known.end(), columns.begin(), columns.end());
}

void ExportFile::PlanProgress(std::span<const char* const> tables) {
  for (const char* table : tables) {
    if (reader.Find(table) != nullptr) total_rows_ += std::min(reader.LastRow(table), kMaxPlanned);
  }
}

void ExportFile::Report(int64_t more_rows) {
  done_rows_ += more_rows;
  if (!file.options.progress || total_rows_ == 0) return;
  const double share = std::min(1.0, static_cast<double>(done_rows_) / static_cast<double>(total_rows_));
  file.options.progress(static_cast<int64_t>(share * static_cast<double>(size_bytes_)), size_bytes_);
}

bool ExportFile::TimeOf(const SqliteRows& rows, int start_column, int end_column, Table table, RowId row,
                        Time& to) {
  to.start_ns = rows.Int(start_column);
  const int64_t end_ns = rows.Int(end_column);
  // CUPTI writes zero for both where it has no time.
  const bool untimed = to.start_ns == 0 && end_ns == 0;
  if (IsNull(to.start_ns) || untimed || !InRange(to.start_ns)) {
    file.counters.Add(
        kBadTimestamp, -1,
        fmt::format("{} {}: start {}, end {}", rows.table(), rows.rows(), Shown(to.start_ns), Shown(end_ns)));
    return false;
  }
  to.dur_ns = NullOf<int64_t>::value;
  if (IsNull(end_ns)) return true;
  if (end_ns < to.start_ns || !InRange(end_ns) || end_ns - to.start_ns > kYearNs) {
    file.counters.Add(kBadDuration, -1,
                      fmt::format("{} {}: start {}, end {}", rows.table(), rows.rows(), to.start_ns, end_ns));
    writer.KeepArg(table, row, "end", end_ns);
    return true;
  }
  to.dur_ns = end_ns - to.start_ns;
  return true;
}

bool ExportFile::InstantOf(const SqliteRows& rows, int column, int64_t& to) {
  to = rows.Int(column);
  if (!IsNull(to) && InRange(to)) return true;
  file.counters.Add(kBadTimestamp, -1, fmt::format("{} {}: at {}", rows.table(), rows.rows(), Shown(to)));
  return false;
}

StringId ExportFile::NameOf(int64_t id, Table table, RowId row, std::string_view column) {
  if (IsNull(id)) return StringId::kNull;
  const StringId name = strings.Find(id);
  if (name == StringId::kNull) {
    file.counters.Add(kMissingString, -1, fmt::format("{} {}", column, id));
    writer.KeepArg(table, row, column, id);
  }
  return name;
}

EnumNames ExportFile::Enum(const char* table, EnumNames known) {
  constexpr const char* kColumns[] = {"id", "name"};
  // A damaged list of names is no reason to lose the rows: what is known stays.
  (void)ForFew(table, kColumns, [&](const SqliteRows& rows) {
    if (!IsNull(rows.Int(0)) && !rows.IsNull(1)) known[rows.Int(0)] = std::string(rows.Text(1));
  });
  return known;
}

Status ExportFile::CountLeftOut() {
  for (const SqliteReader::Table& table : reader.tables()) {
    const auto known = known_.find(table.name);
    if (known == known_.end()) {
      if (IsDescription(table.name)) continue;
      const Result<int64_t> rows = reader.CountRows(table.name);
      if (!rows.ok() && !file.options.allow_truncated) return rows.error();
      if (rows.ok() && *rows == 0) continue;
      file.counters.Add(kTableNotImported, -1,
                        rows.ok() ? fmt::format("{}: {} rows", table.name, *rows) : table.name);
      continue;
    }
    if (IsDescription(table.name) || reader.LastRow(table.name) == 0) continue;
    for (const std::string& column : table.columns) {
      const auto& columns = known->second;
      if (std::find(columns.begin(), columns.end(), column) == columns.end())
        file.counters.Add(kColumnNotImported, -1, fmt::format("{}.{}", table.name, column));
    }
  }
  return {};
}

}  // namespace nl::adapters::nsys
