// SPDX-License-Identifier: Apache-2.0
#include "import/adapter.h"
#include "testing/import_fixture.h"

namespace nl {
namespace {

int ScoreOf(const char* adapter, std::string_view head) { return FindAdapter(adapter)->Score(head, ""); }

TEST(ChromeDetection, LeavesKinetoItsOwn) {
  const std::string_view kineto = R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op"}]})";
  EXPECT_GT(ScoreOf("kineto", kineto), ScoreOf("chrome", kineto));
  const std::string_view plain = R"({"traceEvents": [{"ph": "X", "name": "a"}]})";
  EXPECT_EQ(ScoreOf("kineto", plain), 0);
  EXPECT_GT(ScoreOf("chrome", plain), 0);
}

TEST(ChromeDetection, KnowsTheArrayInEveryDress) {
  for (const char* head :
       {R"([{"ph":"X"}])", "\xef\xbb\xbf [ {\"ph\": \"B\"",
        R"({"otherData": {"a": [1, "]"]}, "traceEvents": [{"ph":"M"}]})", R"({"traceEvents":[]})"})
    EXPECT_GT(ScoreOf("chrome", head), 0) << head;
}

TEST(ChromeDetection, RefusesOtherJson) {
  for (const char* head : {R"({"a": 1})", R"("text")", "12", "{", "", "<trace/>"})
    EXPECT_EQ(ScoreOf("chrome", head), 0) << head;
}

TEST(Chrome, HeaderIsKept) {
  testing_import::TextSink sink;
  const testing_import::TraceFile file(
      R"({"displayTimeUnit":"ns","traceEvents":[{"ph":"X","ts":1,"dur":1,"name":"a"}],"otherData":{"v":"1"}})");
  ImportRequest request;
  request.paths = {file.path()};
  const Result<ImportResult> result = ImportFiles(request, sink);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(result->document.software.backend, "other");
  ASSERT_EQ(sink.rows(Table::kArgs), 2);
  EXPECT_EQ(sink.RowsOf(Table::kArgs)[0], "owner='run' owner_id=0 key='displayTimeUnit' value='\"ns\"' ");
}

}  // namespace
}  // namespace nl
