// SPDX-License-Identifier: Apache-2.0
#pragma once
// RunTables: the EventSink that writes one Parquet file per table that has rows into
// a run's (staging) folder. Memory is bounded: at most one row group per table is
// being filled, and each encoding thread holds one more.
// Thread rule: as EventSink says.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ledger/event_sink.h"
#include "ledger/parquet_writer.h"

namespace nl {

class RunTables final : public EventSink {
 public:
  static constexpr size_t kRowsPerGroup = size_t{1} << 17;

  explicit RunTables(std::string folder, size_t rows_per_group = kRowsPerGroup);

  StringPool& strings() override { return strings_; }
  int64_t rows(Table table) const override { return buffers_[static_cast<size_t>(table)].total_rows; }
  void Append(EventBatch& batch) override;
  Result<bool> EncodeOne() override;
  Status Flush() override;
  Status SetLate(Table table, const char* column, std::span<const int64_t> values) override;
  Status Finish() override;
  // By file name, after Finish: what Store::Commit need not read again.
  std::map<std::string, uint64_t> checksums() const;

 private:
  struct Buffer {
    RowGroupRows filling;
    int64_t total_rows = 0;
    int64_t next_sequence = 0;
    std::unique_ptr<ParquetWriter> writer;              // made with the first full row group
    std::vector<std::vector<std::vector<char>>> spare;  // column buffers to use again
  };
  struct Job {
    size_t table;
    RowGroupRows rows;
  };
  void AppendTable(size_t index, ColumnSet& columns);
  std::vector<std::vector<char>> TakeColumns(Buffer& buffer);  // for the table of spans_
  void Enqueue(size_t index);
  Result<ParquetWriter*> WriterOf(size_t index);

  std::string folder_;
  size_t rows_per_group_;
  StringPool strings_;
  std::array<Buffer, EventBatch::kTables> buffers_;
  std::vector<ColumnSpan> spans_;
  std::mutex mutex_;  // guards jobs_, spare buffers and the making of writers
  std::deque<Job> jobs_;
  bool keep_spare_ = true;  // while rows come in
};

}  // namespace nl
