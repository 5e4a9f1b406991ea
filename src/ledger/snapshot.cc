// SPDX-License-Identifier: Apache-2.0
#include "ledger/snapshot.h"

#include <cstring>

#include <fmt/format.h>

namespace nl {

namespace {

// Appends `rows` fixed-width values; rows that are not valid become the type's null.
template <class T>
void AppendValues(void* vector, const void* values, const uint64_t* validity, uint64_t rows) {
  auto& to = *static_cast<std::vector<T>*>(vector);
  const auto* from = static_cast<const T*>(values);
  const size_t at = to.size();
  to.insert(to.end(), from, from + rows);
  if (validity == nullptr) return;
  for (uint64_t i = 0; i < rows; ++i) {
    if ((validity[i / 64] >> (i % 64) & 1) == 0) to[at + i] = NullOf<T>::value;
  }
}

std::string_view TextOf(const duckdb_string_t& s) {
  const uint32_t length = s.value.inlined.length;
  return {length <= 12 ? s.value.inlined.inlined : s.value.pointer.ptr, length};
}

void AppendStrings(void* vector, const void* values, const uint64_t* validity, uint64_t rows,
                   StringPool& pool) {
  auto& to = *static_cast<std::vector<StringId>*>(vector);
  const auto* from = static_cast<const duckdb_string_t*>(values);
  for (uint64_t i = 0; i < rows; ++i) {
    const bool null = validity != nullptr && (validity[i / 64] >> (i % 64) & 1) == 0;
    to.push_back(null ? StringId::kNull : pool.Add(TextOf(from[i])));
  }
}

Error Damaged(const TableInfo& table, std::string_view what) {
  return InvalidInput(fmt::format("the table {} of this run is damaged: {}", table.name, what))
      .Hint("import the profile again, or fetch the bundle again; neurolens doctor checks the store");
}

// Row of the first value from `from` on that is neither null nor within [low, high]; the size when there is
// none.
template <class T>
size_t FirstOutside(const void* vector, size_t from, int64_t low, int64_t high) {
  const auto& values = *static_cast<const std::vector<T>*>(vector);
  for (size_t i = from; i < values.size(); ++i) {
    if ((values[i] < low || values[i] > high) && !IsNull(values[i])) return i;
  }
  return values.size();
}

size_t ValuesIn(ColumnType type, const void* vector) {
  switch (type) {
    case ColumnType::kInt64: return static_cast<const std::vector<int64_t>*>(vector)->size();
    case ColumnType::kInt32: return static_cast<const std::vector<int32_t>*>(vector)->size();
    case ColumnType::kFloat64: return static_cast<const std::vector<double>*>(vector)->size();
    case ColumnType::kString: break;
  }
  return static_cast<const std::vector<StringId>*>(vector)->size();
}

}  // namespace

Result<int64_t> Snapshot::RowsOf(const std::string& table) {
  if (const auto it = rows_of_.find(table); it != rows_of_.end()) return it->second;
  NL_ASSIGN(const SqlTable count,
            session_->QueryTable(fmt::format("SELECT count(*) FROM \"{}\"", table), {}));
  return rows_of_[table] = count.rows[0][0].get<int64_t>();
}

Status Snapshot::CheckValues(const TableInfo& table, const ColumnInfo& column, const void* vector,
                             size_t from) {
  int64_t low = 0, high = kMostTime_ns;
  const bool link = *column.refers_to != '\0';
  if (link) {
    NL_ASSIGN(high, RowsOf(column.refers_to));
    --high;
  } else if (IsTime(column)) {
    low = LeastTime_ns(column);
  } else {
    return {};
  }
  const size_t at = column.type == ColumnType::kInt32 ? FirstOutside<int32_t>(vector, from, low, high)
                                                      : FirstOutside<int64_t>(vector, from, low, high);
  if (at == ValuesIn(column.type, vector)) return {};
  return Damaged(table, link ? fmt::format("{} of row {} names a row that {} does not have (it has {})",
                                           column.name, at - from, column.refers_to, high + 1)
                             : fmt::format("{} of row {} is not a possible time", column.name, at - from));
}

Status Snapshot::Load(ColumnSet& to, const std::vector<const char*>& columns) {
  return LoadColumns(to, columns, "");
}

Status Snapshot::LoadPart(ColumnSet& to, int64_t first_row, int64_t rows) {
  std::vector<const char*> columns;
  for (const ColumnInfo& column : to.info().columns) columns.push_back(column.name);
  return LoadColumns(to, columns, fmt::format(" WHERE id >= {} AND id < {}", first_row, first_row + rows));
}

Status Snapshot::LoadColumns(ColumnSet& to, const std::vector<const char*>& columns,
                             const std::string& where) {
  const TableInfo& table = to.info();
  struct Target {
    const ColumnInfo& column;
    ColumnType type;
    void* vector;
    size_t before;  // values that are there already
  };
  std::vector<Target> targets;
  std::string list;
  for (const char* name : columns) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (std::strcmp(table.columns[i].name, name) == 0)
        targets.push_back({table.columns[i], table.columns[i].type, to.VectorOf(i),
                           ValuesIn(table.columns[i].type, to.VectorOf(i))});
    }
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
  }
  if (targets.size() != columns.size())
    return Internal(fmt::format("table {} lacks one of {}", table.name, list));
  SqlLimits limits;
  limits.max_rows = -1;
  limits.max_seconds = 0;
  limits.cancelled = cancelled_;
  const DuckDbApi& api = session_->api();
  const auto take = [&](const SqlOutcome& so_far, const SqlChunk& chunk) -> Status {
    for (size_t c = 0; c < targets.size(); ++c) {
      if (so_far.columns.at(c).type != SqlType(targets[c].type))
        return Damaged(table, fmt::format("the column {} is of type {}", columns[c], so_far.columns[c].type));
    }
    for (size_t c = 0; c < targets.size(); ++c) {
      duckdb_vector vector = api.data_chunk_get_vector(chunk.handle(), c);
      const void* data = api.vector_get_data(vector);
      const uint64_t* validity = api.vector_get_validity(vector);
      switch (targets[c].type) {
        case ColumnType::kInt64:
          AppendValues<int64_t>(targets[c].vector, data, validity, chunk.rows());
          break;
        case ColumnType::kInt32:
          AppendValues<int32_t>(targets[c].vector, data, validity, chunk.rows());
          break;
        case ColumnType::kFloat64:
          AppendValues<double>(targets[c].vector, data, validity, chunk.rows());
          break;
        case ColumnType::kString:
          AppendStrings(targets[c].vector, data, validity, chunk.rows(), strings_);
          break;
      }
    }
    return {};
  };
  // A plain scan keeps the order of the file (DuckDB's preserve_insertion_order default).
  NL_TRY(session_->Query(fmt::format("SELECT {} FROM \"{}\"{}", list, table.name, where), limits, take));
  for (const Target& target : targets)
    NL_TRY(CheckValues(table, target.column, target.vector, target.before));
  return {};
}

}  // namespace nl
