// SPDX-License-Identifier: Apache-2.0
#include "ledger/sql_guard.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/ascii.h"

namespace nl {

namespace {

constexpr std::string_view kQueryWords[] = {"select", "with", "from",      "values", "table",  "describe",
                                            "desc",   "show", "summarize", "pivot",  "unpivot"};

// enable_logging writes files under any allowed folder from inside a SELECT (seen in
// DuckDB 1.4.4); arrow_scan reads raw pointers; query and its kin run SQL held in strings,
// which this guard would not see.
constexpr std::string_view kRefusedFunctions[] = {"enable_logging",
                                                  "disable_logging",
                                                  "truncate_duckdb_logs",
                                                  "write_log",
                                                  "arrow_scan",
                                                  "arrow_scan_dumb",
                                                  "duckdb_secrets",
                                                  "which_secret",
                                                  "checkpoint",
                                                  "force_checkpoint",
                                                  "query",
                                                  "query_table",
                                                  "json_execute_serialized_sql",
                                                  "import_database",
                                                  "copy_database",
                                                  "add_parquet_key",
                                                  "getenv"};

bool IsWordStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0;
}
bool IsWordPart(char c) { return IsWordStart(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '$'; }

template <class List>
bool Contains(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view sql) : sql_(sql) {}

  Result<std::vector<SqlToken>> Run() {
    for (;;) {
      NL_TRY(SkipSpace());
      if (at_ >= sql_.size()) return std::move(tokens_);
      NL_TRY(Next());
    }
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0'; }

  Status SkipSpace() {
    while (at_ < sql_.size()) {
      if (std::isspace(static_cast<unsigned char>(Peek()))) {
        ++at_;
      } else if (Peek() == '-' && Peek(1) == '-') {
        const size_t end = sql_.find('\n', at_);
        at_ = end == std::string_view::npos ? sql_.size() : end + 1;
      } else if (Peek() == '/' && Peek(1) == '*') {
        NL_TRY(SkipBlockComment());
      } else {
        break;
      }
    }
    return {};
  }

  Status SkipBlockComment() {
    int depth = 0;
    const size_t begin = at_;
    while (at_ < sql_.size()) {
      if (Peek() == '/' && Peek(1) == '*') {
        ++depth;
        at_ += 2;
      } else if (Peek() == '*' && Peek(1) == '/') {
        at_ += 2;
        if (--depth == 0) return {};
      } else {
        ++at_;
      }
    }
    return Unfinished("comment", begin);
  }

  Status Next() {
    const size_t begin = at_;
    const char c = Peek();
    const bool next_is_string = Peek(1) == '\'';
    if (c == '\'') return Quoted(SqlToken::Kind::kString, begin, false);
    if (next_is_string && (c == 'e' || c == 'E')) {
      ++at_;
      return Quoted(SqlToken::Kind::kString, begin, true);
    }
    if ((c == 'u' || c == 'U') && Peek(1) == '&' && (Peek(2) == '\'' || Peek(2) == '"')) {
      return InvalidInput("unicode-escaped text (U&'...') is not accepted; write the characters themselves");
    }
    if (c == '"') return Quoted(SqlToken::Kind::kQuotedName, begin, false);
    if (c == '$') return Dollar(begin);
    if (IsWordStart(c)) {
      while (IsWordPart(Peek())) ++at_;
      Add(SqlToken::Kind::kWord, begin, ToLower(sql_.substr(begin, at_ - begin)));
      return {};
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      while (std::isalnum(static_cast<unsigned char>(Peek())) || Peek() == '.' || Peek() == '_') ++at_;
      Add(SqlToken::Kind::kNumber, begin, std::string(sql_.substr(begin, at_ - begin)));
      return {};
    }
    ++at_;
    Add(SqlToken::Kind::kSymbol, begin, std::string(1, c));
    return {};
  }

  Status Quoted(SqlToken::Kind kind, size_t begin, bool backslash_escapes) {
    const char quote = Peek();
    ++at_;
    std::string text;
    while (at_ < sql_.size()) {
      const char c = sql_[at_];
      if (backslash_escapes && c == '\\') {
        text += Peek(1);
        at_ += 2;
        continue;
      }
      ++at_;
      if (c != quote) {
        text += c;
      } else if (Peek() == quote) {
        text += c;
        ++at_;
      } else {
        Add(kind, begin, kind == SqlToken::Kind::kQuotedName ? ToLower(text) : std::move(text));
        return {};
      }
    }
    return Unfinished("quote", begin);
  }

  // $tag$ ... $tag$ is a string; $1 and $name are parameters.
  Status Dollar(size_t begin) {
    size_t tag_end = at_ + 1;
    while (tag_end < sql_.size() && IsWordPart(sql_[tag_end]) && sql_[tag_end] != '$') ++tag_end;
    if (tag_end >= sql_.size() || sql_[tag_end] != '$') {
      ++at_;
      Add(SqlToken::Kind::kSymbol, begin, "$");
      return {};
    }
    const std::string_view tag = sql_.substr(at_, tag_end + 1 - at_);
    const size_t close = sql_.find(tag, tag_end + 1);
    if (close == std::string_view::npos) return Unfinished("quote", begin);
    const std::string text(sql_.substr(tag_end + 1, close - tag_end - 1));
    at_ = close + tag.size();
    Add(SqlToken::Kind::kString, begin, text);
    return {};
  }

  void Add(SqlToken::Kind kind, size_t begin, std::string text) {
    tokens_.push_back({kind, std::move(text), begin, at_});
  }
  static Error Unfinished(std::string_view what, size_t offset) {
    return InvalidInput(
        fmt::format("SQL: the {} that starts at character {} is not closed", what, offset + 1));
  }

  std::string_view sql_;
  size_t at_ = 0;
  std::vector<SqlToken> tokens_;
};

bool IsSymbol(const SqlToken& token, char c) {
  return token.kind == SqlToken::Kind::kSymbol && token.text[0] == c;
}
bool IsWord(const SqlToken& token, std::string_view word) {
  return token.kind == SqlToken::Kind::kWord && token.text == word;
}

// Index of the statement inside EXPLAIN [ANALYZE] [(options)].
size_t SkipExplain(const std::vector<SqlToken>& tokens) {
  size_t i = 1;
  if (i < tokens.size() && IsWord(tokens[i], "analyze")) ++i;
  if (i + 1 < tokens.size() && IsSymbol(tokens[i], '(') &&
      (IsWord(tokens[i + 1], "format") || IsWord(tokens[i + 1], "analyze"))) {
    while (i < tokens.size() && !IsSymbol(tokens[i], ')')) ++i;
    ++i;
  }
  return i;
}

Status CheckFirstWord(const std::vector<SqlToken>& tokens, size_t first) {
  while (first < tokens.size() && IsSymbol(tokens[first], '(')) ++first;
  if (first >= tokens.size()) return InvalidInput("the query is empty");
  const SqlToken& token = tokens[first];
  if (token.kind == SqlToken::Kind::kWord && Contains(kQueryWords, token.text)) return {};
  return InvalidInput(fmt::format("'{}' is refused: a query only reads", token.text))
      .Hint("write a SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE or EXPLAIN statement");
}

Status CheckFunctions(const std::vector<SqlToken>& tokens) {
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const bool name =
        tokens[i].kind == SqlToken::Kind::kWord || tokens[i].kind == SqlToken::Kind::kQuotedName;
    if (name && IsSymbol(tokens[i + 1], '(') && Contains(kRefusedFunctions, tokens[i].text)) {
      return InvalidInput(fmt::format("the function {}() is refused in queries", tokens[i].text));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<SqlToken>> TokenizeSql(std::string_view sql) { return Tokenizer(sql).Run(); }

Result<GuardedSql> GuardSql(std::string_view sql) {
  if (sql.find('\0') != std::string_view::npos) return InvalidInput("the query contains a NUL character");
  NL_ASSIGN(std::vector<SqlToken> tokens, TokenizeSql(sql));
  while (!tokens.empty() && IsSymbol(tokens.back(), ';')) tokens.pop_back();
  if (tokens.empty())
    return InvalidInput("the query is empty").Hint("for example: SELECT count(*) FROM kernel");
  for (const SqlToken& token : tokens) {
    if (IsSymbol(token, ';')) return InvalidInput("give exactly one statement; a ';' separates several");
  }
  GuardedSql out;
  const size_t end = tokens.back().end;
  out.text = std::string(sql.substr(tokens[0].begin, end - tokens[0].begin));
  size_t first = 0;
  if (IsWord(tokens[0], "explain")) {
    first = SkipExplain(tokens);
    if (first < tokens.size()) {
      out.explained = std::string(sql.substr(tokens[first].begin, end - tokens[first].begin));
    }
  }
  NL_TRY(CheckFirstWord(tokens, first));
  NL_TRY(CheckFunctions(tokens));
  for (const SqlToken& token : tokens) {
    if (token.kind == SqlToken::Kind::kWord || token.kind == SqlToken::Kind::kQuotedName) {
      out.names.push_back(token.text);
    }
  }
  return out;
}

namespace {
std::string DoubleQuotes(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote) out += c;
    out += c;
  }
  return out + quote;
}
}  // namespace

std::string SqlQuote(std::string_view text) {
  const size_t nul = text.find('\0');
  if (nul == std::string_view::npos) return DoubleQuotes(text, '\'');
  // A statement ends at its first NUL.
  std::string out = "(" + DoubleQuotes(text.substr(0, nul), '\'');
  for (size_t at = nul; at < text.size();) {
    const size_t next = std::min(text.find('\0', at + 1), text.size());
    out += " || chr(0) || " + DoubleQuotes(text.substr(at + 1, next - at - 1), '\'');
    at = next;
  }
  return out + ")";
}
std::string SqlName(std::string_view name) { return DoubleQuotes(name, '"'); }

}  // namespace nl
