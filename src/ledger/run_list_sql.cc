// SPDX-License-Identifier: Apache-2.0
#include "ledger/run_list_sql.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <sqlite3.h>

#include "ledger/sqlite_statement.h"

namespace nl {

namespace {

constexpr char kHasWord[] = "nl_has_word";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool ContainsLower(std::string_view text, std::string_view lower) {
  const auto equal = [](char c, char l) { return Lower(c) == l; };
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(), equal) != text.end();
}

// nl_has_word(word, text, ...): whether one of the texts has the word in it, which is in lower case. LIKE for
// each of seven columns takes several times as long.
void HasWord(sqlite3_context* context, int count, sqlite3_value** values) {
  const auto text = [&](int i) {  // as a blob: a text would be copied first, to end it with a zero
    const auto* bytes = static_cast<const char*>(sqlite3_value_blob(values[i]));
    return bytes == nullptr ? std::string_view()
                            : std::string_view(bytes, static_cast<size_t>(sqlite3_value_bytes(values[i])));
  };
  const std::string_view word = text(0);
  int found = 0;
  for (int i = 1; i < count && found == 0; ++i) found = ContainsLower(text(i), word) ? 1 : 0;
  sqlite3_result_int(context, found);
}

const char* SortColumn(RunSort sort) {
  switch (sort) {
    case RunSort::kAdded: return "r.added_seq";
    case RunSort::kCreated: return "r.created_at_ns";
    case RunSort::kModel: return "lower(CASE r.model WHEN '' THEN r.source_name ELSE r.model END)";
    case RunSort::kBackend: return "r.backend";
    case RunSort::kDevice: return "lower(r.device)";
    case RunSort::kWall: return "r.wall_ns";
    case RunSort::kEvents: return "r.event_count";
    case RunSort::kKernels: return "r.kernel_count";
    case RunSort::kStored: return "r.stored_bytes";
    case RunSort::kName: return "lower(r.source_name)";
    case RunSort::kPrecision: return "lower(r.precision)";
    case RunSort::kFormat: return "lower(r.adapter)";
    case RunSort::kId: return "r.run_id";
  }
  return "r.added_seq";
}

// For LIKE with the escape character \: any text with `part` in it, without regard to case.
std::string Containing(std::string_view part) {
  std::string out = "%";
  for (const char c : part) {
    if (c == '%' || c == '_' || c == '\\') out += '\\';
    out += c;
  }
  return out + '%';
}

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  constexpr std::string_view kSpaces = " \t\r\n\f\v";
  for (size_t at = text.find_first_not_of(kSpaces); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

void AddWord(const std::string& word, std::string& sql, std::vector<std::string>& values) {
  sql += fmt::format(
      " AND ({}(?, r.model, r.source_name, r.device, r.backend, r.tool, r.adapter, r.precision) OR "
      "(r.run_id >= ? AND r.run_id < ?) OR "
      "r.run_id IN (SELECT t.run_id FROM tag t WHERE {}(?, {})))",
      kHasWord, kHasWord, word.find('=') == std::string::npos ? "t.key, t.value" : "t.key || '=' || t.value");
  std::string lower = word;
  for (char& c : lower) c = Lower(c);
  values.insert(values.end(), {lower, lower, lower + "~", lower});  // ids are below '~'
}

}  // namespace

Status AddListFunctions(sqlite3* db, const std::string& path) {
  const int code = sqlite3_create_function_v2(db, kHasWord, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                                              HasWord, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : Status(SqliteError(db, code, path));
}

std::string OrderOf(const RunFilter& filter) {
  const char* direction = filter.descending ? "DESC" : "ASC";
  return fmt::format("ORDER BY {} {}, r.added_seq {}", SortColumn(filter.sort), direction, direction);
}

std::string WhereOf(const RunFilter& filter, std::vector<std::string>& values) {
  std::string sql = "WHERE 1";
  const auto equal = [&](const char* column, const std::string& value) {
    if (value.empty()) return;
    sql += fmt::format(" AND r.{} = ? COLLATE NOCASE", column);
    values.push_back(value);
  };
  const auto contains = [&](const char* column, const std::string& value) {
    if (value.empty()) return;
    sql += fmt::format(" AND r.{} {}", column, filter.exact ? "= ?" : "LIKE ? ESCAPE '\\'");
    values.push_back(filter.exact ? value : Containing(value));
  };
  equal("backend", filter.backend);
  contains("model", filter.model);
  contains("device", filter.device);
  equal("precision", filter.precision);
  equal("adapter", filter.adapter);
  for (const std::string& word : WordsOf(filter.text)) AddWord(word, sql, values);
  for (const auto& [key, value] : filter.tags) {
    sql += " AND EXISTS (SELECT 1 FROM tag t WHERE t.run_id = r.run_id AND t.key = ?";
    values.push_back(key);
    if (!value.empty()) {
      sql += " AND t.value = ?";
      values.push_back(value);
    }
    sql += ")";
  }
  if (filter.since_ns) sql += fmt::format(" AND r.created_at_ns >= {}", *filter.since_ns);
  if (filter.until_ns) sql += fmt::format(" AND r.created_at_ns < {}", *filter.until_ns);
  return sql;
}

Result<RunChoices> ReadChoices(sqlite3* db, const std::string& path, int64_t limit) {
  const auto read = [&](const char* value, const char* table) -> Result<std::vector<RunChoice>> {
    Statement s(db, path,
                fmt::format("SELECT {} AS v, count(*) AS n FROM {} WHERE v <> '' GROUP BY v "
                            "ORDER BY n DESC, v LIMIT {}",
                            value, table, limit));
    std::vector<RunChoice> out;
    for (;;) {
      NL_ASSIGN(const bool row, s.Step());
      if (!row) break;
      out.push_back({s.Text(0), s.Int(1)});
    }
    std::sort(out.begin(), out.end(),
              [](const RunChoice& a, const RunChoice& b) { return a.value < b.value; });
    return out;
  };
  RunChoices out;
  NL_ASSIGN(out.models, read("model", "run"));
  NL_ASSIGN(out.devices, read("device", "run"));
  NL_ASSIGN(out.backends, read("backend", "run"));
  NL_ASSIGN(out.formats, read("adapter", "run"));
  NL_ASSIGN(out.tags, read("key || '=' || value", "tag"));
  return out;
}

namespace {

using WorkloadKey = std::tuple<std::string, std::string, int64_t, std::string, std::string>;

}  // namespace

Result<std::vector<WorkloadHistory>> ReadHistories(sqlite3* db, const std::string& path,
                                                   const std::vector<CatalogRun>& runs, int64_t newest) {
  std::vector<WorkloadHistory> out;
  std::map<WorkloadKey, size_t> place;  // of a workload in `out`
  for (const CatalogRun& run : runs) {
    WorkloadKey key(run.model, run.device, run.device_count, run.precision, run.backend);
    if (run.model.empty() || !place.emplace(key, out.size()).second) continue;
    WorkloadHistory& history = out.emplace_back();
    std::tie(history.model, history.device, history.device_count, history.precision, history.backend) =
        std::move(key);
  }
  // From the newest run back, along the index, until every workload has enough: a window function over all
  // runs takes ten times as long.
  Statement s(db, path,
              "SELECT model, device, device_count, precision, backend, wall_ns FROM run "
              "ORDER BY created_at_ns DESC, added_seq DESC");
  for (size_t missing = newest > 0 ? out.size() : 0; missing > 0;) {
    NL_ASSIGN(const bool row, s.Step());
    if (!row) break;
    const auto it = place.find(WorkloadKey(s.Text(0), s.Text(1), s.Int(2), s.Text(3), s.Text(4)));
    if (it == place.end()) continue;
    std::vector<int64_t>& walls = out[it->second].wall_ns;
    if (static_cast<int64_t>(walls.size()) == newest) continue;
    walls.push_back(s.Int(5));
    if (static_cast<int64_t>(walls.size()) == newest) --missing;
  }
  for (WorkloadHistory& history : out) std::reverse(history.wall_ns.begin(), history.wall_ns.end());
  std::erase_if(out, [](const WorkloadHistory& h) { return h.wall_ns.size() < 2; });
  return out;
}

}  // namespace nl
