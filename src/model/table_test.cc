// SPDX-License-Identifier: Apache-2.0
#include "model/table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "model/event_batch.h"

namespace nl {
namespace {

TEST(Tables, BatchAndDescriptionsAreInOneOrder) {
  EventBatch batch;
  const auto tables = batch.Tables();
  for (size_t i = 0; i < tables.size(); ++i) EXPECT_EQ(&tables[i]->info(), kAllTables[i]) << i;
  EXPECT_STREQ(kAllTables[static_cast<size_t>(Table::kKernel)]->name, "kernel");
  EXPECT_STREQ(kAllTables[static_cast<size_t>(Table::kArgs)]->name, "args");
  EXPECT_STREQ(kAllTables[static_cast<size_t>(Table::kString)]->name, "string");
}

TEST(Tables, NamesAreUniqueAndEverythingIsDocumented) {
  std::set<std::string> names;
  for (const TableInfo* table : kAllTables) {
    EXPECT_TRUE(names.insert(table->name).second) << table->name;
    EXPECT_NE(std::strlen(table->doc), 0u) << table->name;
    std::set<std::string> columns = {"id"};
    for (const ColumnInfo& column : table->columns) {
      const std::string place = std::string(table->name) + "." + column.name;
      EXPECT_TRUE(columns.insert(column.name).second) << place;
      EXPECT_NE(std::strlen(column.doc), 0u) << place;
    }
  }
}

// A number's unit stands in its name, the same in C++, SQL and JSON.
TEST(Tables, NamesCarryTheirUnits) {
  for (const TableInfo* table : kAllTables) {
    for (const ColumnInfo& column : table->columns) {
      const std::string name = column.name, unit = column.unit, place = std::string(table->name) + "." + name;
      if (unit == "ns") {
        EXPECT_TRUE(name.ends_with("_ns")) << place;
      }
      if (name.ends_with("_ns")) {
        EXPECT_EQ(unit, "ns") << place;
      }
      if (unit == "bytes") {
        EXPECT_NE(name.find("bytes"), std::string::npos) << place;
      }
      if (unit == "percent") {
        EXPECT_TRUE(name.ends_with("_pct")) << place;
      }
    }
  }
}

TEST(Tables, AFreshRowIsNullEverywhere) {
  const KernelRow row;
  EXPECT_TRUE(IsNull(row.start_ns) && IsNull(row.device) && IsNull(row.name) && IsNull(row.blocks_per_sm));
  EXPECT_TRUE(IsNull(row.thread_id) && IsNull(row.op_id));
}

TEST(Tables, ColumnsGiveBackTheRowsButTheLateOnes) {
  KernelColumns columns;
  KernelRow row;
  row.start_ns = 5;
  row.device = 1;
  row.op_id = static_cast<RowId>(3);
  columns.Add(row);
  columns.Add({});
  EXPECT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns.Row(0).start_ns, 5);
  EXPECT_EQ(columns.Row(0).device, 1);
  EXPECT_TRUE(IsNull(columns.Row(0).op_id));
  EXPECT_TRUE(IsNull(columns.Row(1).start_ns));
  std::vector<ColumnSpan> spans;
  columns.Spans(spans);
  size_t late = 0;
  for (const ColumnInfo& column : KernelColumns::kInfo.columns) late += column.encoding == Encoding::kLate;
  EXPECT_EQ(late, 2u);
  EXPECT_EQ(spans.size(), KernelColumns::kInfo.columns.size() - late);
  for (const ColumnSpan& span : spans) {
    EXPECT_EQ(span.rows, 2u);
    EXPECT_EQ(span.remap_string, span.info->type == ColumnType::kString) << span.info->name;
    EXPECT_EQ(span.remap_thread, std::strcmp(span.info->name, "thread_id") == 0) << span.info->name;
  }
  columns.Clear();
  EXPECT_EQ(columns.size(), 0u);
}

TEST(Tables, TypesHaveTheirSqlNamesAndSizes) {
  EXPECT_STREQ(SqlType(ColumnType::kInt64), "BIGINT");
  EXPECT_STREQ(SqlType(ColumnType::kInt32), "INTEGER");
  EXPECT_STREQ(SqlType(ColumnType::kFloat64), "DOUBLE");
  EXPECT_STREQ(SqlType(ColumnType::kString), "VARCHAR");
  EXPECT_EQ(ElementBytes(ColumnType::kInt64), 8u);
  EXPECT_EQ(ElementBytes(ColumnType::kString), 4u);
}

}  // namespace
}  // namespace nl
