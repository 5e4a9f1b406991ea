// SPDX-License-Identifier: Apache-2.0
#pragma once
// ParquetReader: single columns of single row groups of a file that ParquetWriter made, without an engine.
// The timeline reads hundreds of millions of values and needs few of the columns, some of the row groups and
// no SQL: decoding them here takes a third of the time that a query takes and none to start an engine.
// Nothing in a file is believed: lengths, offsets and counts are checked, and a file of another writer is
// Unsupported. Thread rule: reading is const and may be done by any number of threads.
// Ownership: keeps the file open; a run that is removed meanwhile stays readable.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_ops.h"
#include "base/result.h"

namespace nl {

// A column of texts of one row group: the distinct ones, and for every row its place in them.
struct CodedTexts {
  static constexpr uint32_t kNull = 0xffffffffu;
  std::vector<std::string_view> distinct;  // into `bytes`
  std::vector<uint32_t> codes;             // kNull where there is none
  std::string bytes;
};

class ParquetReader {
 public:
  struct Chunk {  // one column of one row group
    int type = 0, codec = 0;
    int64_t data_offset = -1, dictionary_offset = -1, stored_bytes = 0, values = 0, null_count = 0;
    int64_t min = 0, max = 0;
    bool has_range = false;
  };

  static Result<std::unique_ptr<ParquetReader>> Open(const std::string& path);

  const std::string& path() const { return path_; }
  int64_t size_bytes() const { return size_bytes_; }
  int64_t rows() const { return rows_; }
  size_t groups() const { return groups_.size(); }
  int64_t rows(size_t group) const { return groups_[group].rows; }
  int64_t first_row(size_t group) const { return groups_[group].first_row; }
  // Place of a column; -1 when the file does not have it.
  int Column(std::string_view name) const;
  const Chunk& chunk(size_t group, int column) const {
    return groups_[group].chunks[static_cast<size_t>(column)];
  }

  // The values of one row group, in row order; null as model/ids.h has it. INT32 is widened.
  Status ReadInts(size_t group, int column, std::vector<int64_t>& out) const;
  Status ReadDoubles(size_t group, int column, std::vector<double>& out) const;
  Status ReadTexts(size_t group, int column, CodedTexts& out) const;

 private:
  struct Group {
    int64_t rows = 0, first_row = 0;
    std::vector<Chunk> chunks;
  };
  struct Pages;  // the decompressed pages of a chunk
  ParquetReader() = default;
  Status ReadFooter();
  Status ReadPages(size_t group, int column, Pages& out) const;
  Error Damaged(std::string_view what) const;

  std::string path_;
  UniqueFd file_;
  int64_t size_bytes_ = 0, rows_ = 0;
  std::vector<std::string> columns_;
  std::vector<Group> groups_;
};

}  // namespace nl
