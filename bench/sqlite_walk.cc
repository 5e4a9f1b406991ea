// SPDX-License-Identifier: Apache-2.0
// sqlite_walk [--runs N] FILE: reads every value of every table with rows, SELECT * and the
// sqlite3 C library alone, one thread. What reading an export costs before anything is done
// with it; prints JSON.

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

struct Walked {
  int64_t rows = 0, values = 0;
  uint64_t check = 0;  // uses every value, so that none is skipped
};

std::vector<std::string> TablesOf(sqlite3* db) {
  std::vector<std::string> names;
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE type = 'table'", -1, &statement, nullptr);
  while (sqlite3_step(statement) == SQLITE_ROW)
    names.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)));
  sqlite3_finalize(statement);
  return names;
}

bool Walk(sqlite3* db, const std::string& table, Walked& to) {
  sqlite3_stmt* statement = nullptr;
  const std::string sql = fmt::format("SELECT * FROM \"{}\"", table);
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return false;
  const int columns = sqlite3_column_count(statement);
  int code = 0;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    ++to.rows;
    to.values += columns;
    for (int i = 0; i < columns; ++i) {
      switch (sqlite3_column_type(statement, i)) {
        case SQLITE_INTEGER: to.check += static_cast<uint64_t>(sqlite3_column_int64(statement, i)); break;
        case SQLITE_FLOAT: to.check += static_cast<uint64_t>(sqlite3_column_double(statement, i)); break;
        case SQLITE_TEXT: to.check += sqlite3_column_text(statement, i)[0]; break;
        default: break;
      }
    }
  }
  sqlite3_finalize(statement);
  return code == SQLITE_DONE;
}

}  // namespace

int main(int argc, char** argv) {
  int runs = 3;
  const char* path = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = std::max(1, std::atoi(argv[++i]));
    else
      path = argv[i];
  }
  if (path == nullptr) {
    fmt::print(stderr, "usage: sqlite_walk [--runs N] FILE\n");
    return 2;
  }
  double best = 1e30;
  Walked walked;
  for (int run = 0; run < runs; ++run) {
    const auto began = std::chrono::steady_clock::now();
    sqlite3* db = nullptr;
    walked = {};
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) return 1;
    for (const std::string& table : TablesOf(db)) {
      if (!Walk(db, table, walked)) return 1;
    }
    sqlite3_close(db);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  fmt::print("{{\"seconds\": {:.4f}, \"rows\": {}, \"values\": {}, \"check\": {}}}\n", best, walked.rows,
             walked.values, walked.check);
}
