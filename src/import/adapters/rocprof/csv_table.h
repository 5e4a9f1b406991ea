// SPDX-License-Identifier: Apache-2.0
#pragma once
// CsvTable: the rows of a CSV file with a header line, read once in pieces. Fields may be
// quoted; no field of these files holds a line end.
// Thread rule: one thread. Ownership: uses the ImportFile's source; texts are valid until the
// next row.

#include <string>
#include <string_view>
#include <vector>

#include "import/adapter.h"

namespace nl::adapters::rocprof {

// The fields of a line; false when a quote is not closed. A doubled quote stays doubled.
bool SplitCsv(std::string_view line, std::vector<std::string_view>& fields);
// A text field with its doubled quotes made single.
std::string PlainText(std::string_view field);
// The first line of a text, without byte order mark and line end.
std::string_view FirstLine(std::string_view text);

class CsvTable {
 public:
  explicit CsvTable(ImportFile& file) : file_(file) {}

  // Reads the header line.
  Status Open();
  const std::vector<std::string>& columns() const { return columns_; }
  // Place of a column by any of its names (versions spell them differently); -1: not there.
  int Find(std::initializer_list<std::string_view> names) const;

  // False after the last row. Rows that do not have every column are counted and left out.
  Result<bool> Next();
  std::string_view Text(int column) const;
  int64_t Int(int column) const;
  double Number(int column) const;
  int64_t offset() const { return offset_; }  // of the row
  std::string_view line() const { return line_; }

 private:
  // The next line without its end; false at the end of the file.
  Result<bool> Line();

  ImportFile& file_;
  std::string buffer_;
  size_t at_ = 0;
  int64_t base_ = 0, offset_ = 0;
  bool ended_ = false, whole_ = true;  // whole_: the line had its end
  std::string_view line_;
  std::vector<std::string> columns_;
  std::vector<std::string_view> fields_;
};

}  // namespace nl::adapters::rocprof
