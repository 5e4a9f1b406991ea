// SPDX-License-Identifier: Apache-2.0
#pragma once
// ParquetWriter: one event table of a run, written as one Parquet file.
// Row groups are encoded by whichever thread filled them and appended in order, so
// the same input gives the same bytes whatever the number of threads. Link columns
// (Encoding::kLate) are written after the row groups once all rows are known: the
// footer may point anywhere, which spares a second pass over the rows.
// Thread rule: Encode and Append from any thread; WriteLate and Finish by one.

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"
#include "model/string_pool.h"
#include "model/table.h"

namespace nl {

// Rows detached from their producer: raw values per column that is not late.
struct RowGroupRows {
  int64_t sequence = 0;   // 0, 1, 2, ... per table
  int64_t first_row = 0;  // value of the implicit id column
  size_t rows = 0;
  std::vector<std::vector<char>> columns;
};

class ParquetWriter {
 public:
  struct Chunk {  // where one column of one row group lies
    int64_t offset = 0, dictionary_offset = -1, data_offset = 0;
    int64_t compressed_bytes = 0, uncompressed_bytes = 0;
    int64_t values = 0, null_count = 0, min = 0, max = 0;
    bool has_range = false, zstd = false;
    int encoding = 0;
  };
  struct Encoded {
    int64_t sequence = 0;
    size_t rows = 0;
    std::string bytes;          // all column chunks, one after the other
    std::vector<Chunk> chunks;  // offsets relative to `bytes`
  };

  static Result<std::unique_ptr<ParquetWriter>> Create(const std::string& path, const TableInfo& table,
                                                       const StringPool& strings);

  Encoded Encode(const RowGroupRows& rows) const;
  Status Append(Encoded encoded);

  // Values of a late column for every row, in row order. Null where unresolved.
  Status WriteLate(size_t column, std::span<const int64_t> values);

  // Writes the footer and closes. Late columns never given are all null.
  Status Finish();
  int64_t rows() const { return rows_; }
  int64_t size_bytes() const { return file_.size_bytes(); }
  uint64_t checksum() const { return checksum_; }  // of the whole file (ledger/run_files.h), after Finish

 private:
  struct Group {
    size_t rows = 0;
    std::vector<Chunk> chunks;  // id column first, then schema order
  };
  ParquetWriter(const TableInfo& table, const StringPool& strings) : table_(table), strings_(strings) {}
  Status AppendNow(Encoded& encoded);
  Status Write(std::string_view bytes);
  std::string Footer() const;

  const TableInfo& table_;
  const StringPool& strings_;
  std::mutex mutex_;
  OutputFile file_;
  uint64_t checksum_ = 0;
  std::map<int64_t, Encoded> waiting_;  // encoded before their turn
  int64_t next_sequence_ = 0;
  int64_t rows_ = 0;
  std::vector<Group> groups_;
};

}  // namespace nl
