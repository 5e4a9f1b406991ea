// SPDX-License-Identifier: Apache-2.0
// What a store or a bundle may hold although no importer writes it.
#include "ledger/snapshot.h"

#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "ledger/run_tables.h"
#include "ledger/sql_session.h"
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
    snapshot_ = Must(Snapshot::Open({"r", dir_.path(), {}}));
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

TEST_F(SnapshotTest, PartsOverRowGroupsAndThreadsAreTheWhole) {
  constexpr int64_t kRows = 70'000;
  RunTables tables(dir_.path(), 1 << 10);
  EventBatch batch;
  for (int64_t i = 0; i < kRows; ++i) {
    KernelRow kernel;
    kernel.thread_id = static_cast<ThreadId>(0);
    kernel.start_ns = 3 * i;
    kernel.dur_ns = i % 7;
    if (i % 5 != 0) kernel.grid_x = static_cast<int32_t>(i % 100);
    if (i % 3 != 0) kernel.name = tables.strings().Add(i % 2 == 0 ? "even" : "odd");
    batch.kernel.Add(kernel);
  }
  batch.thread.Add({});
  tables.Append(batch);
  Must(tables.Flush());
  while (Must(tables.EncodeOne())) {
  }
  Must(tables.Finish());
  for (const int64_t threads : {1, 4}) {
    SnapshotOptions options;
    options.threads = threads;
    auto snapshot = Must(Snapshot::Open({"r", dir_.path(), {}}, options));
    KernelColumns whole, part;
    Must(snapshot->Load(whole, {"start_ns", "grid_x", "name"}));
    ASSERT_EQ(whole.start_ns.size(), static_cast<size_t>(kRows));
    EXPECT_TRUE(whole.dur_ns.empty()) << "was not asked for";
    for (int64_t i = 0; i < kRows; ++i) {
      const auto at = static_cast<size_t>(i);
      ASSERT_EQ(whole.start_ns[at], 3 * i);
      ASSERT_EQ(whole.grid_x[at], i % 5 != 0 ? static_cast<int32_t>(i % 100) : NullOf<int32_t>::value) << i;
      ASSERT_EQ(whole.name[at] == StringId::kNull, i % 3 == 0) << i;
      if (i % 3 != 0) ASSERT_EQ(snapshot->strings().Text(whole.name[at]), i % 2 == 0 ? "even" : "odd") << i;
    }
    for (const int64_t first : {int64_t{0}, int64_t{1000}, int64_t{1024}, kRows - 3, kRows}) {
      KernelColumns some;
      Must(snapshot->LoadPart(some, first, 2000));
      ASSERT_EQ(some.size(), static_cast<size_t>(std::min<int64_t>(2000, kRows - first))) << first;
      for (size_t i = 0; i < some.size(); ++i) {
        ASSERT_EQ(some.start_ns[i], whole.start_ns[static_cast<size_t>(first) + i]);
        ASSERT_EQ(some.name[i], whole.name[static_cast<size_t>(first) + i]);
      }
    }
  }
}

TEST_F(SnapshotTest, ACancelledLoadSaysSo) {
  Write(1);
  std::atomic<bool> cancelled{false};
  auto snapshot = Must(Snapshot::Open({"r", dir_.path(), {}}, {&cancelled}));
  cancelled = true;
  const Status status = snapshot->Load(kernels_, {"start_ns"});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace nl
