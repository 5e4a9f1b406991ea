// SPDX-License-Identifier: Apache-2.0
#include "testing/import_fixture.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

namespace nl::testing_import {

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

void WriteText(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  ASSERT_TRUE(out.good()) << path;
}

std::string Gzip(std::string_view text) {
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

std::string Zstd(std::string_view text, bool checksum) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  const size_t n = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  EXPECT_FALSE(ZSTD_isError(n));
  out.resize(n);
  return out;
}

Outcome ImportPath(const std::string& path, const ImportOptions& options, const std::string& format) {
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

Outcome ImportText(std::string_view text, const ImportOptions& options) {
  const TraceFile file(text);
  return ImportPath(file.path(), options);
}

std::string FirstDifference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string left = i < a.size() ? a[i] : "(end)", right = i < b.size() ? b[i] : "(end)";
    if (left != right) return left + "\n   against\n" + right;
  }
  return "";
}

std::vector<Sample> Samples() {
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

int64_t TextSink::rows(Table table) const {
  return static_cast<int64_t>(rows_[static_cast<size_t>(table)].size());
}

void TextSink::Append(EventBatch& batch) {
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

Status TextSink::SetLate(Table table, const char* column, std::span<const int64_t> values) {
  auto& rows = rows_[static_cast<size_t>(table)];
  EXPECT_EQ(values.size(), rows.size()) << column;
  for (size_t i = 0; i < std::min(values.size(), rows.size()); ++i) {
    if (values[i] != NullOf<int64_t>::value) rows[i] += fmt::format("{}={} ", column, values[i]);
  }
  return {};
}

std::vector<std::string> TextSink::Rows() const {
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

std::string TextSink::Cell(const ColumnSpan& span, size_t row) const {
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

}  // namespace nl::testing_import
