// SPDX-License-Identifier: Apache-2.0
#include "ledger/run_tables.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ledger/parquet_format.h"

namespace nl {

RunTables::RunTables(std::string folder, size_t rows_per_group)
    : folder_(std::move(folder)), rows_per_group_(rows_per_group) {}

void RunTables::Append(EventBatch& batch) {
  const auto tables = batch.Tables();
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i]->size() != 0) AppendTable(i, *tables[i]);
  }
}

void RunTables::AppendTable(size_t index, ColumnSet& columns) {
  Buffer& buffer = buffers_[index];
  spans_.clear();
  columns.Spans(spans_);
  const size_t rows = columns.size();
  for (size_t done = 0; done < rows;) {
    RowGroupRows& group = buffer.filling;
    if (group.columns.empty()) {
      group.columns = TakeColumns(buffer);
      group.first_row = buffer.total_rows;
    }
    const size_t take = std::min(rows - done, rows_per_group_ - group.rows);
    for (size_t c = 0; c < spans_.size(); ++c) {
      const size_t bytes = ElementBytes(spans_[c].info->type);
      const char* from = static_cast<const char*>(spans_[c].values) + done * bytes;
      group.columns[c].insert(group.columns[c].end(), from, from + take * bytes);
    }
    group.rows += take;
    buffer.total_rows += static_cast<int64_t>(take);
    done += take;
    if (group.rows == rows_per_group_) Enqueue(index);
  }
}

std::vector<std::vector<char>> RunTables::TakeColumns(Buffer& buffer) {
  std::lock_guard lock(mutex_);
  keep_spare_ = true;
  if (buffer.spare.empty()) {
    std::vector<std::vector<char>> fresh(spans_.size());
    // Behind the first row group there will be another whole one: no growing by doubling.
    for (size_t c = 0; c < fresh.size() && buffer.next_sequence > 0; ++c) {
      fresh[c].reserve(rows_per_group_ * ElementBytes(spans_[c].info->type));
    }
    return fresh;
  }
  std::vector<std::vector<char>> taken = std::move(buffer.spare.back());
  buffer.spare.pop_back();
  return taken;
}

void RunTables::Enqueue(size_t index) {
  Buffer& buffer = buffers_[index];
  buffer.filling.sequence = buffer.next_sequence++;
  std::lock_guard lock(mutex_);
  jobs_.push_back({index, std::exchange(buffer.filling, {})});
}

Result<ParquetWriter*> RunTables::WriterOf(size_t index) {
  std::lock_guard lock(mutex_);
  Buffer& buffer = buffers_[index];
  if (!buffer.writer) {
    const TableInfo& table = *kAllTables[index];
    NL_ASSIGN(buffer.writer, ParquetWriter::Create(folder_ + "/" + table.name + ".parquet", table, strings_));
  }
  return buffer.writer.get();
}

Result<bool> RunTables::EncodeOne() {
  Job job;
  {
    std::lock_guard lock(mutex_);
    if (jobs_.empty()) return false;
    job = std::move(jobs_.front());
    jobs_.pop_front();
  }
  NL_ASSIGN(ParquetWriter * writer, WriterOf(job.table));
  NL_TRY(writer->Append(writer->Encode(job.rows)));
  for (std::vector<char>& column : job.rows.columns) column.clear();
  std::lock_guard lock(mutex_);
  // One spare set a table: more would only be touched when threads happen to meet.
  if (keep_spare_ && buffers_[job.table].spare.empty())
    buffers_[job.table].spare.push_back(std::move(job.rows.columns));
  return true;
}

Status RunTables::Flush() {
  {
    std::lock_guard lock(mutex_);
    keep_spare_ = false;
    for (Buffer& buffer : buffers_) buffer.spare.clear();
  }
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].filling.rows != 0) Enqueue(i);
  }
  return {};
}

Status RunTables::SetLate(Table table, const char* column, std::span<const int64_t> values) {
  const auto index = static_cast<size_t>(table);
  if (!buffers_[index].writer) return {};
  const TableInfo& info = *kAllTables[index];
  for (size_t c = 0; c < info.columns.size(); ++c) {
    if (std::strcmp(info.columns[c].name, column) == 0) return buffers_[index].writer->WriteLate(c, values);
  }
  return Internal(std::string("no late column ") + column);
}

Status RunTables::Finish() {
  for (Buffer& buffer : buffers_) {
    if (buffer.writer) NL_TRY(buffer.writer->Finish());
  }
  return {};
}

std::map<std::string, uint64_t> RunTables::checksums() const {
  std::map<std::string, uint64_t> out;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].writer)
      out[fmt::format("{}{}", kAllTables[i]->name, kParquetSuffix)] = buffers_[i].writer->checksum();
  }
  return out;
}

}  // namespace nl
