// SPDX-License-Identifier: Apache-2.0
#pragma once
// RunTable: columns of one table of a run that is not drawn as spans: names of lanes, values of lines.
// Thread rule: constant; any number of threads. Ownership: keeps the file open.

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "timeline/run_spans.h"

namespace nl {

// Columns of a table; empty when the run does not have it.
class RunTable {
 public:
  static Result<RunTable> Open(const RunSpans& spans, const char* name) {
    RunTable out;
    NL_ASSIGN(out.file_, spans.OpenTable(name));
    return out;
  }
  size_t rows() const { return file_ == nullptr ? 0 : static_cast<size_t>(file_->rows()); }

  size_t groups() const { return file_ == nullptr ? 0 : file_->groups(); }

  // One column of one row group.
  Status Ints(size_t group, const char* column, std::vector<int64_t>& out) const {
    NL_ASSIGN(const int at, At(column));
    return file_->ReadInts(group, at, out);
  }
  Status Numbers(size_t group, const char* column, std::vector<double>& out) const {
    NL_ASSIGN(const int at, At(column));
    return file_->ReadDoubles(group, at, out);
  }
  Status Texts(size_t group, const char* column, CodedTexts& out) const {
    NL_ASSIGN(const int at, At(column));
    return file_->ReadTexts(group, at, out);
  }

  // Whole columns.
  Result<std::vector<int64_t>> Ints(const char* column) const {
    std::vector<int64_t> out, part;
    for (size_t g = 0; g < groups(); ++g) {
      NL_TRY(Ints(g, column, part));
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  }
  Result<std::vector<std::string>> Texts(const char* column) const {
    std::vector<std::string> out;
    CodedTexts part;
    for (size_t g = 0; g < groups(); ++g) {
      NL_TRY(Texts(g, column, part));
      for (const uint32_t code : part.codes)
        out.emplace_back(code == CodedTexts::kNull ? std::string_view() : part.distinct[code]);
    }
    return out;
  }

 private:
  Result<int> At(const char* column) const {
    const int at = file_->Column(column);
    if (at < 0) return InvalidInput(fmt::format("{} lacks the column {}", file_->path(), column));
    return at;
  }
  std::shared_ptr<const ParquetReader> file_;
};

}  // namespace nl
