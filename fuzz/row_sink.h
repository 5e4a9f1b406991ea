// SPDX-License-Identifier: Apache-2.0
#pragma once
// RowSink: the EventSink of the fuzz targets. Keeps a hash of every row, strings
// resolved, so that two imports of one text can be compared at no cost of files.
// Thread rule: as EventSink says.

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "ledger/event_sink.h"

namespace nl {

class RowSink final : public EventSink {
 public:
  StringPool& strings() override { return strings_; }
  int64_t rows(Table table) const override {
    return static_cast<int64_t>(rows_[static_cast<size_t>(table)].size());
  }
  void Append(EventBatch& batch) override {
    const auto tables = batch.Tables();
    for (size_t t = 0; t < tables.size(); ++t) {
      spans_.clear();
      tables[t]->Spans(spans_);
      for (size_t row = 0; row < tables[t]->size(); ++row) rows_[t].push_back(HashRow(row));
    }
  }
  Result<bool> EncodeOne() override { return false; }
  Status Flush() override { return {}; }
  Status SetLate(Table table, const char*, std::span<const int64_t> values) override {
    auto& rows = rows_[static_cast<size_t>(table)];
    if (values.size() != rows.size()) __builtin_trap();  // a link column must have every row
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = Mix(rows[i], static_cast<uint64_t>(values[i]));
    return {};
  }
  Status Finish() override { return {}; }

  // One number for the run. The order of args rows and of strings is not part of it.
  uint64_t Hash() {
    uint64_t hash = 0;
    for (size_t t = 0; t < rows_.size(); ++t) {
      if (static_cast<Table>(t) == Table::kString) continue;
      if (static_cast<Table>(t) == Table::kArgs) std::sort(rows_[t].begin(), rows_[t].end());
      hash = Mix(hash, rows_[t].size());
      for (const uint64_t row : rows_[t]) hash = Mix(hash, row);
    }
    return hash;
  }

 private:
  static uint64_t Mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
  }
  uint64_t HashRow(size_t row) const {
    uint64_t hash = 0;
    for (const ColumnSpan& span : spans_) {
      if (span.remap_string) {
        const StringId id = static_cast<const StringId*>(span.values)[row];
        hash = Mix(hash, id == StringId::kNull ? 1 : HashText(strings_.Text(id)));
        continue;
      }
      uint64_t bits = 0;
      const size_t bytes = ElementBytes(span.info->type);
      std::memcpy(&bits, static_cast<const char*>(span.values) + row * bytes, bytes);
      hash = Mix(hash, bits);
    }
    return hash;
  }

  StringPool strings_;
  std::vector<ColumnSpan> spans_;
  std::array<std::vector<uint64_t>, EventBatch::kTables> rows_;
};

}  // namespace nl
