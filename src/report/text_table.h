// SPDX-License-Identifier: Apache-2.0
#pragma once
// TextTable: rows of cells for a person's terminal, a Markdown page or a CSV file.
// Cells are what traces contain, so they are untrusted: control characters never
// reach a terminal, Markdown and CSV are escaped. Widths are display columns.
// Thread rule: plain value, one thread at a time.

#include <string>
#include <vector>

namespace nl {

enum class Align { kLeft, kRight };

struct TextColumn {
  std::string header;
  Align align = Align::kLeft;
  bool shrink = false;  // cells may be shortened in their middle part to make the table fit
  int min_width = 8;    // a shrinking column never gets narrower than this
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns);

  // Missing cells are empty; cells beyond the columns are dropped.
  void AddRow(std::vector<std::string> cells);
  size_t rows() const { return rows_.size(); }

  // Aligned columns, at most `width` columns wide when the shrinking columns allow
  // it (0: unlimited). Ends with a newline.
  std::string Render(int width, bool color) const;
  std::string Markdown() const;
  std::string Csv()
      const;  // quoted as in RFC 4180, header first; lines end with LF, as the tools of Unix expect

 private:
  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace nl
