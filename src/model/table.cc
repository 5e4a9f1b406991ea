// SPDX-License-Identifier: Apache-2.0
#include "model/table.h"

namespace nl {

size_t ElementBytes(ColumnType type) {
  return type == ColumnType::kInt32 || type == ColumnType::kString ? 4 : 8;
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

}  // namespace nl
