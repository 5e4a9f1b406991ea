// SPDX-License-Identifier: Apache-2.0
#pragma once
// RowGroupFile: writes the rows of one table as a Parquet file, a row group at a time, for what is derived
// from a run (ledger/derived.h). Thread rule: one thread. Ownership: borrows the strings, which may grow
// until Finish.

#include <memory>
#include <string>
#include <vector>

#include "ledger/parquet_writer.h"

namespace nl {

template <class Columns, class Row>
class RowGroupFile {
 public:
  explicit RowGroupFile(const StringPool& strings) : strings_(strings) {}

  Status Create(const std::string& path) {
    NL_ASSIGN(writer_, ParquetWriter::Create(path, Columns::kInfo, strings_));
    return {};
  }
  Status Add(const Row& row) {
    columns_.Add(row);
    return columns_.size() < kRowsPerGroup ? Status() : Flush();
  }
  // The checksum of the file (ledger/run_files.h).
  Result<uint64_t> Finish() {
    NL_TRY(Flush());
    NL_TRY(writer_->Finish());
    return writer_->checksum();
  }

 private:
  static constexpr size_t kRowsPerGroup = size_t{1} << 17;

  Status Flush() {
    if (columns_.size() == 0) return {};
    RowGroupRows group;
    group.sequence = sequence_++;
    group.first_row = written_;
    group.rows = columns_.size();
    std::vector<ColumnSpan> spans;
    columns_.Spans(spans);
    for (const ColumnSpan& span : spans) {
      const char* from = static_cast<const char*>(span.values);
      group.columns.emplace_back(from, from + span.rows * ElementBytes(span.info->type));
    }
    written_ += static_cast<int64_t>(group.rows);
    columns_.Clear();
    return writer_->Append(writer_->Encode(group));
  }

  const StringPool& strings_;
  Columns columns_;
  std::unique_ptr<ParquetWriter> writer_;
  int64_t sequence_ = 0, written_ = 0;
};

}  // namespace nl
