// SPDX-License-Identifier: Apache-2.0
#pragma once
// A user's SQL in a process of its own, because DuckDB looks at its limits only between operators: one call
// of repeat() can take any time and any memory. The process is this program again, started with
// kQueryProcessArgument (posix_spawn, so any thread may ask). It gets the request as a file, lowers its own
// limits (memory: RLIMIT_DATA, processor time: RLIMIT_CPU), opens the SqlSession, and sends the rows back
// through a pipe in frames with a length and a checksum. The asker kills it when the time is over or the user
// cancels, and always waits for it. A program that does not call UseQueryProcess (the unit tests) runs the
// SQL in place. Thread rule: RunQuery from any thread; UseQueryProcess once, before.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ledger/sql_session.h"

namespace nl {

inline constexpr char kQueryProcessArgument[] = "--internal-query-process";
inline constexpr size_t kMaxCellBytes = size_t{1} << 20;

struct QueryRequest {
  std::vector<RunSource> runs;
  SqlSessionOptions options;
  std::string sql;
  SqlLimits limits;
  std::string parquet_path;  // not empty: the result goes to this file, and the answer has no rows
};

struct QueryAnswer {
  SqlTable table;
  int64_t rows = 0;
  int64_t cut_cells = 0;  // longer than kMaxCellBytes: their first bytes are there
};

// A limit that the engine keeps is a Limit error, as SqlSession has it; a process that had to be stopped is
// an Io error that names the limit.
Result<QueryAnswer> RunQuery(const QueryRequest& request);

// From now on RunQuery starts /proc/self/exe, whose main calls ServeQuery for kQueryProcessArgument.
void UseQueryProcess();

// The other side: answers the request on standard input to standard output. Gives the exit status.
int ServeQuery();

}  // namespace nl
