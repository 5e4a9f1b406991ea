// SPDX-License-Identifier: Apache-2.0
#pragma once
// RowWriter: the way from an adapter that reads on one thread to the sink. Rows are put
// into `batch` with the run's own string and lane numbers; full batches are observed and
// appended, and row groups are encoded by threads of their own meanwhile.
// Thread rule: everything by the adapter's thread. Ownership: the sink and facts are the
// ImportFile's.

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "import/adapter.h"

namespace nl {

class RowWriter {
 public:
  explicit RowWriter(ImportFile& file);
  ~RowWriter();

  EventBatch batch;

  StringPool& strings() { return sink_.strings(); }
  // The run's number of the next row of a table, of which the batch holds `pending`.
  RowId NextRow(Table table, const ColumnSet& pending) const {
    return static_cast<RowId>(sink_.rows(table) + static_cast<int64_t>(pending.size()));
  }
  // Keeps what the source said of a row that has no column; `value` is JSON text.
  void KeepArg(Table table, RowId row, std::string_view key, std::string_view value);
  void KeepArg(Table table, RowId row, std::string_view key, int64_t value);

  // Called after every row or every few: hands the batch over when it is full.
  Status Flow(size_t rows = 1) { return (since_flush_ += rows) < kBatchRows ? Status() : Flush(); }
  Status Flush();
  // Hands over the rest and waits for the encoders.
  Status Finish();

 private:
  static constexpr size_t kBatchRows = 4096;
  static constexpr int kMaxBehind = 64;  // batches the encoders may be after: twice a row group
  void EncodeLoop();
  Status EncodeHere();

  EventSink& sink_;
  RunFacts& facts_;
  const ImportOptions& options_;
  size_t since_flush_ = 0;
  std::vector<std::thread> encoders_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  int waiting_ = 0;  // batches appended since an encoder last found nothing to do
  bool done_ = false;
  std::optional<Error> failure_;
};

}  // namespace nl
