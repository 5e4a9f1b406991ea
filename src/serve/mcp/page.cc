// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/page.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace nl::mcp {

namespace {

// Small lists are given whole before others are cut, as long as they take no more than this part of the page:
// columns of a query, runs of a comparison.
constexpr size_t kSmallListsDivisor = 3;
// A row takes at most this part of the page.
constexpr size_t kRowDivisor = 4;
constexpr size_t kMaxRawNameBytes = 80;
constexpr double kLeastTimeMs = 1e-6;  // clocks count nanoseconds: less is a rounding error

struct Rows {
  std::string path;
  Json* list;  // in the document
  Json all;    // its rows
  size_t next = 0, first = 0;
  bool open = true;
};

// Members of our own have such names. Others are keys that a trace may choose; they have no place in a
// cursor.
bool IsPlainName(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

void Collect(Json& value, const std::string& path, std::vector<Rows>& out) {
  if (value.is_array()) {
    out.push_back({path, &value, Json::array()});
    std::swap(out.back().all, value);
    return;
  }
  if (!value.is_object()) return;
  for (auto& [name, member] : value.items()) {
    if (IsPlainName(name)) Collect(member, path.empty() ? name : fmt::format("{}.{}", path, name), out);
  }
}

Error BadCursor(std::string_view cursor) {
  return InvalidInput(fmt::format("'{}' is not a cursor of this answer", cursor.substr(0, 80)))
      .Hint("pass the cursor that the previous answer gave, with the same arguments");
}

// "kernels=12,copies=3": where each list goes on.
Status Seek(std::vector<Rows>& lists, std::string_view cursor) {
  if (cursor.empty()) return {};
  for (Rows& rows : lists) rows.next = rows.all.size();
  for (size_t at = 0; at < cursor.size();) {
    const size_t comma = std::min(cursor.find(',', at), cursor.size());
    const std::string_view part = cursor.substr(at, comma - at);
    at = comma + 1;
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return BadCursor(cursor);
    const auto rows = std::find_if(lists.begin(), lists.end(),
                                   [&](const Rows& r) { return r.path == part.substr(0, equals); });
    const std::string_view number = part.substr(equals + 1);
    size_t next = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), next);
    if (rows == lists.end() || error != std::errc() || end != number.data() + number.size() ||
        next >= rows->all.size())
      return BadCursor(cursor);
    rows->next = next;
  }
  return {};
}

size_t BytesOf(const Json& value) { return DumpJson(value).size() + 1; }

void CutText(std::string& text, size_t bytes) {
  if (text.size() <= bytes) return;
  text.resize(bytes);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.pop_back();
  text += "…";
}

// Cuts texts and lists inside of a value.
void Shorten(Json& value, size_t text_bytes, size_t elements) {
  if (value.is_string()) {
    CutText(value.get_ref<std::string&>(), text_bytes);
  } else if (value.is_array() && value.size() > elements) {
    value.erase(value.begin() + static_cast<std::ptrdiff_t>(elements), value.end());
  }
  if (value.is_structured()) {
    for (Json& inner : value) Shorten(inner, text_bytes, elements);
  }
}

// The inside of a row. A row of a query is a list itself: its cells stay.
void ShortenRow(Json& row, size_t text_bytes, size_t elements) {
  if (!row.is_array()) return Shorten(row, text_bytes, elements);
  for (Json& cell : row) Shorten(cell, text_bytes, elements);
}

// The row in at most `bytes` where shortening can reach that: first its lists, as texts explain more.
void ShortenTo(Json& row, size_t bytes) {
  for (size_t elements = 8; elements >= 1 && BytesOf(row) > bytes; elements /= 2)
    ShortenRow(row, SIZE_MAX, elements);
  for (size_t text = 800; text >= 25 && BytesOf(row) > bytes; text /= 2) ShortenRow(row, text, 1);
}

class Filler {
 public:
  Filler(std::vector<Rows>& lists, size_t bytes)
      : lists_(lists),
        left_(bytes),
        most_of_row_(bytes / kRowDivisor),
        most_of_small_(bytes / kSmallListsDivisor) {}

  // The first row of every list, as it is the most important one; then small lists whole; then the others in
  // turn.
  void Fill() {
    for (Rows& rows : lists_) rows.first = rows.next;
    for (Rows& rows : lists_) TakeRow(rows);
    TakeSmall();
    for (bool more = true; more;) {
      more = false;
      for (Rows& rows : lists_) more = TakeRow(rows) || more;
    }
    if (!taken_) TakeAnything();
  }

 private:
  // The next row, shortened where it would fill the page alone.
  Json RowOf(const Rows& rows) const {
    Json row = rows.all[rows.next];
    if (BytesOf(row) > most_of_row_) ShortenTo(row, most_of_row_);
    return row;
  }

  void Take(Rows& rows, Json row) {
    left_ -= std::min(left_, BytesOf(row));
    rows.list->push_back(std::move(row));
    ++rows.next;
    taken_ = true;
  }

  void TakeSmall() {
    std::vector<std::pair<size_t, Rows*>> by_bytes;
    for (Rows& rows : lists_) {
      size_t bytes = 0;
      for (size_t i = rows.next; i < rows.all.size() && bytes <= most_of_small_; ++i)
        bytes += BytesOf(rows.all[i]);
      if (bytes > 0) by_bytes.emplace_back(bytes, &rows);
    }
    std::stable_sort(by_bytes.begin(), by_bytes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    size_t taken = 0;
    for (const auto& [bytes, rows] : by_bytes) {
      taken += bytes;
      if (taken > most_of_small_ || bytes > left_) return;
      while (rows->next < rows->all.size()) Take(*rows, rows->all[rows->next]);
    }
  }

  // A list whose next row does not fit is closed, so that rows are never left out between others.
  bool TakeRow(Rows& rows) {
    if (!rows.open || rows.next == rows.all.size()) return false;
    Json row = RowOf(rows);
    rows.open = BytesOf(row) <= left_;
    if (rows.open) Take(rows, std::move(row));
    return rows.open;
  }

  // Every page has at least one row, else the pages would not end.
  void TakeAnything() {
    for (Rows& rows : lists_) {
      if (rows.next < rows.all.size()) return Take(rows, RowOf(rows));
    }
  }

  std::vector<Rows>& lists_;
  size_t left_;
  const size_t most_of_row_, most_of_small_;
  bool taken_ = false;
};

bool IsTime(std::string_view field) { return field == "ms" || field.ends_with("_ms"); }

double ThreeDigits(double value) { return std::strtod(fmt::format("{:.3g}", value).c_str(), nullptr); }

// A time on the timeline, of which three digits would be another place.
bool IsPlace(std::string_view field) {
  return field == "start_ms" || field == "from_ms" || field == "to_ms" || field == "at_ms";
}

void Round(Json& value, const TypeInfo& type, std::string_view field) {
  using Kind = TypeInfo::Kind;
  if (value.is_null()) return;
  switch (type.kind) {
    case Kind::kDouble: {
      const auto number = value.get<double>();
      if (IsTime(field) && std::fabs(number) < kLeastTimeMs) {
        value = 0.0;
        break;
      }
      value = IsPlace(field) ? std::round(1000 * number) / 1000 : ThreeDigits(number);
      break;
    }
    case Kind::kString:
      if (field.ends_with("raw_name")) CutText(value.get_ref<std::string&>(), kMaxRawNameBytes);
      break;
    case Kind::kOptional: Round(value, *type.element(), field); break;
    case Kind::kList:
    case Kind::kMap:
      for (Json& inner : value) Round(inner, *type.element(), field);
      break;
    case Kind::kRecord: RoundNumbers(value, type.record()); break;
    default: break;
  }
}

}  // namespace

void RoundNumbers(Json& document, const RecordInfo& info) {
  for (const FieldInfo& field : info.fields) {
    const auto member = document.find(field.name);
    if (member != document.end()) Round(*member, *field.type, field.name);
  }
}

Result<Page> PageOf(Json document, size_t max_bytes, std::string_view cursor) {
  Page page;
  if (cursor.empty() && BytesOf(document) <= max_bytes) {
    page.value = std::move(document);
    return page;
  }
  page.value = std::move(document);
  std::vector<Rows> lists;
  Collect(page.value, "", lists);
  NL_TRY(Seek(lists, cursor));
  const size_t frame = BytesOf(page.value);
  if (frame > max_bytes) ShortenTo(page.value, max_bytes);
  Filler(lists, max_bytes - std::min(max_bytes, BytesOf(page.value))).Fill();
  for (const Rows& rows : lists) {
    const size_t shown = rows.next - rows.first;
    if (shown < rows.all.size()) page.parts.push_back({rows.path, rows.first, shown, rows.all.size()});
    if (rows.next == rows.all.size()) continue;
    page.next_cursor += fmt::format("{}{}={}", page.next_cursor.empty() ? "" : ",", rows.path, rows.next);
  }
  return page;
}

}  // namespace nl::mcp
