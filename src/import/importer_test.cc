// SPDX-License-Identifier: Apache-2.0
#include "import/importer.h"

#include <thread>

#include "model/schema.h"
#include "testing/import_fixture.h"

namespace nl {
namespace {

using testing_import::ImportPath;
using testing_import::ImportText;
using testing_import::Outcome;
using testing_import::Samples;
using testing_import::TextSink;
using testing_import::TraceFile;

constexpr std::string_view kSmall =
    R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2, "args": {"External id": 1, "Input Dims": [[1, 2], []]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "args": {"External id": 1, "correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "gemm<float>", "pid": 0, "tid": 7, "ts": 3, "dur": 4.25, "args": {"External id": 1, "correlation": 5, "grid": [1, 2, 3], "device": 0}},
{"ph": "i", "s": "g", "name": "end \"quoted\"", "pid": "", "tid": "", "ts": 9}
], "traceName": "small"})";

TEST(Importer, TruncationAtEveryOffsetIsAnErrorWithItsPlace) {
  ASSERT_EQ(ImportText(kSmall).error, "");
  const TempDir folder = *TempDir::Make("nl-cut-");
  const std::string path = folder.path() + "/trace.json";
  ImportOptions options;
  options.threads = 1;
  for (size_t cut = 0; cut < kSmall.size(); ++cut) {
    testing_import::WriteText(path, kSmall.substr(0, cut));
    const Outcome outcome = ImportPath(path, options);
    ASSERT_NE(outcome.error, "") << "cut at " << cut;
    EXPECT_EQ(outcome.code, ErrorCode::kInvalidInput) << outcome.error;
    EXPECT_NE(outcome.error.find("trace.json"), std::string::npos) << outcome.error;
  }
}

TEST(Importer, EverySampleMakesAValidDocument) {
  for (const testing_import::Sample& sample : Samples()) {
    TextSink sink;
    ImportRequest request;
    request.paths = {sample.path};
    Result<ImportResult> result = ImportFiles(request, sink);
    ASSERT_TRUE(result.ok()) << sample.path << ": " << result.error().ToString();
    result->document.run_id = "01890a5d-ac96-7c3c-8f5a-3f1c2d4e5f60";
    result->document.created_at = "2026-01-01T00:00:00Z";
    const Result<std::string> text = SerializeValid(result->document);
    EXPECT_TRUE(text.ok()) << sample.path << ": " << text.error().ToString();
    EXPECT_EQ(result->document.source.adapter, sample.adapter);
    for (const ImportResult::TableRows& table : result->tables) EXPECT_GT(table.rows, 0) << table.table;
  }
}

TEST(Importer, ContentHashDependsOnBytesNotOnNamesOrOrder) {
  const std::vector<SourceFile> ab = {{"a", 1, std::string(64, 'a')}, {"b", 1, std::string(64, 'b')}};
  const std::vector<SourceFile> ba = {{"x", 1, std::string(64, 'b')}, {"y", 1, std::string(64, 'a')}};
  EXPECT_EQ(ContentSha256(ab), ContentSha256(ba));
  EXPECT_NE(ContentSha256(ab), ContentSha256({ab[0]}));
  EXPECT_EQ(ContentSha256({ab[0]}), ab[0].sha256);
}

TEST(Importer, PeekRankReadsTheHeaderOnly) {
  const TraceFile ranked(
      R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank": 3,"world_size": 8},"traceEvents":[)");
  const Result<RankHint> hint = PeekRank(ranked.path());
  ASSERT_TRUE(hint.ok()) << hint.error().ToString();
  EXPECT_EQ(hint->rank, 3);
  EXPECT_EQ(hint->world_size, 8);
  EXPECT_EQ(hint->adapter, "kineto");
  const TraceFile single(kSmall);
  EXPECT_EQ(PeekRank(single.path())->rank, std::nullopt);
  const TraceFile junk("hello");
  EXPECT_FALSE(PeekRank(junk.path()).ok());
}

TEST(Importer, RanksOfOneRunKeepTheirLinksApart) {
  const TraceFile zero(kSmall, "rank0.json"), one(kSmall, "rank1.json");
  TextSink sink;
  ImportRequest request;
  request.paths = {zero.path(), one.path()};
  const Result<ImportResult> result = ImportFiles(request, sink);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  ASSERT_EQ(sink.rows(Table::kKernel), 2);
  EXPECT_NE(sink.RowsOf(Table::kKernel)[0].find("api_call_id=0 "), std::string::npos);
  EXPECT_NE(sink.RowsOf(Table::kKernel)[1].find("api_call_id=1 "), std::string::npos)
      << sink.RowsOf(Table::kKernel)[1];
  EXPECT_EQ(result->counters.Count("duplicate_id"), 0);
  EXPECT_EQ(result->document.source.files.size(), 2u);
}

TEST(Importer, CancellationInAParallelImportEndsIt) {
  std::string text = "[";
  for (int i = 0; i < 50000; ++i)
    text += fmt::format(R"({{"ph":"X","name":"n{}","ts":{},"dur":1,"pid":1,"tid":1}},)", i % 100, i);
  text.back() = ']';
  const TraceFile file(text);
  std::atomic<bool> cancelled{false};
  ImportOptions options;
  options.threads = 2;
  options.chunk_bytes = 1000;
  options.cancelled = &cancelled;
  int calls = 0;
  options.progress = [&](int64_t, int64_t) { cancelled = ++calls >= 5; };
  const Outcome outcome = ImportPath(file.path(), options);
  EXPECT_EQ(outcome.code, ErrorCode::kCancelled) << outcome.error;
  EXPECT_LT(calls, 100);
}

TEST(Importer, ProgressReachesTheEnd) {
  const TraceFile file(kSmall);
  ImportOptions options;
  int64_t last = 0, total = 0;
  options.progress = [&](int64_t done, int64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
  };
  EXPECT_EQ(ImportPath(file.path(), options).error, "");
  EXPECT_EQ(last, static_cast<int64_t>(kSmall.size()));
  EXPECT_EQ(total, last);
}

TEST(Importer, ABrokenFirstEventDoesNotCondemnTheFile) {
  const Outcome outcome =
      ImportText(R"([{"broken" 1},{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}])");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.counters.at("bad_event"), 1);
}

TEST(Importer, MegabytesOfJunkAreRefusedBeforeTheEnd) {
  int64_t read = 0;
  ImportOptions options;
  options.progress = [&](int64_t done, int64_t) { read = done; };
  const Outcome outcome = ImportText("[" + std::string(200 << 20, '['), options);
  EXPECT_NE(outcome.error.find("not a trace"), std::string::npos) << outcome.error;
  EXPECT_LT(read, 100 << 20);
}

}  // namespace
}  // namespace nl
