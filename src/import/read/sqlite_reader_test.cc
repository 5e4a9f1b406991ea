// SPDX-License-Identifier: Apache-2.0
#include "import/read/sqlite_reader.h"

#include "testing/import_fixture.h"

namespace nl {
namespace {

using testing_import::ReadText;
using testing_import::WriteText;

class SqliteReaderTest : public ::testing::Test {
 protected:
  // Makes a database of these statements; its path.
  std::string Make(const std::string& sql, const std::string& name = "a.db") {
    const std::string path = folder_.path() + "/" + name;
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    char* why = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &why), SQLITE_OK) << why;
    sqlite3_close(db);
    return path;
  }
  Result<std::unique_ptr<SqliteReader>> Open(const std::string& path) {
    return SqliteReader::Open(path, "shown.db", options_);
  }
  std::string ErrorOf(const std::string& path) {
    const auto reader = Open(path);
    EXPECT_FALSE(reader.ok());
    return reader.ok() ? "" : reader.error().ToString();
  }

  TempDir folder_ = *TempDir::Make("nl-sqlite-");
  ImportOptions options_;
};

TEST_F(SqliteReaderTest, ReadsColumnsByNameAndMissingOnesAsNull) {
  const auto reader = Open(
      Make("CREATE TABLE t (b INTEGER, \"end\" INTEGER, x REAL, s TEXT);"
           "INSERT INTO t VALUES (1, 10, 0.5, 'one'), (NULL, 20, 2, NULL), ('text', 5000000000, NULL, 7)"));
  ASSERT_TRUE(reader.ok()) << reader.error().ToString();
  constexpr const char* kColumns[] = {"end", "missing", "B", "x", "s"};
  Result<SqliteRows> rows = (*reader)->Read("T", kColumns);
  ASSERT_TRUE(rows.ok()) << rows.error().ToString();
  std::string seen;
  while (rows->Next()) {
    seen += fmt::format("{} {} {} {} {} '{}'; ", rows->Int(0), IsNull(rows->Int32(0)), rows->IsNull(1),
                        IsNull(rows->Int(2)) ? "-" : fmt::format("{}", rows->Int(2)),
                        IsNull(rows->Double(3)) ? "-" : fmt::format("{}", rows->Double(3)), rows->Text(4));
  }
  EXPECT_TRUE(rows->status().ok());
  EXPECT_EQ(seen, "10 false true 1 0.5 'one'; 20 false true - 2 ''; 5000000000 true true - - '7'; ");
  EXPECT_EQ(rows->rows(), 3);
  EXPECT_EQ((*reader)->LastRow("t"), 3);
  EXPECT_EQ(*(*reader)->CountRows("t"), 3);
}

TEST_F(SqliteReaderTest, RowsComeInTheOrderOfTheFileWhateverTheIndexes) {
  const auto reader =
      Open(Make("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (3), (1), (2); CREATE INDEX i ON t (a)"));
  ASSERT_TRUE(reader.ok());
  constexpr const char* kColumns[] = {"a"};
  Result<SqliteRows> rows = (*reader)->Read("t", kColumns);
  std::vector<int64_t> seen;
  while (rows->Next()) seen.push_back(rows->Int(0));
  EXPECT_EQ(seen, (std::vector<int64_t>{3, 1, 2}));
}

TEST_F(SqliteReaderTest, RunsNothingTheFileBrings) {
  const auto reader =
      Open(Make("CREATE TABLE a (x INTEGER); CREATE VIEW v AS SELECT 1 AS x;"
                "CREATE VIRTUAL TABLE f USING fts5(x); CREATE TABLE \"odd \"\"name\" (\"a b\" INTEGER)"));
  ASSERT_TRUE(reader.ok()) << reader.error().ToString();
  EXPECT_NE((*reader)->Find("a"), nullptr);
  EXPECT_EQ((*reader)->Find("v"), nullptr);
  EXPECT_EQ((*reader)->Find("f"), nullptr);
  ASSERT_NE((*reader)->Find("odd \"name"), nullptr);
  EXPECT_TRUE((*reader)->Find("odd \"name")->Has("A B"));
}

TEST_F(SqliteReaderTest, SaysWhatIsWrongWithTheFile) {
  const std::string path = Make("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)");
  const std::string whole = ReadText(path);
  const auto with = [&](const std::string& bytes) {
    WriteText(folder_.path() + "/b.db", bytes);
    return ErrorOf(folder_.path() + "/b.db");
  };
  EXPECT_NE(with(std::string(100, '\0') + whole.substr(100)).find("the database has no header"),
            std::string::npos);
  EXPECT_NE(with("hello").find("is no SQLite database"), std::string::npos);
  EXPECT_NE(with(whole.substr(0, whole.size() - 1)).find("the file is truncated: 8191 bytes of 8192"),
            std::string::npos);
  std::string damaged = whole;
  damaged[100] = '\x77';  // the type of the first page
  EXPECT_NE(with(damaged).find("malformed"), std::string::npos);
  WriteText(path + "-journal", "x");
  EXPECT_NE(ErrorOf(path).find("a.db-journal exists"), std::string::npos);
}

TEST_F(SqliteReaderTest, DamageInATableEndsItWithItsRow) {
  std::string sql = "CREATE TABLE t (a INTEGER, s TEXT);";
  for (int i = 0; i < 400; ++i) sql += fmt::format("INSERT INTO t VALUES ({}, '{:0>60}');", i, i);
  std::string bytes = ReadText(Make("BEGIN;" + sql + "COMMIT"));
  std::memset(bytes.data() + bytes.size() - 4096, 0x55, 4096);  // the last leaf
  WriteText(folder_.path() + "/b.db", bytes);
  const auto reader = Open(folder_.path() + "/b.db");
  ASSERT_TRUE(reader.ok()) << reader.error().ToString();
  constexpr const char* kColumns[] = {"a"};
  Result<SqliteRows> rows = (*reader)->Read("t", kColumns);
  ASSERT_TRUE(rows.ok());
  while (rows->Next()) {
  }
  ASSERT_FALSE(rows->status().ok());
  EXPECT_EQ(rows->status().error().code, ErrorCode::kInvalidInput);
  EXPECT_GT(rows->rows(), 100);
  EXPECT_NE(rows->status().error().message.find(fmt::format("after row {}", rows->rows())),
            std::string::npos);
}

TEST_F(SqliteReaderTest, ACutFileOpensOnRequest) {
  std::string sql = "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (7); CREATE TABLE b (x TEXT);";
  for (int i = 0; i < 100; ++i) sql += fmt::format("INSERT INTO b VALUES ('{:0>500}');", i);
  const std::string bytes = ReadText(Make("BEGIN;" + sql + "COMMIT"));
  WriteText(folder_.path() + "/b.db", bytes.substr(0, bytes.size() / 2));
  options_.allow_truncated = true;
  const auto reader = Open(folder_.path() + "/b.db");
  ASSERT_TRUE(reader.ok()) << reader.error().ToString();
  EXPECT_TRUE((*reader)->cut());
  EXPECT_EQ(*(*reader)->CountRows("a"), 1);
  EXPECT_FALSE((*reader)->CountRows("b").ok());
}

TEST_F(SqliteReaderTest, CanBeCancelled) {
  std::string sql = "CREATE TABLE t (a INTEGER);INSERT INTO t VALUES (1);";
  for (int i = 0; i < 17; ++i) sql += "INSERT INTO t SELECT a + 1 FROM t;";
  const std::string path = Make(sql);
  std::atomic<bool> cancelled{false};
  options_.cancelled = &cancelled;
  const auto reader = Open(path);
  ASSERT_TRUE(reader.ok());
  cancelled = true;
  const Result<int64_t> count = (*reader)->CountRows("t");
  constexpr const char* kColumns[] = {"a"};
  Result<SqliteRows> rows = (*reader)->Read("t", kColumns);
  while (rows->Next()) {
  }
  ASSERT_FALSE(rows->status().ok());
  EXPECT_EQ(rows->status().error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace nl
