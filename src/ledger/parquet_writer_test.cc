// SPDX-License-Identifier: Apache-2.0
// What is written here must be what DuckDB, an independent reader, reads back.
#include "ledger/parquet_writer.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/file_ops.h"
#include "ledger/sql_session.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::Must;

// One column of every type and encoding.
constexpr ColumnInfo kColumns[] = {{"i64_delta", ColumnType::kInt64, Encoding::kDelta, "", "x"},
                                   {"i64_dict", ColumnType::kInt64, Encoding::kDict, "", "x"},
                                   {"i32_delta", ColumnType::kInt32, Encoding::kDelta, "", "x"},
                                   {"i32_dict", ColumnType::kInt32, Encoding::kDict, "", "x"},
                                   {"f64_dict", ColumnType::kFloat64, Encoding::kDict, "", "x"},
                                   {"f64_plain", ColumnType::kFloat64, Encoding::kDelta, "", "x"},
                                   {"text", ColumnType::kString, Encoding::kDict, "", "x"},
                                   {"late", ColumnType::kInt64, Encoding::kLate, "", "x"},
                                   {"late_too", ColumnType::kInt64, Encoding::kLate, "", "x"}};
constexpr TableInfo kTable{"every", "every kind of column", kColumns};
constexpr size_t kLate = 7;

struct Row {
  int64_t i64 = NullOf<int64_t>::value;
  int32_t i32 = NullOf<int32_t>::value;
  double f64 = NullOf<double>::value;
  StringId text = StringId::kNull;
  int64_t late = NullOf<int64_t>::value;
};

class ParquetTest : public ::testing::Test {
 protected:
  template <class T>
  static void Push(std::vector<char>& to, T value) {
    to.insert(to.end(), reinterpret_cast<const char*>(&value),
              reinterpret_cast<const char*>(&value) + sizeof(T));
  }
  static std::vector<RowGroupRows> Groups(const std::vector<Row>& rows, size_t per_group) {
    std::vector<RowGroupRows> groups;
    for (size_t first = 0; first < rows.size(); first += per_group) {
      RowGroupRows group;
      group.sequence = static_cast<int64_t>(groups.size());
      group.first_row = static_cast<int64_t>(first);
      group.rows = std::min(per_group, rows.size() - first);
      group.columns.resize(kLate);
      for (size_t i = first; i < first + group.rows; ++i) {
        Push(group.columns[0], rows[i].i64);
        Push(group.columns[1], rows[i].i64);
        Push(group.columns[2], rows[i].i32);
        Push(group.columns[3], rows[i].i32);
        Push(group.columns[4], rows[i].f64);
        Push(group.columns[5], rows[i].f64);
        Push(group.columns[6], rows[i].text);
      }
      groups.push_back(std::move(group));
    }
    return groups;
  }
  void Write(const std::string& path, const std::vector<Row>& rows, size_t per_group) {
    auto writer = Must(ParquetWriter::Create(path, kTable, strings_));
    for (const RowGroupRows& group : Groups(rows, per_group)) Must(writer->Append(writer->Encode(group)));
    std::vector<int64_t> late;
    for (const Row& row : rows) late.push_back(row.late);
    Must(writer->WriteLate(kLate, late));
    Must(writer->Finish());
    EXPECT_EQ(writer->rows(), static_cast<int64_t>(rows.size()));
  }
  Json Query(const std::string& sql) {
    SqlSessionOptions options;
    options.threads = 2;
    auto session = Must(SqlSession::Open({{"r", dir_.path(), {}}}, options));
    SqlLimits limits;
    limits.max_rows = -1;
    return Must(session->QueryTable(sql, limits)).rows;
  }
  // Writes, reads back, compares every cell.
  void ExpectRoundTrip(const std::vector<Row>& rows, size_t per_group) {
    Write(dir_.path() + "/every.parquet", rows, per_group);
    const Json read = Query(
        "SELECT id, CAST(i64_delta AS VARCHAR), CAST(i64_dict AS VARCHAR), i32_delta, i32_dict, "
        "CAST(f64_dict AS VARCHAR), "
        "CAST(f64_plain AS VARCHAR), text, CAST(late AS VARCHAR), late_too FROM every ORDER BY id");
    ASSERT_EQ(read.size(), rows.size());
    const auto text_of = [](int64_t v) { return IsNull(v) ? Json() : Json(std::to_string(v)); };
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      const Json& cells = read[i];
      ASSERT_EQ(cells[0], static_cast<int64_t>(i));
      ASSERT_EQ(cells[1], text_of(row.i64)) << "row " << i;
      ASSERT_EQ(cells[2], text_of(row.i64)) << "row " << i;
      ASSERT_EQ(cells[3], IsNull(row.i32) ? Json() : Json(row.i32)) << "row " << i;
      ASSERT_EQ(cells[4], cells[3]) << "row " << i;
      ASSERT_EQ(cells[5], cells[6]) << "row " << i;
      ASSERT_EQ(cells[5].is_null(), IsNull(row.f64)) << "row " << i;
      if (!IsNull(row.f64)) {
        ASSERT_EQ(std::strtod(cells[5].get<std::string>().c_str(), nullptr), row.f64) << "row " << i;
      }
      ASSERT_EQ(cells[7], IsNull(row.text) ? Json() : Json(std::string(strings_.Text(row.text))))
          << "row " << i;
      ASSERT_EQ(cells[8], text_of(row.late)) << "row " << i;
      ASSERT_TRUE(cells[9].is_null());
    }
  }
  Row Full(int64_t n) {
    return {n * 1'000'003, static_cast<int32_t>(n * 7), static_cast<double>(n) / 3,
            strings_.Add("text " + std::to_string(n)), n};
  }

  TempDir dir_ = Must(TempDir::Make("nl-parquet-"));
  StringPool strings_;
};

TEST_F(ParquetTest, NoRowsIsAReadableFile) {
  Write(dir_.path() + "/every.parquet", {}, 10);
  EXPECT_EQ(Query("SELECT count(*) FROM every"), Json::parse("[[0]]"));
}

TEST_F(ParquetTest, OneRow) { ExpectRoundTrip({Full(5)}, 10); }
TEST_F(ParquetTest, OneNullRow) { ExpectRoundTrip({Row{}}, 10); }

TEST_F(ParquetTest, AllNull) { ExpectRoundTrip(std::vector<Row>(1000), 300); }

TEST_F(ParquetTest, Extremes) {
  std::vector<Row> rows;
  const int64_t wide[] = {INT64_MIN + 1, INT64_MAX, 0, -1, INT64_MAX, INT64_MIN + 1, 1, INT64_MAX - 1};
  const int32_t narrow[] = {INT32_MIN + 1, INT32_MAX, 0, -1, INT32_MAX, INT32_MIN + 1, 1, 2};
  const double real[] = {1e308, -1e308, 5e-324, 0.0, 1.5, 0.1, -0.25, 3e-300};
  for (size_t i = 0; i < 8; ++i)
    rows.push_back({wide[i], narrow[i], real[i], strings_.Add(std::string(i, 'x')), wide[7 - i]});
  ExpectRoundTrip(rows, 10);
  ExpectRoundTrip(rows, 3);
  EXPECT_EQ(Query("SELECT CAST(min(i64_delta) AS VARCHAR), CAST(max(i64_delta) AS VARCHAR) FROM every WHERE "
                  "i64_delta <> 0"),
            Json::parse(R"([["-9223372036854775807", "9223372036854775807"]])"));
}

TEST_F(ParquetTest, RowsOfEveryCountAroundTheBlockSizes) {
  for (const size_t count : {2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 130, 255, 256, 257, 1025}) {
    std::vector<Row> rows;
    for (size_t i = 0; i < count; ++i)
      rows.push_back(i % 3 == 1 ? Row{} : Full(static_cast<int64_t>(i % 50)));
    SCOPED_TRACE(count);
    ASSERT_NO_FATAL_FAILURE(ExpectRoundTrip(rows, 1 << 17));
  }
}

TEST_F(ParquetTest, ConstantColumnsOverManyRowGroups) {
  ExpectRoundTrip(std::vector<Row>(1000, Full(9)), 64);
}

TEST_F(ParquetTest, RandomRowsWithNulls) {
  std::mt19937_64 random(17);
  for (const size_t per_group : {size_t{100}, size_t{5000}}) {
    std::vector<Row> rows;
    for (int i = 0; i < 3000; ++i) {
      Row row;
      if (random() % 5 != 0) row.i64 = static_cast<int64_t>(random() >> (random() % 64));
      if (random() % 5 != 0) row.i32 = static_cast<int32_t>(random() % 100000) - 50000;
      if (random() % 5 != 0) row.f64 = static_cast<double>(static_cast<int64_t>(random() % 1000)) / 8;
      if (random() % 5 != 0) row.text = strings_.Add("t" + std::to_string(random() % 700));
      if (random() % 2 != 0) row.late = static_cast<int64_t>(random() % 100);
      if (IsNull(row.i64)) row.i64 = NullOf<int64_t>::value;
      rows.push_back(row);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRoundTrip(rows, per_group));
  }
}

// More distinct values than a dictionary takes, and codes of one, two and four bytes.
TEST_F(ParquetTest, ManyDistinctValues) {
  for (const int64_t distinct : {255, 256, 257, 65535, 65536, 65537, 70000}) {
    std::vector<Row> rows;
    for (int64_t i = 0; i < distinct + 5; ++i) {
      Row row = Full(i % distinct);
      row.i64 = row.i32;
      rows.push_back(row);
    }
    Write(dir_.path() + "/every.parquet", rows, 1 << 17);
    EXPECT_EQ(
        Query("SELECT count(DISTINCT text), count(DISTINCT i64_dict), count(DISTINCT f64_dict), count(*), "
              "count(*) FILTER (WHERE text <> 'text ' || (i64_dict // 7) OR i64_dict <> i64_delta OR "
              "i32_dict <> i32_delta OR "
              "f64_dict <> f64_plain) FROM every"),
        Json::array({Json::array({distinct, distinct, distinct, distinct + 5, 0})}))
        << distinct;
  }
}

TEST_F(ParquetTest, LongAndHostileTexts) {
  std::vector<Row> rows(5);
  rows[0].text = strings_.Add(std::string(1 << 20, 'n'));
  rows[1].text = strings_.Add("quote \" back \\ tab \t newline \n");
  rows[2].text = strings_.Add("\xef\xbf\xbd \xf0\x9f\x98\x80");
  rows[3].text = strings_.Add("");
  ExpectRoundTrip(rows, 2);
}

TEST_F(ParquetTest, FiltersOnStatisticsFindTheRows) {
  std::vector<Row> rows;
  for (int64_t i = 0; i < 1000; ++i) rows.push_back(Full(i));
  Write(dir_.path() + "/every.parquet", rows, 100);
  EXPECT_EQ(Query("SELECT count(*) FROM every WHERE i64_delta = 500 * 1000003"), Json::parse("[[1]]"));
  EXPECT_EQ(Query("SELECT count(*) FROM every WHERE id BETWEEN 250 AND 349 AND i32_dict >= 7 * 300"),
            Json::parse("[[50]]"));
  EXPECT_EQ(Query("SELECT count(*) FROM every WHERE late IS NULL OR late_too IS NOT NULL"),
            Json::parse("[[0]]"));
}

TEST_F(ParquetTest, SameBytesWhateverTheOrderInWhichParallelThreadsFinish) {
  std::vector<Row> rows;
  for (int64_t i = 0; i < 5000; ++i) rows.push_back(i % 11 == 0 ? Row{} : Full(i % 1234));
  Write(dir_.path() + "/every.parquet", rows, 250);
  const std::string expected = Must(ReadWholeFile(dir_.path() + "/every.parquet"));
  std::vector<int64_t> late;
  for (const Row& row : rows) late.push_back(row.late);
  for (unsigned seed = 0; seed < 3; ++seed) {
    std::vector<RowGroupRows> groups = Groups(rows, 250);
    std::shuffle(groups.begin(), groups.end(), std::mt19937(seed));
    const std::string path = dir_.path() + "/other.parquet";
    auto writer = Must(ParquetWriter::Create(path, kTable, strings_));
    std::atomic<size_t> next{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (size_t i = next++; i < groups.size(); i = next++) {
          const Status status = writer->Append(writer->Encode(groups[i]));
          EXPECT_TRUE(status.ok());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    Must(writer->WriteLate(kLate, late));
    Must(writer->Finish());
    EXPECT_TRUE(Must(ReadWholeFile(path)) == expected) << "order " << seed;
  }
}

TEST_F(ParquetTest, AFolderThatDoesNotExistIsAnIoError) {
  const auto writer = ParquetWriter::Create(dir_.path() + "/absent/every.parquet", kTable, strings_);
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace nl
