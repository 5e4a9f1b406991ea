// SPDX-License-Identifier: Apache-2.0
#include "ledger/sql_session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file_ops.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::Must;
using testing_runs::WriteParquet;

class SqlSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* run : {"a", "b"}) {
      Must(MakeDirectories(Folder(run)));
      WriteParquet(
          Folder(run) + "/kernel.parquet",
          fmt::format("SELECT range AS id, '{}' || range AS name, 9007199254740993 + range AS start_ns FROM "
                      "range({})",
                      run, run[0] == 'a' ? 3 : 2));
    }
    WriteParquet(Folder("b") + "/memcpy.parquet", "SELECT 0 AS id, 42 AS bytes");
    Must(WriteFileAtomically(Folder("a") + "/secret.txt", "secret"));
    Must(WriteFileAtomically(dir_.path() + "/outside.csv", "x\n1\n"));
    options_.known_tables = {{"kernel", {{"id", "BIGINT"}}},
                             {"sync", {{"id", "BIGINT"}, {"dur_ns", "BIGINT"}}}};
    options_.threads = 2;
    session_ = Must(SqlSession::Open({{"run-a", Folder("a"), {}}, {"run-b", Folder("b"), {}}}, options_));
  }
  std::string Folder(const std::string& run) const { return dir_.path() + "/" + run; }
  Json Rows(const std::string& sql, SqlLimits limits = {}) {
    auto table = session_->QueryTable(sql, limits);
    EXPECT_TRUE(table.ok()) << sql << ": " << (table.ok() ? "" : table.error().ToString());
    return table.ok() ? table->rows : Json();
  }
  Json One(const std::string& expression) { return Rows("SELECT " + expression).at(0).at(0); }
  Error Refused(const std::string& sql) {
    auto table = session_->QueryTable(sql, {});
    EXPECT_FALSE(table.ok()) << sql;
    return table.ok() ? Error{} : table.error();
  }
  size_t FileCount() const {
    return static_cast<size_t>(std::distance(std::filesystem::recursive_directory_iterator(dir_.path()), {}));
  }

  TempDir dir_ = Must(TempDir::Make("nl-sql-"));
  SqlSessionOptions options_;
  std::unique_ptr<SqlSession> session_;
};

TEST_F(SqlSessionTest, TableOfAllRunsHasTheRunColumnFirst) {
  EXPECT_EQ(Rows("SELECT run, count(*) FROM kernel GROUP BY run ORDER BY run"),
            Json::parse(R"([["run-a", 3], ["run-b", 2]])"));
  const auto table = Must(session_->QueryTable("SELECT * FROM kernel LIMIT 1", {}));
  EXPECT_EQ(table.columns.at(0).name, "run");
  EXPECT_EQ(table.columns.at(1).name, "id");
}

TEST_F(SqlSessionTest, AThousandRunsAreOneTable) {
  std::vector<RunSource> runs;
  for (int i = 0; i < 1200; ++i)
    runs.push_back({fmt::format("run-{}", i), Folder(i % 2 == 0 ? "a" : "b"), {}});
  session_ = Must(SqlSession::Open(runs, options_));
  EXPECT_EQ(Rows("SELECT count(DISTINCT run), count(*) FROM kernel"), Json::parse("[[1200, 3000]]"));
}

TEST_F(SqlSessionTest, TableOnlySomeRunsHaveAndTableNoneHasBothExist) {
  EXPECT_EQ(Rows("SELECT run, bytes FROM memcpy"), Json::parse(R"([["run-b", 42]])"));
  EXPECT_EQ(One("count(*) FROM sync"), 0);
  EXPECT_EQ(One("sum(dur_ns) FROM sync"), nullptr);
  const Json tables = Rows("SHOW TABLES");
  EXPECT_EQ(tables.size(), 3u);
}

TEST_F(SqlSessionTest, EverythingThatReachesOutsideIsRefusedAndChangesNoFile) {
  const size_t files = FileCount();
  const std::string a = Folder("a");
  for (const std::string& sql :
       std::vector<std::string>{"SELECT * FROM read_csv('/etc/passwd')",
                                "SELECT * FROM read_text('/etc/passwd')",
                                "SELECT * FROM read_blob('/proc/self/environ')",
                                "FROM '/etc/passwd'",
                                "SELECT * FROM glob('/*')",
                                "SELECT * FROM read_text('" + a + "/secret.txt')",
                                "SELECT * FROM read_csv('" + dir_.path() + "/outside.csv')",
                                "SELECT * FROM read_text('" + a + "/../outside.csv')",
                                "SELECT * FROM glob('" + a + "/*')",
                                "SELECT * FROM read_parquet('" + a + "/*.parquet')",
                                "SELECT * FROM sniff_csv('/etc/passwd')",
                                "SELECT * FROM read_json('https://example.invalid/x.json')",
                                "SELECT getenv('HOME')",
                                "COPY (SELECT 1) TO '" + a + "/x.csv'",
                                "COPY kernel TO '" + a + "/kernel.parquet'",
                                "EXPLAIN ANALYZE COPY (SELECT 1) TO '" + a + "/x.csv'",
                                "ATTACH '" + a + "/x.db'",
                                "ATTACH ':memory:' AS m",
                                "INSTALL httpfs",
                                "LOAD httpfs",
                                "LOAD '" + a + "/x.so'",
                                "SET threads = 1",
                                "SET enable_external_access = true",
                                "RESET ALL",
                                "PRAGMA version",
                                "PRAGMA enable_profiling",
                                "CREATE TABLE t (a INT)",
                                "CREATE VIEW v AS SELECT 1",
                                "DROP VIEW kernel",
                                "CALL pragma_version()",
                                "EXPORT DATABASE '" + a + "'",
                                "IMPORT DATABASE '" + a + "'",
                                "SELECT 1; SELECT 2",
                                "SELECT 1; COPY (SELECT 1) TO '" + a + "/x.csv'",
                                "USE memory",
                                "CHECKPOINT",
                                "BEGIN",
                                "PREPARE p AS SELECT 1",
                                "SELECT * FROM enable_logging(storage='file', storage_path='" + a + "')",
                                "SELECT * FROM query('SELECT 1')",
                                "SELECT ?",
                                "SELECT $1",
                                "SELECT * INTO t FROM kernel",
                                "WITH x AS (INSERT INTO t VALUES (1)) SELECT 1",
                                "DELETE FROM kernel",
                                "UPDATE kernel SET id = 1",
                                ""}) {
    const Error error = Refused(sql);
    EXPECT_EQ(error.code, ErrorCode::kInvalidInput) << sql << ": " << error.ToString();
    EXPECT_FALSE(error.message.empty()) << sql;
  }
  EXPECT_EQ(FileCount(), files);
  EXPECT_EQ(One("count(*) FROM kernel"), 5) << "the session still works";
}

// The engine's own fence must hold even if the text guard let something through.
TEST_F(SqlSessionTest, EngineIsFencedToFilesAndItsSettingsAreLocked) {
  EXPECT_EQ(Rows("SELECT value FROM duckdb_settings() WHERE name = 'lock_configuration'").at(0).at(0),
            "true");
  EXPECT_EQ(Rows("SELECT value FROM duckdb_settings() WHERE name = 'enable_external_access'").at(0).at(0),
            "false");
  EXPECT_EQ(Rows("SELECT value FROM duckdb_settings() WHERE name = 'allowed_directories'").at(0).at(0), "[]");
}

TEST_F(SqlSessionTest, ValuesKeepTheirExactness) {
  EXPECT_EQ(One("max(start_ns) FROM kernel").get<int64_t>(), 9007199254740995);
  EXPECT_EQ(One("sum(start_ns) FROM kernel WHERE id < 1").get<int64_t>(), 18014398509481986)
      << "HUGEINT that fits";
  EXPECT_EQ(One("18446744073709551615::UBIGINT").get<uint64_t>(), 18446744073709551615u);
  EXPECT_EQ(One("170141183460469231731687303715884105727::HUGEINT"),
            "170141183460469231731687303715884105727");
  EXPECT_EQ(One("(-170141183460469231731687303715884105727)::HUGEINT"),
            "-170141183460469231731687303715884105727");
  EXPECT_EQ(One("(-9223372036854775808)::HUGEINT").get<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(One("1.25::DECIMAL(9,2)"), 1.25);
  EXPECT_EQ(One("(-0.05)::DECIMAL(4,2)"), -0.05);
  EXPECT_EQ(One("12345678901234567890.123::DECIMAL(38,3)"), "12345678901234567890.123");
  EXPECT_EQ(One("7::DECIMAL(18,0)"), 7);
  EXPECT_EQ(One("'NaN'::DOUBLE"), "NaN");
  EXPECT_EQ(One("'-inf'::FLOAT"), "-Infinity");
  EXPECT_EQ(One("NULL"), nullptr);
  EXPECT_EQ(One("true"), true);
}

TEST_F(SqlSessionTest, TimesListsAndStructsBecomeJson) {
  EXPECT_EQ(One("DATE '2024-02-29'"), "2024-02-29");
  EXPECT_EQ(One("DATE '1969-12-31'"), "1969-12-31");
  EXPECT_EQ(One("TIMESTAMP '1969-12-31 23:59:59.5'"), "1969-12-31 23:59:59.500000");
  EXPECT_EQ(One("make_timestamp_ns(1700000000123456789)"), "2023-11-14 22:13:20.123456789");
  EXPECT_EQ(One("[1, NULL, 3]"), Json::parse("[1, null, 3]"));
  EXPECT_EQ(One("{'a': 1, 'b': ['x', 'y']}"), Json::parse(R"({"a": 1, "b": ["x", "y"]})"));
  EXPECT_EQ(One("MAP {'k': 1}"), Json::parse(R"([{"key": "k", "value": 1}])"));
  EXPECT_EQ(One("[[1],[2,3]]::INT[][]"), Json::parse("[[1],[2,3]]"));
  EXPECT_EQ(One("[1,2,3]::INT[3]"), Json::parse("[1,2,3]"));
  // Through the engine's own cast to text.
  EXPECT_EQ(One("INTERVAL 90 MINUTE"), "01:30:00");
  EXPECT_EQ(One("'0123456789abcdef0123456789abcdef'::UUID"), "01234567-89ab-cdef-0123-456789abcdef");
  EXPECT_EQ(One("'x'::ENUM('x', 'y')"), "x");
  EXPECT_EQ(One("TIME '12:34:56'"), "12:34:56");
  EXPECT_EQ(One("'101'::BIT"), "101");
}

TEST_F(SqlSessionTest, CastColumnsKeepNamesOrderAndDuplicates) {
  const auto table = Must(session_->QueryTable(
      "SELECT INTERVAL 1 DAY AS a, i AS a, 'x' AS \"q\"\"q\" FROM range(3) t(i) ORDER BY i DESC -- c", {}));
  EXPECT_EQ(table.columns.at(0).name, "a");
  EXPECT_EQ(table.columns.at(1).name, "a_1");
  EXPECT_EQ(table.columns.at(2).name, "q\"q");
  EXPECT_EQ(table.rows, Json::parse(R"([["1 day", 2, "x"], ["1 day", 1, "x"], ["1 day", 0, "x"]])"));
}

TEST_F(SqlSessionTest, RowLimitCutsAndSaysSoOnlyWhenThereWasMore) {
  SqlLimits limits;
  limits.max_rows = 5000;
  auto table = Must(session_->QueryTable("SELECT * FROM range(1000000)", limits));
  EXPECT_EQ(table.rows.size(), 5000u);
  EXPECT_TRUE(table.truncated);
  table = Must(session_->QueryTable("SELECT * FROM range(5000)", limits));
  EXPECT_EQ(table.rows.size(), 5000u);
  EXPECT_FALSE(table.truncated);
  limits.refuse_more_rows = true;
  EXPECT_EQ(session_->QueryTable("SELECT * FROM range(5001)", limits).error().code, ErrorCode::kLimit);
}

TEST_F(SqlSessionTest, TimeLimitStopsAnEndlessQueryAndTheSessionLivesOn) {
  SqlLimits limits;
  limits.max_seconds = 0.2;
  const auto table = session_->QueryTable(
      "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range % 7 = 3", limits);
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, ErrorCode::kLimit);
  EXPECT_EQ(One("1"), 1);
}

TEST_F(SqlSessionTest, RaisedFlagCancels) {
  std::atomic<bool> cancelled{false};
  SqlLimits limits;
  limits.cancelled = &cancelled;
  std::thread person([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancelled = true;
  });
  const auto table = session_->QueryTable(
      "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range % 7 = b.range", limits);
  person.join();
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, ErrorCode::kCancelled);
}

TEST_F(SqlSessionTest, MemoryLimitIsALimitNotACrash) {
  options_.memory_limit_mb = 64;
  session_ = Must(SqlSession::Open({{"run-a", Folder("a"), {}}}, options_));
  const auto table = session_->QueryTable("SELECT list(i) FROM range(100000000) t(i)", {});
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, ErrorCode::kLimit) << table.error().ToString();
}

TEST_F(SqlSessionTest, MistakesAreInvalidInputWithTheEnginesExplanation) {
  EXPECT_NE(Refused("SELECT nope FROM kernel").message.find("nope"), std::string::npos);
  EXPECT_NE(Refused("SELECT * FROM kernels").hint.find("SHOW TABLES"), std::string::npos);
  EXPECT_EQ(Refused("SELEC 1").code, ErrorCode::kInvalidInput);
  EXPECT_EQ(Refused("SELECT 'x'::INT").code, ErrorCode::kInvalidInput);
  EXPECT_TRUE(session_->QueryTable("EXPLAIN SELECT * FROM kernel", {}).ok());
  EXPECT_TRUE(session_->QueryTable("EXPLAIN ANALYZE SELECT count(*) FROM kernel", {}).ok());
  EXPECT_TRUE(session_->QueryTable("DESCRIBE kernel", {}).ok());
  EXPECT_TRUE(session_->QueryTable("SUMMARIZE kernel", {}).ok());
  EXPECT_TRUE(session_->QueryTable("PIVOT kernel ON name IN ('a0', 'b0') USING count(*)", {}).ok());
}

TEST_F(SqlSessionTest, BrokenParquetSpoilsOnlyItsTable) {
  std::ofstream(Folder("a") + "/memset.parquet") << "PAR1 this is no parquet";
  session_ = Must(SqlSession::Open({{"run-a", Folder("a"), {}}}, options_));
  EXPECT_EQ(One("count(*) FROM kernel"), 3);
  const Error error = Refused("SELECT * FROM memset");
  EXPECT_EQ(error.code, ErrorCode::kIo);
  EXPECT_NE(error.message.find("memset"), std::string::npos);
}

TEST_F(SqlSessionTest, ARunThatIsRemovedWhileItIsReadIsNotFound) {
  EXPECT_EQ(Rows("SELECT count(*) FROM kernel").at(0).at(0), 5);  // the files are verified now
  std::filesystem::remove_all(Folder("b"));
  for (const char* sql : {"SELECT sum(start_ns) FROM kernel", "SELECT bytes FROM memcpy"}) {
    const Error gone = Refused(sql);
    EXPECT_EQ(gone.code, ErrorCode::kNotFound) << sql << ": " << gone.ToString();
    EXPECT_EQ(gone.message, "no such run: run-b: it was removed while it was read");
  }
}

TEST_F(SqlSessionTest, ResultGoesToParquetWithItsTypes) {
  const std::string parquet = dir_.path() + "/out's.parquet";
  const auto outcome =
      Must(session_->QueryToParquet("SELECT run, sum(start_ns) AS total, [1, 2] AS l, {'a': 'b'} AS s, DATE "
                                    "'2024-01-01' AS d, NULL AS n FROM kernel "
                                    "GROUP BY run ORDER BY run;",
                                    {}, parquet));
  EXPECT_EQ(outcome.rows, 2);
  Must(MakeDirectories(Folder("c")));
  std::filesystem::rename(parquet, Folder("c") + "/result.parquet");
  session_ = Must(SqlSession::Open({{"c", Folder("c"), {}}}, {}));
  EXPECT_EQ(Rows("SELECT total, l, s, d, n, typeof(total) FROM result").at(0),
            Json::parse(R"([27021597764222982, [1, 2], {"a": "b"}, "2024-01-01", null, "BIGINT"])"));

  const std::string short_file = Folder("c") + "/short.parquet";
  SqlLimits limits;
  limits.max_rows = 2;
  EXPECT_TRUE(Must(session_->QueryToParquet("SELECT i FROM range(9000) t(i)", limits, short_file)).truncated);
  session_ = Must(SqlSession::Open({{"c", Folder("c"), {}}}, {}));
  EXPECT_EQ(Rows("SELECT i FROM short"), Json::parse("[[0], [1]]"));
}

TEST_F(SqlSessionTest, ExportCannotBeUsedToReadOrWriteElsewhere) {
  const std::string out = dir_.path() + "/out.parquet";
  for (const char* sql : {"SELECT * FROM read_text('/etc/passwd')", "COPY (SELECT 1) TO '/tmp/x'",
                          "EXPLAIN SELECT 1", "SELECT 1) TO '/tmp/nl-evil' --", "SELECT 1; SELECT 2"}) {
    EXPECT_FALSE(session_->QueryToParquet(sql, {}, out).ok()) << sql;
  }
  EXPECT_FALSE(PathExists(out));
  EXPECT_FALSE(PathExists("/tmp/nl-evil"));
  EXPECT_EQ(session_->QueryToParquet("SELECT 1", {}, "/nonexistent/x").error().code, ErrorCode::kIo);
}

TEST_F(SqlSessionTest, AnyFolderNameCanBeRead) {
  for (const std::string name : {"a[b]", "what?", "*", "a=b", "it's", "\xff\xfe", "[", "]", "x*/plain"}) {
    const std::string odd = dir_.path() + "/odd/" + name;
    Must(MakeDirectories(odd));
    WriteParquet(dir_.path() + "/kernel.parquet", "SELECT 1 AS id");
    std::filesystem::rename(dir_.path() + "/kernel.parquet", odd + "/kernel.parquet");
    session_ = Must(SqlSession::Open({{"it's", odd, {}}}, {}));
    EXPECT_EQ(Rows("SELECT * FROM kernel"), Json::parse(R"([["it's", 1]])")) << name;
  }
}

TEST_F(SqlSessionTest, AFolderThatTookTheNameOfAnotherIsTheOneRead) {
  const std::string odd = dir_.path() + "/a[b]";
  for (const int id : {1, 2}) {
    Must(RemoveTree(odd));
    Must(MakeDirectories(odd));
    WriteParquet(dir_.path() + "/kernel.parquet", "SELECT " + std::to_string(id) + " AS id");
    std::filesystem::rename(dir_.path() + "/kernel.parquet", odd + "/kernel.parquet");
    session_ = Must(SqlSession::Open({{"r", odd, {}}}, {}));
    EXPECT_EQ(Rows("SELECT id FROM kernel"), Json::array({Json::array({id})}));
  }
}

TEST(DuckDbLibrary, LoadsOnceAndTellsItsVersion) {
  const DuckDbApi* api = Must(LoadDuckDb());
  EXPECT_EQ(api, Must(LoadDuckDb("/no/such/library.so"))) << "the first success is kept";
  EXPECT_EQ(api->version.substr(0, 2), "1.");
}

}  // namespace
}  // namespace nl
