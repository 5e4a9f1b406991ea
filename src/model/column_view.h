// SPDX-License-Identifier: Apache-2.0
#pragma once
// ColumnView, TableView: how a reader sees the columns of a table. A reader declares what it
// reads (NL_READS, model/reads.h); reading anything else ends the program and names the reader,
// the table and the column, where an empty vector would look like a run without events.
// Thread rule: read-only; any thread may read. Ownership: owns nothing; the values belong to the
// column set that was shown and must not move.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nl {

struct ColumnInfo;
struct TableInfo;

// End the program: `reader` read a column, or counted the rows of a table, that it does not declare.
[[noreturn]] void FailUndeclared(const char* reader, const ColumnInfo& column);
[[noreturn]] void FailUndeclared(const char* reader, const TableInfo& table);
[[noreturn]] void FailOutOfRange(const ColumnInfo& column, size_t row, size_t rows);

template <class T>
class ColumnView {
 public:
  // False when the reader does not declare it; for functions that can do without the column.
  bool declared() const { return undeclared_by_ == nullptr; }

  // An undeclared column has no rows, so that one comparison per element covers both mistakes.
  const T& operator[](size_t row) const {
    if (row >= rows_) [[unlikely]]
      FailAt(row);
    return values_[row];
  }
  size_t size() const {
    if (!declared()) [[unlikely]]
      FailAt(0);
    return rows_;
  }
  bool empty() const { return size() == 0; }
  const T* begin() const { return values_; }
  const T* end() const { return values_ + size(); }

  // `undeclared_by` is null, or the reader that did not declare it.
  void Show(const std::vector<T>& values, const ColumnInfo& info, const char* undeclared_by) {
    const bool declared = undeclared_by == nullptr;
    values_ = declared ? values.data() : nullptr;
    rows_ = declared ? values.size() : 0;
    info_ = &info;
    undeclared_by_ = undeclared_by;
  }

 private:
  [[noreturn]] void FailAt(size_t row) const {
    if (!declared()) FailUndeclared(undeclared_by_, *info_);
    FailOutOfRange(*info_, row, rows_);
  }

  const T* values_ = nullptr;
  size_t rows_ = 0;
  const ColumnInfo* info_ = nullptr;
  const char* undeclared_by_ = nullptr;
};

// Base of every generated table view.
class TableView {
 public:
  // Rows of the table, of which the reader must declare at least one column.
  size_t size() const {
    if (undeclared_by_ != nullptr) [[unlikely]]
      FailUndeclared(undeclared_by_, *info_);
    return rows_;
  }

 protected:
  size_t rows_ = 0;
  const TableInfo* info_ = nullptr;
  const char* undeclared_by_ = nullptr;
};

}  // namespace nl
