// SPDX-License-Identifier: Apache-2.0
#include "ledger/attachments.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "ledger/sql_session.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::Must;
using testing_runs::WriteParquet;

class AttachmentsTest : public ::testing::Test {
 protected:
  AttachmentsTest() : folder_(Must(TempDir::Make("nl-attach-"))) {
    store_ = Must(Store::Open(folder_.path() + "/store", Store::Mode::kReadWrite));
    run_folder_ = store_->RunPath("run-1");
    Must(MakeDirectories(run_folder_));
    WriteParquet(run_folder_ + "/kernel_counter.parquet",
                 "SELECT range AS id, range * 10 AS kernel_id FROM range(3)");
  }
  AttachOutcome Attach(const std::string& content, int rows) {
    StagedRun staged = Must(store_->Stage());
    WriteParquet(staged.path() + "/kernel_counter.parquet",
                 fmt::format("SELECT range AS id, range + 100 AS kernel_id FROM range({})", rows));
    return Must(AttachTables(*store_, "run-1", std::move(staged), Json{{"content_sha256", content}}));
  }

  TempDir folder_;
  std::unique_ptr<Store> store_;
  std::string run_folder_;
};

TEST_F(AttachmentsTest, RowsStandBehindTheRunsOwn) {
  EXPECT_TRUE(AttachmentFolders(run_folder_).empty());
  const AttachOutcome first = Attach("a", 2);
  const AttachOutcome second = Attach("b", 1);
  EXPECT_FALSE(first.duplicate);
  EXPECT_EQ(AttachmentFolders(run_folder_),
            (std::vector<std::string>{run_folder_ + "/files/attached/" + first.attachment_id,
                                      run_folder_ + "/files/attached/" + second.attachment_id}));
  auto session = Must(SqlSession::Open({{"r", run_folder_, {}}}, {}));
  const SqlTable table = Must(session->QueryTable("SELECT id, kernel_id FROM kernel_counter", {}));
  EXPECT_EQ(table.rows, Json::parse("[[0, 0], [1, 10], [2, 20], [3, 100], [4, 101], [5, 100]]"));
  EXPECT_EQ(AttachmentDefect(run_folder_), "");
}

TEST_F(AttachmentsTest, TheSameContentIsAttachedOnce) {
  const AttachOutcome first = Attach("a", 2);
  const AttachOutcome again = Attach("a", 2);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.attachment_id, first.attachment_id);
  EXPECT_EQ(AttachmentFolders(run_folder_).size(), 1u);
  EXPECT_TRUE(std::filesystem::is_empty(StagingPath(store_->path())));
}

TEST_F(AttachmentsTest, AnotherRunWithAnAttachmentKeepsItsOwnNumbers) {
  Attach("a", 2);
  auto session = Must(SqlSession::Open({{"r", run_folder_, {}}, {"s", run_folder_, {}}}, {}));
  const SqlTable table = Must(
      session->QueryTable("SELECT run, max(id), count(*) FROM kernel_counter GROUP BY run ORDER BY run", {}));
  EXPECT_EQ(table.rows, Json::parse(R"([["r", 4, 5], ["s", 4, 5]])"));
}

TEST_F(AttachmentsTest, HundredsOfRunsWithAttachmentsKeepEveryRow) {
  Attach("a", 2);
  Attach("b", 1);
  std::vector<RunSource> runs;
  for (int i = 0; i < 100; ++i) runs.push_back({"r" + std::to_string(i), run_folder_, {}});
  auto session = Must(SqlSession::Open(runs, {}));
  const SqlTable table = Must(session->QueryTable(
      "SELECT count(*), count(DISTINCT run), sum(id) FROM kernel_counter WHERE kernel_id >= 0", {}));
  EXPECT_EQ(table.rows, Json::parse("[[600, 100, 1500]]"));
}

TEST_F(AttachmentsTest, DamageIsNamed) {
  const AttachOutcome made = Attach("a", 2);
  const std::string folder = run_folder_ + "/files/attached/" + made.attachment_id;
  Must(WriteFileAtomically(folder + "/kernel_counter.parquet", "PAR1"));
  EXPECT_NE(AttachmentDefect(run_folder_).find("kernel_counter.parquet is too short"), std::string::npos);
  std::filesystem::remove(folder + "/attachment.json");
  EXPECT_NE(AttachmentDefect(run_folder_).find("attachment.json"), std::string::npos);
}

TEST_F(AttachmentsTest, ARunThatIsGoneCannotTakeOne) {
  StagedRun staged = Must(store_->Stage());
  const std::string path = staged.path();
  EXPECT_FALSE(store_->Place(std::move(staged), store_->RunPath("no-such-run") + "/files/attached/x").ok());
  EXPECT_FALSE(PathExists(path)) << "what could not be placed is removed";
}

}  // namespace
}  // namespace nl
