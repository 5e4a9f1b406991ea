// SPDX-License-Identifier: Apache-2.0
// What the reader finds in the files of a run is what DuckDB finds there, column by column.
#include "ledger/parquet_reader.h"

#include <gtest/gtest.h>

#include "testing/import_fixture.h"
#include "testing/test_run.h"

namespace nl {
namespace {

// Values of a column of a run by the reader, in the form of `to`.
template <class T>
void Append(std::vector<T>& to, const std::vector<int64_t>& values) {
  for (const int64_t value : values) to.push_back(IsNull(value) ? NullOf<T>::value : static_cast<T>(value));
}

template <class T>
const std::vector<T>& As(ColumnSet& set, size_t column) {
  return *static_cast<const std::vector<T>*>(set.VectorOf(column));
}

void ExpectColumn(const ParquetReader& file, ColumnSet& loaded, size_t column, const StringPool& strings) {
  const ColumnInfo& info = loaded.info().columns[column];
  const int at = file.Column(info.name);
  ASSERT_GE(at, 0) << info.name;
  std::vector<int64_t> ints, part;
  std::vector<double> numbers, more;
  std::vector<std::string> texts, expected;
  for (size_t g = 0; g < file.groups(); ++g) {
    if (info.type == ColumnType::kString) {
      CodedTexts coded;
      ASSERT_TRUE(file.ReadTexts(g, at, coded).ok());
      for (const uint32_t code : coded.codes)
        texts.emplace_back(code == CodedTexts::kNull ? "(null)" : coded.distinct.at(code));
    } else if (info.type == ColumnType::kFloat64) {
      ASSERT_TRUE(file.ReadDoubles(g, at, more).ok());
      numbers.insert(numbers.end(), more.begin(), more.end());
    } else {
      ASSERT_TRUE(file.ReadInts(g, at, part).ok());
      ints.insert(ints.end(), part.begin(), part.end());
    }
  }
  if (info.type == ColumnType::kString) {
    for (const StringId id : As<StringId>(loaded, column))
      expected.emplace_back(id == StringId::kNull ? "(null)" : strings.Text(id));
    EXPECT_EQ(texts, expected);
  } else if (info.type == ColumnType::kFloat64) {
    const auto& values = As<double>(loaded, column);
    ASSERT_EQ(numbers.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_TRUE(numbers[i] == values[i] || (IsNull(numbers[i]) && IsNull(values[i]))) << i;
  } else if (info.type == ColumnType::kInt32) {
    std::vector<int32_t> narrow;
    Append(narrow, ints);
    EXPECT_EQ(narrow, As<int32_t>(loaded, column));
  } else {
    EXPECT_EQ(ints, As<int64_t>(loaded, column));
  }
}

void ExpectSameAsDuckDb(const char* sample) {
  const std::string path = std::string(NL_SOURCE_DIR) + "/data/h200/" + sample;
  const TestRun run(testing_import::ReadText(path), sample, 700);
  EventBatch batch;
  size_t columns = 0;
  for (ColumnSet* table : batch.Tables()) {
    const std::string file = run.run_folder() + "/" + table->info().name + ".parquet";
    if (!PathExists(file)) continue;
    SCOPED_TRACE(table->info().name);
    const Result<std::unique_ptr<ParquetReader>> reader = ParquetReader::Open(file);
    ASSERT_TRUE(reader.ok()) << reader.error().ToString();
    for (size_t c = 0; c < table->info().columns.size(); ++c) {
      SCOPED_TRACE(table->info().columns[c].name);
      ASSERT_TRUE(run.snapshot->Load(*table, {table->info().columns[c].name}).ok());
      ExpectColumn(**reader, *table, c, run.snapshot->strings());
      ++columns;
    }
  }
  EXPECT_GT(columns, 60u);
}

TEST(ParquetReader, ReadsWhatDuckDbReads) { ExpectSameAsDuckDb("resnet50_train_stack.json.gz"); }
TEST(ParquetReader, ReadsACaptureWithCounters) { ExpectSameAsDuckDb("compiled_training.nlc.gz"); }

// Whatever byte is damaged, the reader ends with an error or with values, never with a crash.
TEST(ParquetReader, SurvivesDamage) {
  const TestRun run(R"({"traceEvents":[
    {"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":5,"args":{"External id":3}},
    {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":2,"dur":1}]})");
  const std::string file = run.run_folder() + "/op.parquet", whole = testing_import::ReadText(file);
  ASSERT_GT(whole.size(), 100u);
  size_t failed = 0;
  const auto read = [&] {
    const Result<std::unique_ptr<ParquetReader>> reader = ParquetReader::Open(file);
    bool good = reader.ok();
    std::vector<int64_t> ints;
    CodedTexts texts;
    for (const ColumnInfo& column : OpColumns::kInfo.columns) {
      const int at = good ? (*reader)->Column(column.name) : -1;
      for (size_t g = 0; at >= 0 && g < (*reader)->groups(); ++g) {
        good &= column.type == ColumnType::kString ? (*reader)->ReadTexts(g, at, texts).ok()
                                                   : (*reader)->ReadInts(g, at, ints).ok();
      }
    }
    failed += good ? 0 : 1;
  };
  read();
  ASSERT_EQ(failed, 0u);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      testing_import::WriteText(file, damaged);
      read();
    }
    testing_import::WriteText(file, whole.substr(0, i));
    read();
  }
  EXPECT_GT(failed, whole.size());
}

}  // namespace
}  // namespace nl
