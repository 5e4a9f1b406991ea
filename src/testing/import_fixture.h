// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the importers' tests: an EventSink that keeps every row as text, samples, and
// compressed copies of them. Not part of the program.
// Thread rule: as EventSink says. Ownership: plain values.

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "import/importer.h"

namespace nl::testing_import {

std::string ReadText(const std::string& path);

void WriteText(const std::string& path, std::string_view text);

std::string Gzip(std::string_view text);

std::string Zstd(std::string_view text, bool checksum = false);

// Rows as text, strings resolved: equal runs have equal rows whatever their string ids.
class TextSink final : public EventSink {
 public:
  StringPool& strings() override { return strings_; }
  int64_t rows(Table table) const override;
  void Append(EventBatch& batch) override;
  Result<bool> EncodeOne() override { return false; }
  Status Flush() override { return {}; }
  Status SetLate(Table table, const char* column, std::span<const int64_t> values) override;
  Status Finish() override { return {}; }

  // Every row of every table. The order of args rows and of strings is not part of a run.
  std::vector<std::string> Rows() const;
  const std::vector<std::string>& RowsOf(Table table) const { return rows_[static_cast<size_t>(table)]; }

 private:
  template <class T>
  static T At(const ColumnSpan& span, size_t row) {
    return static_cast<const T*>(span.values)[row];
  }
  std::string Cell(const ColumnSpan& span, size_t row) const;

  StringPool strings_;
  std::array<std::vector<std::string>, EventBatch::kTables> rows_;
};

// What an import made: its rows and counters, or its error.
struct Outcome {
  std::vector<std::string> rows;
  std::map<std::string, int64_t> counters;
  std::string error;
  ErrorCode code = ErrorCode::kInternal;
};

Outcome ImportPath(const std::string& path, const ImportOptions& options = {},
                   const std::string& format = "");

// A folder of its own with one file in it.
class TraceFile {
 public:
  explicit TraceFile(std::string_view text, const std::string& name = "trace.json")
      : folder_(*TempDir::Make("nl-import-")), path_(folder_.path() + "/" + name) {
    WriteText(path_, text);
  }
  const std::string& path() const { return path_; }

 private:
  TempDir folder_;
  std::string path_;
};

Outcome ImportText(std::string_view text, const ImportOptions& options = {});

// Where two lists of rows first differ, for a message a person can use.
std::string FirstDifference(const std::vector<std::string>& a, const std::vector<std::string>& b);

struct Sample {
  std::string adapter, name, path;
};

// Every file under tests/cases/samples/<adapter>/.
std::vector<Sample> Samples();

}  // namespace nl::testing_import
