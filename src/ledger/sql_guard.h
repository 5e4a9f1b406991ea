// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a user's SQL may be, judged from its text before the engine sees it. This is
// the outer fence: the engine's own (no files but the runs' Parquet, no extensions,
// locked configuration) and the check of the prepared statement's type come after.
// Thread rule: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl {

struct SqlToken {
  enum class Kind { kWord, kQuotedName, kString, kNumber, kSymbol };
  Kind kind = Kind::kSymbol;
  std::string text;  // words in lower case; quoted names without their quotes
  size_t begin = 0;  // byte offsets in the SQL
  size_t end = 0;
};

// Comments and white space are left out. Unfinished quotes and comments are InvalidInput.
Result<std::vector<SqlToken>> TokenizeSql(std::string_view sql);

struct GuardedSql {
  std::string text;                // the statement without a trailing semicolon or comment
  std::string explained;           // for EXPLAIN: the statement inside, which must be a query too
  std::vector<std::string> names;  // every word and quoted name, lower case
};

// Accepts SELECT, WITH, FROM, VALUES, TABLE, DESCRIBE, SHOW, SUMMARIZE, PIVOT and
// EXPLAIN [ANALYZE] of these; refuses the rest, several statements, and the few
// functions that reach outside a query (logging to files, raw memory, secrets, SQL in strings).
Result<GuardedSql> GuardSql(std::string_view sql);

// 'text' with its quotes doubled; an expression that gives the text where it contains NUL.
std::string SqlQuote(std::string_view text);
// "name" with its quotes doubled.
std::string SqlName(std::string_view name);

}  // namespace nl
