// SPDX-License-Identifier: Apache-2.0
#include "import/rows/row_writer.h"

#include <algorithm>

#include <fmt/format.h>

namespace nl {

RowWriter::RowWriter(ImportFile& file) : sink_(file.sink), facts_(file.facts), options_(file.options) {
  const size_t threads = options_.threads > 0 ? static_cast<size_t>(options_.threads)
                                              : std::max<size_t>(1, std::thread::hardware_concurrency());
  for (size_t i = 1; i < threads; ++i) encoders_.emplace_back([this] { EncodeLoop(); });
}

RowWriter::~RowWriter() {
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  for (std::thread& encoder : encoders_) encoder.join();
}

void RowWriter::KeepArg(Table table, RowId row, std::string_view key, std::string_view value) {
  ArgsRow arg;
  arg.owner = strings().Add(kAllTables[static_cast<size_t>(table)]->name);
  arg.owner_id = row;
  arg.key = strings().Add(key);
  arg.value = strings().Add(value);
  batch.args.Add(arg);
}

void RowWriter::KeepArg(Table table, RowId row, std::string_view key, int64_t value) {
  const fmt::format_int text(value);
  KeepArg(table, row, key, std::string_view(text.data(), text.size()));
}

Status RowWriter::Flush() {
  since_flush_ = 0;
  if (options_.Cancelled()) return Cancelled();
  facts_.Observe(batch, sink_);
  sink_.Append(batch);
  batch.Clear();
  if (encoders_.empty()) return EncodeHere();
  bool after = false;
  {
    std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    after = ++waiting_ > kMaxBehind;
  }
  changed_.notify_one();
  return after ? EncodeHere() : Status();
}

Status RowWriter::EncodeHere() {
  for (;;) {
    NL_ASSIGN(const bool more, sink_.EncodeOne());
    if (!more) return {};
  }
}

void RowWriter::EncodeLoop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return waiting_ > 0 || done_; });
    if (done_ || failure_) return;
    lock.unlock();
    Status status = EncodeHere();
    lock.lock();
    waiting_ = 0;
    if (!status.ok() && !failure_) failure_ = std::move(status).error();
  }
}

Status RowWriter::Finish() {
  NL_TRY(Flush());
  std::lock_guard lock(mutex_);
  return failure_ ? Status(*failure_) : Status();
}

}  // namespace nl
