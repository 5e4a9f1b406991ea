// SPDX-License-Identifier: Apache-2.0
#pragma once
// DuckDB vectors as JSON values: the typed edge between the engine and replies.
//   integers            JSON integers, exact (also beyond 2^53)
//   HUGEINT, UHUGEINT   integer when it fits 64 bits, else its digits as a string
//   DECIMAL             integer when the scale is 0, a number up to 15 digits, else a string
//   FLOAT, DOUBLE       number; "NaN", "Infinity", "-Infinity" as strings
//   DATE, TIMESTAMP*    ISO text ("2025-01-31 10:00:00.123456")
//   LIST, ARRAY, MAP    array (a map is an array of {key, value}); STRUCT an object
// Every other type is cast to VARCHAR by the engine before it comes here.
// Thread rule: pure functions over memory the caller holds.

#include <cstdint>
#include <string>

#include "base/json.h"
#include "ledger/duckdb_library.h"

namespace nl {

// Can CellToJson read this type, also inside?
bool HasJsonForm(const DuckDbApi& api, duckdb_logical_type type);

// "BIGINT", "DECIMAL(18,3)", "VARCHAR[]", "STRUCT(a BIGINT)".
std::string SqlTypeName(const DuckDbApi& api, duckdb_logical_type type);

// `row` of `vector`; the type must have a JSON form.
Json CellToJson(const DuckDbApi& api, duckdb_vector vector, uint64_t row);

// A cell as plain text, as in tables and CSV: null is empty, strings without quotes.
std::string CellText(const Json& cell);

}  // namespace nl
