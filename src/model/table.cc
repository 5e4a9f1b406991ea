// SPDX-License-Identifier: Apache-2.0
#include "model/table.h"

#include <cstring>

#include <fmt/format.h>

#include "base/check.h"
#include "model/event_batch.h"

namespace nl {

namespace {

const char* TableOf(const ColumnInfo& column) {
  for (const TableInfo* table : kAllTables) {
    for (const ColumnInfo& each : table->columns) {
      if (&each == &column) return table->name;
    }
  }
  return "?";
}

}  // namespace

size_t ElementBytes(ColumnType type) {
  return type == ColumnType::kInt32 || type == ColumnType::kString ? 4 : 8;
}

bool IsTime(const ColumnInfo& column) {
  return column.type == ColumnType::kInt64 && std::strcmp(column.unit, "ns") == 0;
}

int64_t LeastTime_ns(const ColumnInfo& column) {
  return std::strcmp(column.name, "dur_ns") == 0 ? 0 : -kMostTime_ns;
}

const char* SqlType(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64: return "BIGINT";
    case ColumnType::kInt32: return "INTEGER";
    case ColumnType::kFloat64: return "DOUBLE";
    case ColumnType::kString: return "VARCHAR";
  }
  return "VARCHAR";
}

void FailUndeclared(const char* reader, const ColumnInfo& column) {
  NL_FAIL(fmt::format("{} reads the column {}.{} and does not declare it (NL_READS)", reader, TableOf(column),
                      column.name)
              .c_str());
}

void FailUndeclared(const char* reader, const TableInfo& table) {
  NL_FAIL(
      fmt::format("{} counts the rows of {} and declares none of its columns (NL_READS)", reader, table.name)
          .c_str());
}

void FailOutOfRange(const ColumnInfo& column, size_t row, size_t rows) {
  NL_FAIL(fmt::format("row {} of {}.{}, which has {} rows", row, TableOf(column), column.name, rows).c_str());
}

}  // namespace nl
