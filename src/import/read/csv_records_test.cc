// SPDX-License-Identifier: Apache-2.0
#include "import/read/csv_records.h"

#include "testing/import_fixture.h"

namespace nl {
namespace {

using testing_import::TraceFile;

bool StartsWithNumber(std::string_view line) {
  return line.size() > 1 && line[0] == '"' && std::isdigit(line[1]);
}

struct RecordsRead {
  std::vector<std::string> texts;
  std::vector<int64_t> offsets;
  bool ended = true;
  size_t open_quotes = 0;
};

RecordsRead ReadAll(const std::string& text, size_t chunk_bytes) {
  const TraceFile file(text, "a.csv");
  std::unique_ptr<ByteSource> source = *OpenByteSource(file.path());
  ImportOptions options;
  options.chunk_bytes = chunk_bytes;
  CsvRecords records(*source, options, StartsWithNumber);
  RecordsRead out;
  CsvRecord record;
  for (;;) {
    const Result<bool> more = records.Next(record);
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) return out;
    out.texts.emplace_back(record.text);
    out.offsets.push_back(record.offset);
    out.ended = record.ended;
    out.open_quotes += record.open_quote;
  }
}

std::vector<std::string> Fields(std::string_view text) {
  std::vector<std::string> out;
  CsvField field;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at <= end;) {
    if (!NextCsvField(at, end, field)) return {"broken"};
    out.push_back(field.escaped ? Unescaped(field) : std::string(field.text));
  }
  return out;
}

using Texts = std::vector<std::string>;

TEST(CsvRecords, AreTheSameWhateverThePieces) {
  const std::string text = "\"1\",\"a\"\r\n\"2\",\"two\nlines\"\n\n\"3\",\"it said \"\"no\"\"\"\n\"4\",x";
  const Texts expected = {"\"1\",\"a\"", "\"2\",\"two\nlines\"", "", "\"3\",\"it said \"\"no\"\"\"",
                          "\"4\",x"};
  for (const size_t chunk : {1, 2, 3, 7, 64, 4096}) {
    const RecordsRead read = ReadAll(text, chunk);
    EXPECT_EQ(read.texts, expected) << chunk;
    EXPECT_EQ(read.offsets, (std::vector<int64_t>{0, 9, 25, 26, 47})) << chunk;
    EXPECT_FALSE(read.ended);
    EXPECT_EQ(read.open_quotes, 0u);
  }
}

TEST(CsvRecords, AnOpenQuoteCostsOneLine) {
  const std::string text = "\"1\",\"open\n\"2\",\"b\"\nfree\n\"3\",\"c\n";
  for (const size_t chunk : {1, 5, 4096}) {
    const RecordsRead read = ReadAll(text, chunk);
    EXPECT_EQ(read.texts, (Texts{"\"1\",\"open", "\"2\",\"b\"", "free", "\"3\",\"c"})) << chunk;
    EXPECT_EQ(read.open_quotes, 2u);
    EXPECT_TRUE(read.ended);
  }
}

TEST(CsvRecords, AQuoteThatNeverClosesDoesNotSwallowTheFile) {
  std::string text = "\"1\",\"open\n";
  const std::string line(1000, 'x');
  for (int i = 0; i < 3000; ++i) text += line + "\n";
  const RecordsRead read = ReadAll(text, 1 << 16);
  EXPECT_EQ(read.texts.size(), 3001u);
  EXPECT_EQ(read.open_quotes, 1u);
}

TEST(CsvRecords, NothingGivesNothing) { EXPECT_TRUE(ReadAll("", 16).texts.empty()); }

TEST(CsvRecords, ALineWithoutEndIsAnErrorWithItsPlace) {
  const TraceFile file("\"1\"\n" + std::string(18 << 20, 'x'), "a.csv");
  std::unique_ptr<ByteSource> source = *OpenByteSource(file.path());
  ImportOptions options;
  options.chunk_bytes = 1 << 20;
  CsvRecords records(*source, options, StartsWithNumber);
  CsvRecord record;
  EXPECT_TRUE(*records.Next(record));
  const Result<bool> next = records.Next(record);
  ASSERT_FALSE(next.ok());
  EXPECT_NE(next.error().ToString().find("a line of over 16 MB"), std::string::npos)
      << next.error().ToString();
}

TEST(CsvFields, AreTakenApart) {
  EXPECT_EQ(Fields(R"("a","b,c","d ""e"" f",,g,"")"), (Texts{"a", "b,c", "d \"e\" f", "", "g", ""}));
  EXPECT_EQ(Fields(R"("a",)"), (Texts{"a", ""}));
  EXPECT_EQ(Fields(""), (Texts{""}));
  EXPECT_EQ(Fields(R"("a)"), (Texts{"broken"}));
  EXPECT_EQ(Fields(R"("a"b,c)"), (Texts{"broken"}));
  EXPECT_EQ(Fields("\"\"\"\""), (Texts{"\""}));
}

TEST(CsvRecords, QuotesCountWhereverTheyStand) {
  for (size_t n = 0; n < 40; ++n) {
    const std::string open = "\"1" + std::string(n, '\xa2') + "\n" + std::string(n / 3, '!') + "\"";
    const std::string pairs = "\"2" + std::string(2 * n, '"') + "\"";
    const RecordsRead read = ReadAll(open + "\n" + pairs + "\n", 1 << 20);
    EXPECT_EQ(read.texts, (std::vector<std::string>{open, pairs})) << n;
    EXPECT_EQ(read.open_quotes, 0u) << n;
  }
}

}  // namespace
}  // namespace nl
