// SPDX-License-Identifier: Apache-2.0
#include "ledger/sql_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace nl {

namespace {

using UInt128 = unsigned __int128;

// Owns a logical type.
class LogicalType {
 public:
  LogicalType(const DuckDbApi& api, duckdb_logical_type type) : api_(api), type_(type) {}
  ~LogicalType() { api_.destroy_logical_type(&type_); }
  LogicalType(const LogicalType&) = delete;
  LogicalType& operator=(const LogicalType&) = delete;
  operator duckdb_logical_type() const { return type_; }  // NOLINT: implicit on purpose

 private:
  const DuckDbApi& api_;
  duckdb_logical_type type_;
};

std::string Digits(UInt128 value) {
  if (value == 0) return "0";
  std::string out;
  for (; value != 0; value /= 10) out += static_cast<char>('0' + static_cast<int>(value % 10));
  std::reverse(out.begin(), out.end());
  return out;
}

struct BigInteger {
  UInt128 magnitude = 0;
  bool negative = false;
};

BigInteger FromHuge(duckdb_hugeint value) {
  UInt128 bits = (static_cast<UInt128>(static_cast<uint64_t>(value.upper)) << 64) | value.lower;
  if (value.upper >= 0) return {bits, false};
  return {~bits + 1, true};
}

BigInteger FromInt(int64_t value) {
  return value < 0 ? BigInteger{static_cast<UInt128>(-(value + 1)) + 1, true}
                   : BigInteger{static_cast<UInt128>(value), false};
}

Json IntegerJson(BigInteger value) {
  if (!value.negative && value.magnitude <= std::numeric_limits<int64_t>::max()) {
    return static_cast<int64_t>(value.magnitude);
  }
  if (value.negative && value.magnitude <= static_cast<UInt128>(1) << 63) {
    return static_cast<int64_t>(-static_cast<__int128>(value.magnitude));
  }
  if (!value.negative && value.magnitude <= std::numeric_limits<uint64_t>::max()) {
    return static_cast<uint64_t>(value.magnitude);
  }
  return (value.negative ? "-" : "") + Digits(value.magnitude);
}

Json DecimalJson(BigInteger value, int scale) {
  if (scale == 0) return IntegerJson(value);
  std::string digits = Digits(value.magnitude);
  const size_t significant = digits.size();
  if (digits.size() <= static_cast<size_t>(scale)) {
    digits.insert(0, static_cast<size_t>(scale) + 1 - digits.size(), '0');
  }
  digits.insert(digits.size() - static_cast<size_t>(scale), ".");
  if (value.negative) digits.insert(0, "-");
  if (significant <= 15) return std::strtod(digits.c_str(), nullptr);
  return digits;
}

Json RealJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// Proleptic Gregorian calendar from days since 1970-01-01 (400-year cycles of 146 097 days).
std::string DateText(int64_t days) {
  const int64_t shifted = days + 719468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const int64_t day_of_era = shifted - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  return fmt::format("{:04}-{:02}-{:02}", year, month, day);
}

Json DateJson(int32_t days) {
  if (days == std::numeric_limits<int32_t>::max()) return "infinity";
  if (days == -std::numeric_limits<int32_t>::max()) return "-infinity";
  return DateText(days);
}

Json TimestampJson(int64_t value, int64_t per_second, int digits) {
  if (value == std::numeric_limits<int64_t>::max()) return "infinity";
  if (value == -std::numeric_limits<int64_t>::max()) return "-infinity";
  int64_t seconds = value / per_second;
  int64_t fraction = value % per_second;
  if (fraction < 0) {
    fraction += per_second;
    --seconds;
  }
  int64_t days = seconds / 86400;
  int64_t clock = seconds % 86400;
  if (clock < 0) {
    clock += 86400;
    --days;
  }
  std::string out =
      fmt::format("{} {:02}:{:02}:{:02}", DateText(days), clock / 3600, clock / 60 % 60, clock % 60);
  if (fraction != 0) out += fmt::format(".{:0{}}", fraction, digits);
  return out;
}

template <class T>
const T& At(void* data, uint64_t row) {
  return static_cast<const T*>(data)[row];
}

Json StringJson(const DuckDbApi& api, void* data, uint64_t row) {
  auto* text = static_cast<duckdb_string_t*>(data) + row;
  return std::string(api.string_t_data(text), api.string_t_length(*text));
}

BigInteger DecimalInteger(const DuckDbApi& api, duckdb_logical_type type, void* data, uint64_t row) {
  switch (api.decimal_internal_type(type)) {
    case DUCKDB_TYPE_SMALLINT: return FromInt(At<int16_t>(data, row));
    case DUCKDB_TYPE_INTEGER: return FromInt(At<int32_t>(data, row));
    case DUCKDB_TYPE_BIGINT: return FromInt(At<int64_t>(data, row));
    default: return FromHuge(At<duckdb_hugeint>(data, row));
  }
}

Json ListJson(const DuckDbApi& api, duckdb_vector child, uint64_t begin, uint64_t count) {
  Json out = Json::array();
  for (uint64_t i = 0; i < count; ++i) out.push_back(CellToJson(api, child, begin + i));
  return out;
}

Json StructJson(const DuckDbApi& api, duckdb_logical_type type, duckdb_vector vector, uint64_t row) {
  Json out = Json::object();
  const idx_t count = api.struct_type_child_count(type);
  for (idx_t i = 0; i < count; ++i) {
    char* name = api.struct_type_child_name(type, i);
    out[name] = CellToJson(api, api.struct_vector_get_child(vector, i), row);
    api.free(name);
  }
  return out;
}

const char* ScalarName(duckdb_type id) {
  switch (id) {
    case DUCKDB_TYPE_BOOLEAN: return "BOOLEAN";
    case DUCKDB_TYPE_TINYINT: return "TINYINT";
    case DUCKDB_TYPE_SMALLINT: return "SMALLINT";
    case DUCKDB_TYPE_INTEGER: return "INTEGER";
    case DUCKDB_TYPE_BIGINT: return "BIGINT";
    case DUCKDB_TYPE_UTINYINT: return "UTINYINT";
    case DUCKDB_TYPE_USMALLINT: return "USMALLINT";
    case DUCKDB_TYPE_UINTEGER: return "UINTEGER";
    case DUCKDB_TYPE_UBIGINT: return "UBIGINT";
    case DUCKDB_TYPE_HUGEINT: return "HUGEINT";
    case DUCKDB_TYPE_UHUGEINT: return "UHUGEINT";
    case DUCKDB_TYPE_FLOAT: return "FLOAT";
    case DUCKDB_TYPE_DOUBLE: return "DOUBLE";
    case DUCKDB_TYPE_VARCHAR: return "VARCHAR";
    case DUCKDB_TYPE_DATE: return "DATE";
    case DUCKDB_TYPE_TIMESTAMP: return "TIMESTAMP";
    case DUCKDB_TYPE_TIMESTAMP_S: return "TIMESTAMP_S";
    case DUCKDB_TYPE_TIMESTAMP_MS: return "TIMESTAMP_MS";
    case DUCKDB_TYPE_TIMESTAMP_NS: return "TIMESTAMP_NS";
    case DUCKDB_TYPE_SQLNULL: return "NULL";
    default: return nullptr;
  }
}

}  // namespace

bool HasJsonForm(const DuckDbApi& api, duckdb_logical_type type) {
  switch (api.get_type_id(type)) {
    case DUCKDB_TYPE_DECIMAL: return true;
    case DUCKDB_TYPE_LIST: return HasJsonForm(api, LogicalType(api, api.list_type_child_type(type)));
    case DUCKDB_TYPE_ARRAY: return HasJsonForm(api, LogicalType(api, api.array_type_child_type(type)));
    case DUCKDB_TYPE_MAP:
      return HasJsonForm(api, LogicalType(api, api.map_type_key_type(type))) &&
             HasJsonForm(api, LogicalType(api, api.map_type_value_type(type)));
    case DUCKDB_TYPE_STRUCT:
      for (idx_t i = 0; i < api.struct_type_child_count(type); ++i) {
        if (!HasJsonForm(api, LogicalType(api, api.struct_type_child_type(type, i)))) return false;
      }
      return true;
    default: return ScalarName(api.get_type_id(type)) != nullptr;
  }
}

std::string SqlTypeName(const DuckDbApi& api, duckdb_logical_type type) {
  switch (api.get_type_id(type)) {
    case DUCKDB_TYPE_DECIMAL:
      return fmt::format("DECIMAL({},{})", api.decimal_width(type), api.decimal_scale(type));
    case DUCKDB_TYPE_LIST: return SqlTypeName(api, LogicalType(api, api.list_type_child_type(type))) + "[]";
    case DUCKDB_TYPE_ARRAY:
      return fmt::format("{}[{}]", SqlTypeName(api, LogicalType(api, api.array_type_child_type(type))),
                         api.array_type_array_size(type));
    case DUCKDB_TYPE_MAP:
      return fmt::format("MAP({}, {})", SqlTypeName(api, LogicalType(api, api.map_type_key_type(type))),
                         SqlTypeName(api, LogicalType(api, api.map_type_value_type(type))));
    case DUCKDB_TYPE_STRUCT: {
      std::string out = "STRUCT(";
      for (idx_t i = 0; i < api.struct_type_child_count(type); ++i) {
        char* name = api.struct_type_child_name(type, i);
        out += fmt::format("{}{} {}", i == 0 ? "" : ", ", name,
                           SqlTypeName(api, LogicalType(api, api.struct_type_child_type(type, i))));
        api.free(name);
      }
      return out + ")";
    }
    default: {
      const char* name = ScalarName(api.get_type_id(type));
      return name != nullptr ? name : "VARCHAR";
    }
  }
}

Json CellToJson(const DuckDbApi& api, duckdb_vector vector, uint64_t row) {
  uint64_t* validity = api.vector_get_validity(vector);
  if (validity != nullptr && ((validity[row / 64] >> (row % 64)) & 1) == 0) return nullptr;
  const LogicalType type(api, api.vector_get_column_type(vector));
  void* data = api.vector_get_data(vector);
  switch (api.get_type_id(type)) {
    case DUCKDB_TYPE_BOOLEAN: return At<bool>(data, row);
    case DUCKDB_TYPE_TINYINT: return At<int8_t>(data, row);
    case DUCKDB_TYPE_SMALLINT: return At<int16_t>(data, row);
    case DUCKDB_TYPE_INTEGER: return At<int32_t>(data, row);
    case DUCKDB_TYPE_BIGINT: return At<int64_t>(data, row);
    case DUCKDB_TYPE_UTINYINT: return At<uint8_t>(data, row);
    case DUCKDB_TYPE_USMALLINT: return At<uint16_t>(data, row);
    case DUCKDB_TYPE_UINTEGER: return At<uint32_t>(data, row);
    case DUCKDB_TYPE_UBIGINT: return At<uint64_t>(data, row);
    case DUCKDB_TYPE_HUGEINT: return IntegerJson(FromHuge(At<duckdb_hugeint>(data, row)));
    case DUCKDB_TYPE_UHUGEINT: {
      const auto& value = At<duckdb_uhugeint>(data, row);
      return IntegerJson({(static_cast<UInt128>(value.upper) << 64) | value.lower, false});
    }
    case DUCKDB_TYPE_FLOAT: return RealJson(static_cast<double>(At<float>(data, row)));
    case DUCKDB_TYPE_DOUBLE: return RealJson(At<double>(data, row));
    case DUCKDB_TYPE_DECIMAL:
      return DecimalJson(DecimalInteger(api, type, data, row), api.decimal_scale(type));
    case DUCKDB_TYPE_VARCHAR: return StringJson(api, data, row);
    case DUCKDB_TYPE_DATE: return DateJson(At<int32_t>(data, row));
    case DUCKDB_TYPE_TIMESTAMP_S: return TimestampJson(At<int64_t>(data, row), 1, 0);
    case DUCKDB_TYPE_TIMESTAMP_MS: return TimestampJson(At<int64_t>(data, row), 1'000, 3);
    case DUCKDB_TYPE_TIMESTAMP: return TimestampJson(At<int64_t>(data, row), 1'000'000, 6);
    case DUCKDB_TYPE_TIMESTAMP_NS: return TimestampJson(At<int64_t>(data, row), 1'000'000'000, 9);
    case DUCKDB_TYPE_LIST:
    case DUCKDB_TYPE_MAP: {
      const auto& entry = At<duckdb_list_entry>(data, row);
      return ListJson(api, api.list_vector_get_child(vector), entry.offset, entry.length);
    }
    case DUCKDB_TYPE_ARRAY: {
      const idx_t size = api.array_type_array_size(type);
      return ListJson(api, api.array_vector_get_child(vector), row * size, size);
    }
    case DUCKDB_TYPE_STRUCT: return StructJson(api, type, vector, row);
    default: return nullptr;
  }
}

std::string CellText(const Json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return cell.get<std::string>();
  return DumpJson(cell);
}

}  // namespace nl
