// SPDX-License-Identifier: Apache-2.0
// What a store or a bundle may hold although no importer writes it.
#include "ledger/snapshot.h"

#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "ledger/run_tables.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::Must;

class SnapshotTest : public ::testing::Test {
 protected:
  // Three kernels and two ops on one thread; row 1 of kernel gets this link and this start.
  void Write(int64_t op_id, int64_t start_ns = 10, const char* name = "gemm") {
    RunTables tables(dir_.path());
    EventBatch batch;
    for (int64_t i = 0; i < 3; ++i) {
      KernelRow kernel;
      kernel.thread_id = static_cast<ThreadId>(0);
      kernel.start_ns = i == 1 ? start_ns : 10;
      kernel.dur_ns = 5;
      kernel.name = tables.strings().Add(name);
      batch.kernel.Add(kernel);
    }
    for (int64_t i = 0; i < 2; ++i) {
      OpRow op;
      op.thread_id = static_cast<ThreadId>(0);
      op.start_ns = op.dur_ns = i;
      batch.op.Add(op);
    }
    batch.thread.Add({});
    tables.Append(batch);
    Must(tables.Flush());
    while (Must(tables.EncodeOne())) {
    }
    const int64_t links[] = {0, op_id, NullOf<int64_t>::value};
    Must(tables.SetLate(Table::kKernel, "op_id", links));
    Must(tables.Finish());
  }
  Status Load(ColumnSet& columns, const std::vector<const char*>& names) {
    SqlSessionOptions options;
    for (const TableInfo* table : kAllTables) {
      TableSchemaLite& known =
          options.known_tables.emplace_back(TableSchemaLite{table->name, {{"id", "BIGINT"}}});
      for (const ColumnInfo& column : table->columns)
        known.columns.emplace_back(column.name, SqlType(column.type));
    }
    snapshot_ =
        std::make_unique<Snapshot>(Must(SqlSession::Open({{"r", dir_.path(), {}}}, options)), nullptr);
    return snapshot_->Load(columns, names);
  }

  TempDir dir_ = Must(TempDir::Make("nl-snapshot-"));
  std::unique_ptr<Snapshot> snapshot_;
  KernelColumns kernels_;
};

TEST_F(SnapshotTest, LinksToRowsThatAreThereAndNullsAreLoaded) {
  Write(1);
  Must(Load(kernels_, {"op_id", "start_ns"}));
  EXPECT_EQ(kernels_.op_id, (std::vector<RowId>{RowId{0}, RowId{1}, RowId::kNull}));
}

TEST_F(SnapshotTest, ALinkBeyondItsTableIsAnError) {
  for (const int64_t bad : {int64_t{2}, int64_t{-1}, INT64_MAX}) {
    Write(bad);
    const Status status = Load(kernels_, {"op_id"});
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(status.error().message,
              "the table kernel of this run is damaged: op_id of row 1 names a row that op does not have (it "
              "has 2)");
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput);
  }
}

TEST_F(SnapshotTest, ALinkToATableThatIsGoneIsAnError) {
  Write(1);
  std::filesystem::remove(dir_.path() + "/op.parquet");
  EXPECT_FALSE(Load(kernels_, {"op_id"}).ok());
}

TEST_F(SnapshotTest, ATimeThatCannotBeAddedToIsAnError) {
  Write(1, INT64_MAX - 3);
  const Status status = Load(kernels_, {"start_ns"});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "the table kernel of this run is damaged: start_ns of row 1 is not a possible time");
}

TEST_F(SnapshotTest, AColumnOfAnotherTypeIsAnError) {
  Write(1);
  auto session = Must(SqlSession::Open({}, {}));
  const std::string path = dir_.path() + "/kernel.parquet";
  std::filesystem::remove(path);
  Must(session->QueryToParquet("SELECT 0::BIGINT AS id, 7::INTEGER AS start_ns, 'x' AS op_id", {}, path));
  const Status status = Load(kernels_, {"start_ns"});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "the table kernel of this run is damaged: the column start_ns is of type INTEGER");
  EXPECT_FALSE(Load(kernels_, {"op_id"}).ok());
}

TEST_F(SnapshotTest, TextThatIsNotUtf8IsReadBack) {
  Write(1, 10, "ge\xffmm");
  Must(Load(kernels_, {"name"}));
  EXPECT_EQ(snapshot_->strings().Text(kernels_.name[0]), "ge\xef\xbf\xbdmm");
}

}  // namespace
}  // namespace nl
