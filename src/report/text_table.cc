// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>
#include <system_error>

#include "base/markdown.h"
#include "base/terminal.h"

namespace nl {

namespace {

constexpr int kGap = 2;
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kReset = "\x1b[0m";

// Takes columns from the widest shrinking column until the table fits.
void ShrinkToFit(const std::vector<TextColumn>& columns, int width, std::vector<int>& widths) {
  int excess =
      std::accumulate(widths.begin(), widths.end(), 0) + kGap * static_cast<int>(widths.size() - 1) - width;
  while (excess > 0) {
    size_t widest = columns.size();
    int second = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].shrink || widths[i] <= columns[i].min_width) continue;
      if (widest == columns.size() || widths[i] > widths[widest]) {
        second = widest == columns.size() ? 0 : widths[widest];
        widest = i;
      } else {
        second = std::max(second, widths[i]);
      }
    }
    if (widest == columns.size()) return;
    const int floor = std::max(columns[widest].min_width, std::min(second, widths[widest] - 1));
    const int cut = std::min(excess, widths[widest] - floor);
    widths[widest] -= cut;
    excess -= cut;
  }
}

std::string PadCell(const std::string& cell, int width, Align align, bool last) {
  std::string text = CutMiddle(cell, width);
  const auto blanks = static_cast<size_t>(std::max(0, width - DisplayWidth(text)));
  if (align == Align::kRight) return std::string(blanks, ' ') + text;
  return last ? text : text + std::string(blanks, ' ');
}

std::string RenderLine(const std::vector<TextColumn>& columns, const std::vector<std::string>& cells,
                       const std::vector<int>& widths) {
  std::string line;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line.append(kGap, ' ');
    line += PadCell(cells[i], widths[i], columns[i].align, i + 1 == columns.size());
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string CsvCell(std::string_view cell) {
  if (cell.find_first_of("\",\r\n") == std::string_view::npos) return std::string(cell);
  std::string out = "\"";
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

bool IsNumber(std::string_view cell) {
  if (!cell.empty() && (cell[0] == '+' || cell[0] == '-')) cell.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc() && end == cell.data() + cell.size();
}

// A spreadsheet takes a cell that begins like this for a formula, which may fetch or run things; an
// apostrophe makes it text. Numbers are left as they are, also where a column holds text.
std::string CsvText(std::string_view cell) {
  const bool formula = !cell.empty() && std::string_view("=+-@\t\r").find(cell[0]) != std::string_view::npos;
  return CsvCell(formula && !IsNumber(cell) ? "'" + std::string(cell) : std::string(cell));
}

}  // namespace

TextTable::TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

void TextTable::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::Render(int width, bool color) const {
  if (columns_.empty()) return "";
  std::vector<std::vector<std::string>> lines;
  lines.reserve(rows_.size() + 1);
  auto& header = lines.emplace_back();
  for (const TextColumn& column : columns_) header.push_back(PrintableText(column.header));
  for (const auto& row : rows_) {
    auto& line = lines.emplace_back();
    for (const std::string& cell : row) line.push_back(PrintableText(cell));
  }

  std::vector<int> widths(columns_.size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(line[i]));
  }
  if (width > 0) ShrinkToFit(columns_, width, widths);

  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool bold = color && i == 0;
    if (bold) out += kBold;
    out += RenderLine(columns_, lines[i], widths);
    if (bold) out += kReset;
    out += '\n';
  }
  return out;
}

std::string TextTable::Markdown() const {
  std::string out = "|";
  for (const TextColumn& column : columns_) out += " " + MarkdownText(column.header) + " |";
  out += "\n|";
  for (const TextColumn& column : columns_) out += column.align == Align::kRight ? "---:|" : "---|";
  out += '\n';
  for (const auto& row : rows_) {
    out += '|';
    for (const std::string& cell : row) out += " " + MarkdownText(cell) + " |";
    out += '\n';
  }
  return out;
}

std::string TextTable::Csv() const {
  std::string out;
  for (size_t i = 0; i < columns_.size(); ++i) out += (i > 0 ? "," : "") + CsvText(columns_[i].header);
  out += '\n';
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool text = columns_[i].align == Align::kLeft;
      out += (i > 0 ? "," : "") + (text ? CsvText(row[i]) : CsvCell(row[i]));
    }
    out += '\n';
  }
  return out;
}

}  // namespace nl
