// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the importers' tests: an EventSink that keeps every row as text, samples, and
// compressed copies of them. Not part of the program.
// Thread rule: as EventSink says. Ownership: plain values.

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
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

inline std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

inline void WriteText(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  ASSERT_TRUE(out.good()) << path;
}

inline std::string Gzip(std::string_view text) {
  std::string out(text.size() + text.size() / 8 + 1024, '\0');
  isal_zstream stream{};
  isal_deflate_stateless_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uint32_t>(text.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  EXPECT_EQ(isal_deflate_stateless(&stream), COMP_OK);
  out.resize(stream.total_out);
  return out;
}

inline std::string Zstd(std::string_view text, bool checksum = false) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  const size_t n = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  EXPECT_FALSE(ZSTD_isError(n));
  out.resize(n);
  return out;
}

// Rows as text, strings resolved: equal runs have equal rows whatever their string ids.
class TextSink final : public EventSink {
 public:
  StringPool& strings() override { return strings_; }
  int64_t rows(Table table) const override {
    return static_cast<int64_t>(rows_[static_cast<size_t>(table)].size());
  }
  void Append(EventBatch& batch) override {
    std::vector<ColumnSpan> spans;
    const auto tables = batch.Tables();
    for (size_t t = 0; t < tables.size(); ++t) {
      spans.clear();
      tables[t]->Spans(spans);
      for (size_t row = 0; row < tables[t]->size(); ++row) {
        std::string text;
        for (const ColumnSpan& span : spans) text += Cell(span, row);
        rows_[t].push_back(std::move(text));
      }
    }
  }
  Result<bool> EncodeOne() override { return false; }
  Status Flush() override { return {}; }
  Status SetLate(Table table, const char* column, std::span<const int64_t> values) override {
    auto& rows = rows_[static_cast<size_t>(table)];
    EXPECT_EQ(values.size(), rows.size()) << column;
    for (size_t i = 0; i < std::min(values.size(), rows.size()); ++i) {
      if (values[i] != NullOf<int64_t>::value) rows[i] += fmt::format("{}={} ", column, values[i]);
    }
    return {};
  }
  Status Finish() override { return {}; }

  // Every row of every table. The order of args rows and of strings is not part of a run.
  std::vector<std::string> Rows() const {
    std::vector<std::string> out;
    for (size_t t = 0; t < rows_.size(); ++t) {
      if (static_cast<Table>(t) == Table::kString) continue;
      std::vector<std::string> rows = rows_[t];
      if (static_cast<Table>(t) == Table::kArgs) std::sort(rows.begin(), rows.end());
      for (size_t i = 0; i < rows.size(); ++i)
        out.push_back(fmt::format("{}[{}]: {}", kAllTables[t]->name, i, rows[i]));
    }
    return out;
  }
  const std::vector<std::string>& RowsOf(Table table) const { return rows_[static_cast<size_t>(table)]; }

 private:
  template <class T>
  static T At(const ColumnSpan& span, size_t row) {
    return static_cast<const T*>(span.values)[row];
  }
  std::string Cell(const ColumnSpan& span, size_t row) const {
    const char* name = span.info->name;
    switch (span.info->type) {
      case ColumnType::kInt64: {
        const auto v = At<int64_t>(span, row);
        return IsNull(v) ? "" : fmt::format("{}={} ", name, v);
      }
      case ColumnType::kInt32: {
        const auto v = At<int32_t>(span, row);
        return IsNull(v) ? "" : fmt::format("{}={} ", name, v);
      }
      case ColumnType::kFloat64: {
        const auto v = At<double>(span, row);
        return IsNull(v) ? "" : fmt::format("{}={} ", name, v);
      }
      case ColumnType::kString: {
        const auto v = At<StringId>(span, row);
        return IsNull(v) ? "" : fmt::format("{}='{}' ", name, strings_.Text(v));
      }
    }
    return {};
  }

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

inline Outcome ImportPath(const std::string& path, const ImportOptions& options = {},
                          const std::string& format = "") {
  TextSink sink;
  ImportRequest request;
  request.paths = {path};
  request.format = format;
  request.options = options;
  const Result<ImportResult> result = ImportFiles(request, sink);
  Outcome out;
  if (!result.ok()) {
    out.error = result.error().ToString();
    out.code = result.error().code;
    return out;
  }
  out.rows = sink.Rows();
  for (const CounterSet::Total& total : result->counters.totals())
    out.counters[total.info->name] += total.count;
  return out;
}

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

inline Outcome ImportText(std::string_view text, const ImportOptions& options = {}) {
  const TraceFile file(text);
  return ImportPath(file.path(), options);
}

// Where two lists of rows first differ, for a message a person can use.
inline std::string FirstDifference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string left = i < a.size() ? a[i] : "(end)", right = i < b.size() ? b[i] : "(end)";
    if (left != right) return left + "\n   against\n" + right;
  }
  return "";
}

struct Sample {
  std::string adapter, name, path;
};

// Every file under tests/cases/samples/<adapter>/.
inline std::vector<Sample> Samples() {
  std::vector<Sample> out;
  const std::filesystem::path root = std::filesystem::path(NL_SOURCE_DIR) / "tests/cases/samples";
  for (const auto& folder : std::filesystem::directory_iterator(root)) {
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
      out.push_back(
          {folder.path().filename().string(), file.path().filename().string(), file.path().string()});
  }
  std::sort(out.begin(), out.end(), [](const Sample& a, const Sample& b) { return a.path < b.path; });
  return out;
}

}  // namespace nl::testing_import
