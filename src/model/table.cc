// SPDX-License-Identifier: Apache-2.0
#include "model/table.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

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

bool IsAmount(const TableInfo& table, const ColumnInfo& column) {
  static constexpr std::string_view kUnits[] = {"bytes", "GB/s", "ratio", "Hz"};
  static constexpr std::string_view kNames[] = {"grid_x",
                                                "grid_y",
                                                "grid_z",
                                                "block_x",
                                                "block_y",
                                                "block_z",
                                                "sm_count",
                                                "warp_threads",
                                                "blocks_per_sm",
                                                "warps_per_sm",
                                                "in_elements",
                                                "out_elements",
                                                "group_size",
                                                "compute_major",
                                                "compute_minor",
                                                "flops",
                                                "local_sectors",
                                                "registers_per_sm",
                                                "bank_conflicts",
                                                "registers_per_thread",
                                                "max_threads_per_sm",
                                                "estimated_occupancy_pct"};
  if (column.type == ColumnType::kString || column.encoding == Encoding::kLate) return false;
  if (std::string_view(table.name) == "memory_event") return false;  // released bytes are negative
  return std::find(std::begin(kUnits), std::end(kUnits), column.unit) != std::end(kUnits) ||
         std::find(std::begin(kNames), std::end(kNames), column.name) != std::end(kNames);
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
