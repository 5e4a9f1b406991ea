// SPDX-License-Identifier: Apache-2.0
#include "ledger/sql_guard.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(SqlGuard, QueriesPassWithoutTheirTrailingSemicolonAndComments) {
  for (const char* sql : {"SELECT 1", "  with a as (select 1) select * from a ", "FROM kernel", "VALUES (1)",
                          "DESCRIBE kernel", "show tables", "SUMMARIZE kernel", "(SELECT 1)", "TABLE kernel",
                          "explain analyze select 1", "EXPLAIN (FORMAT json) SELECT 1"}) {
    EXPECT_TRUE(GuardSql(sql).ok()) << sql;
  }
  EXPECT_EQ(GuardSql("/* a */ SELECT 1 ; ; -- b")->text, "SELECT 1");
  EXPECT_EQ(GuardSql("EXPLAIN ANALYZE SELECT ';'")->explained, "SELECT ';'");
}

TEST(SqlGuard, AnythingThatIsNotAQueryIsRefused) {
  for (const char* sql : {"",
                          " ",
                          "-- only a comment",
                          ";",
                          "INSERT INTO x VALUES (1)",
                          "PRAGMA version",
                          "SET threads=1",
                          "COPY (SELECT 1) TO 'x'",
                          "ATTACH 'x'",
                          "CALL pragma_version()",
                          "CREATE TABLE x(a INT)",
                          "/**/DROP VIEW kernel",
                          "EXPLAIN ANALYZE COPY (SELECT 1) TO 'x'",
                          "EXPLAIN CREATE TABLE x(a INT)",
                          "EXPLAIN",
                          "EXPLAIN EXPLAIN SELECT 1",
                          "BEGIN",
                          "42",
                          "'select'",
                          "\"select\" 1"}) {
    const auto guarded = GuardSql(sql);
    ASSERT_FALSE(guarded.ok()) << sql;
    EXPECT_EQ(guarded.error().code, ErrorCode::kInvalidInput) << sql;
  }
}

TEST(SqlGuard, SecondStatementIsFoundOutsideQuotesOnly) {
  EXPECT_FALSE(GuardSql("SELECT 1; SELECT 2").ok());
  EXPECT_FALSE(GuardSql("SELECT 1 /* ; */; COPY x TO 'y'").ok());
  for (const char* sql :
       {"SELECT ';'", "SELECT ';''; x'", "SELECT $$;$$", "SELECT $a$ ; $$ $a$", "SELECT \";\" FROM t",
        "SELECT E'\\';'", "SELECT 1 -- ; x", "SELECT /* /* ; */ ; */ 1"}) {
    EXPECT_TRUE(GuardSql(sql).ok()) << sql;
  }
}

TEST(SqlGuard, FunctionsThatReachOutsideAreRefusedHoweverSpelled) {
  for (const char* sql : {"SELECT * FROM enable_logging(storage='file')", "SELECT * FROM ENABLE_LOGGING ()",
                          "SELECT * FROM \"enable_logging\"()", "SELECT * FROM enable_logging/**/()",
                          "SELECT * FROM query('SELECT 1')", "SELECT * FROM system.main.arrow_scan(1,2,3)",
                          "SELECT getenv('HOME')", "SELECT * FROM json_execute_serialized_sql('x')",
                          "SELECT U&'x'", "SELECT * FROM U&\"enable_logging\"()"}) {
    EXPECT_FALSE(GuardSql(sql).ok()) << sql;
  }
  EXPECT_TRUE(GuardSql("SELECT query FROM t").ok()) << "a column may have the name";
  EXPECT_TRUE(GuardSql("SELECT 'getenv(1)'").ok()) << "text may contain it";
}

TEST(SqlGuard, UnfinishedQuotesAndCommentsAreNamedWithTheirPlace) {
  for (const char* sql : {"SELECT 'a", "SELECT \"a", "SELECT $$a", "SELECT 1 /* a"}) {
    const auto guarded = GuardSql(sql);
    ASSERT_FALSE(guarded.ok()) << sql;
    EXPECT_NE(guarded.error().message.find("not closed"), std::string::npos);
  }
  EXPECT_FALSE(GuardSql(std::string_view("SELECT\0 1", 9)).ok());
}

TEST(SqlGuard, QuotingSurvivesHostileText) {
  EXPECT_EQ(SqlQuote("it's"), "'it''s'");
  using namespace std::string_view_literals;
  EXPECT_EQ(SqlQuote("a\0'\0\0"sv), "('a' || chr(0) || '''' || chr(0) || '' || chr(0) || '')");
  EXPECT_EQ(SqlName("a\"b"), "\"a\"\"b\"");
}

}  // namespace
}  // namespace nl
