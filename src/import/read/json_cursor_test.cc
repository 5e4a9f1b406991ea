// SPDX-License-Identifier: Apache-2.0
#include "import/read/json_cursor.h"

#include "testing/import_fixture.h"

namespace nl {
namespace {

using testing_import::TextSink;
using testing_import::TraceFile;

// A cursor over a text, read in pieces of `chunk` bytes.
struct Opened {
  explicit Opened(std::string_view text, size_t chunk = 3)
      : trace(text), source(*OpenByteSource(trace.path())), file{*source, path,  options, sink,
                                                                 facts,   about, counters} {
    options.chunk_bytes = chunk;
    cursor.emplace(*JsonCursor::Open(trace.path(), file));
  }
  TraceFile trace;
  std::unique_ptr<ByteSource> source;
  std::string path = "trace.json";
  ImportOptions options;
  TextSink sink;
  RunFacts facts;
  SourceFacts about;
  CounterSet counters;
  ImportFile file;
  std::optional<JsonCursor> cursor;
};

TEST(JsonCursor, WalksObjectsAndArraysInAnyPieces) {
  for (const size_t chunk : {size_t{1}, size_t{2}, size_t{7}, size_t{1000}}) {
    Opened open(R"( {"a": [1, "tw\"o", {"x": [3]}], "skip": {"y": "}]\\"}, "b": null} )", chunk);
    JsonCursor& c = *open.cursor;
    std::string key;
    ASSERT_TRUE(c.Enter('{').ok());
    ASSERT_TRUE(*c.NextKey(key));
    EXPECT_EQ(key, "a");
    ASSERT_TRUE(c.Enter('[').ok());
    std::vector<std::string> values;
    while (*c.NextElement()) values.emplace_back(*c.Value());
    EXPECT_EQ(values, (std::vector<std::string>{"1", R"("tw\"o")", R"({"x": [3]})"}));
    ASSERT_TRUE(*c.NextKey(key));
    EXPECT_EQ(key, "skip");
    ASSERT_TRUE(c.Skip().ok());
    ASSERT_TRUE(*c.NextKey(key));
    EXPECT_EQ(key, "b");
    EXPECT_TRUE(c.Parsed()->is_null());
    EXPECT_FALSE(*c.NextKey(key));
    EXPECT_EQ(c.Peek(), 0);
    EXPECT_FALSE(c.truncated());
  }
}

TEST(JsonCursor, ComesBackToAPlace) {
  Opened open(R"({"a": [1, 2], "b": 3})", 2);
  JsonCursor& c = *open.cursor;
  std::string key;
  ASSERT_TRUE(c.Enter('{').ok());
  ASSERT_TRUE(*c.NextKey(key));
  const int64_t place = c.offset();
  ASSERT_TRUE(c.Skip().ok());
  ASSERT_TRUE(*c.NextKey(key));
  EXPECT_EQ(*c.Value(), "3");
  c.Seek(place);
  EXPECT_EQ(*c.Value(), "[1, 2]");
}

TEST(JsonCursor, TellsACutFromABreak) {
  Opened cut(R"({"a": [1, )");
  std::string key;
  ASSERT_TRUE(cut.cursor->Enter('{').ok());
  ASSERT_TRUE(*cut.cursor->NextKey(key));
  EXPECT_FALSE(cut.cursor->Skip().ok());
  EXPECT_TRUE(cut.cursor->truncated());

  Opened broken(R"({"a" 1})");
  ASSERT_TRUE(broken.cursor->Enter('{').ok());
  const Result<bool> next = broken.cursor->NextKey(key);
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.error().code, ErrorCode::kInvalidInput);
  EXPECT_FALSE(broken.cursor->truncated());
}

}  // namespace
}  // namespace nl
