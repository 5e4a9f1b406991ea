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

}  // namespace

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
    ColumnType type;
    void* vector;
  };
  std::vector<Target> targets;
  std::string list;
  for (const char* name : columns) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (std::strcmp(table.columns[i].name, name) == 0)
        targets.push_back({table.columns[i].type, to.VectorOf(i)});
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
  const auto take = [&](const SqlOutcome&, const SqlChunk& chunk) -> Status {
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
  return {};
}

}  // namespace nl
