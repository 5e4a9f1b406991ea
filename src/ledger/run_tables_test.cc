// SPDX-License-Identifier: Apache-2.0
#include "ledger/run_tables.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/file_ops.h"
#include "ledger/sql_session.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::Must;

class RunTablesTest : public ::testing::Test {
 protected:
  static void Fill(EventBatch& batch, StringPool& strings, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      KernelRow kernel;
      kernel.thread_id = static_cast<ThreadId>(i % 3);
      kernel.start_ns = i * 10;
      kernel.dur_ns = i % 7;
      kernel.name = strings.Add("kernel " + std::to_string(i % 5));
      batch.kernel.Add(kernel);
      OpRow op;
      op.thread_id = static_cast<ThreadId>(0);
      op.start_ns = i;
      op.name = strings.Add("op");
      if (i % 2 == 0) batch.op.Add(op);
    }
  }
  static void Encode(RunTables& tables) {
    for (;;) {
      if (!Must(tables.EncodeOne())) return;
    }
  }
  Json Query(const std::string& folder, const std::string& sql) {
    auto session = Must(SqlSession::Open({{"r", folder, {}}}, {}));
    return Must(session->QueryTable(sql, {})).rows;
  }
  std::string Folder(const std::string& name) {
    const std::string path = dir_.path() + "/" + name;
    Must(MakeDirectories(path));
    return path;
  }

  TempDir dir_ = Must(TempDir::Make("nl-tables-"));
};

TEST_F(RunTablesTest, EveryRowIsThereWhateverTheBatchAndGroupSizes) {
  for (const size_t per_group : {size_t{1}, size_t{7}, size_t{100}, size_t{1} << 17}) {
    for (const int64_t per_batch : {int64_t{1}, int64_t{13}, int64_t{300}}) {
      const std::string folder = Folder(fmt::format("g{}b{}", per_group, per_batch));
      RunTables tables(folder, per_group);
      EventBatch batch;
      for (int64_t first = 0; first < 300; first += per_batch) {
        Fill(batch, tables.strings(), first, std::min<int64_t>(per_batch, 300 - first));
        tables.Append(batch);
        batch.Clear();
        EXPECT_EQ(tables.rows(Table::kKernel), std::min<int64_t>(first + per_batch, 300));
      }
      Must(tables.Flush());
      Encode(tables);
      std::vector<int64_t> links(300, NullOf<int64_t>::value);
      links[17] = 5;
      Must(tables.SetLate(Table::kKernel, "op_id", links));
      Must(tables.Finish());
      EXPECT_EQ(Query(folder,
                      "SELECT count(*), count(DISTINCT id), sum(start_ns), sum(dur_ns), count(op_id), "
                      "sum(op_id * 1000 + id) FROM kernel"),
                Json::parse("[[300, 300, 448500, 897, 1, 5017]]"))
          << folder;
      EXPECT_EQ(Query(folder, "SELECT count(*) FROM op"), Json::parse("[[150]]"));
    }
  }
}

TEST_F(RunTablesTest, OnlyTablesWithRowsHaveFiles) {
  const std::string folder = Folder("few");
  RunTables tables(folder);
  EventBatch batch;
  Fill(batch, tables.strings(), 0, 4);
  tables.Append(batch);
  Must(tables.Flush());
  Encode(tables);
  Must(tables.SetLate(Table::kMemcpy, "op_id", {}));
  Must(tables.Finish());
  EXPECT_EQ(TablesIn(folder), (std::vector<std::string>{"kernel", "op"}));
}

TEST_F(RunTablesTest, ParallelEncodersWriteTheSameBytes) {
  std::vector<std::string> contents;
  for (const int threads : {1, 3}) {
    const std::string folder = Folder("t" + std::to_string(threads));
    RunTables tables(folder, 50);
    EventBatch batch;
    std::atomic<bool> done{false};
    std::vector<std::thread> encoders;
    for (int t = 1; t < threads; ++t) {
      encoders.emplace_back([&] {
        while (!done) {
          if (!Must(tables.EncodeOne())) std::this_thread::yield();
        }
      });
    }
    for (int64_t first = 0; first < 2000; first += 10) {
      Fill(batch, tables.strings(), first, 10);
      tables.Append(batch);
      batch.Clear();
    }
    Must(tables.Flush());
    Encode(tables);
    done = true;
    for (std::thread& encoder : encoders) encoder.join();
    Must(tables.Finish());
    contents.push_back(Must(ReadWholeFile(folder + "/kernel.parquet")) +
                       Must(ReadWholeFile(folder + "/op.parquet")));
  }
  EXPECT_TRUE(contents[0] == contents[1]);
}

TEST_F(RunTablesTest, AFolderThatVanishedIsAnIoError) {
  RunTables tables(dir_.path() + "/absent");
  EventBatch batch;
  Fill(batch, tables.strings(), 0, 1);
  tables.Append(batch);
  Must(tables.Flush());
  const Result<bool> encoded = tables.EncodeOne();
  ASSERT_FALSE(encoded.ok());
  EXPECT_EQ(encoded.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace nl
