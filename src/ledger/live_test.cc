// SPDX-License-Identifier: Apache-2.0
#include "ledger/live.h"

#include <gtest/gtest.h>

#include "base/uuid.h"

namespace nl {
namespace {

class LiveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::Make("neurolens-live-");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    store_ = folder_->path() + "/store";
  }

  std::unique_ptr<LiveAnnouncement> Announce() {
    LiveRecording recording;
    recording.directory = "/captures/x.nlcap";
    recording.command = {"python3", "a b.py"};
    auto made = LiveAnnouncement::Make(store_, recording);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().ToString());
    return made.ok() ? *std::move(made) : nullptr;
  }

  LiveSnapshot Finished(const std::string& live_id) {
    LiveSnapshot out;
    auto path = BeginSnapshot(store_, live_id);
    EXPECT_TRUE(path.ok());
    out.path = *path;
    out.run_id = NewUuidV7();
    EXPECT_TRUE(FinishSnapshot(store_, live_id, out).ok());
    return out;
  }

  std::optional<TempDir> folder_;
  std::string store_;
};

TEST_F(LiveTest, ARecordingIsListedWhileItsAnnouncementLives) {
  EXPECT_TRUE(ListLive(store_).empty());
  auto announced = Announce();
  ASSERT_EQ(ListLive(store_).size(), 1u);
  const LiveRecording listed = ListLive(store_)[0];
  EXPECT_EQ(listed.directory, "/captures/x.nlcap");
  EXPECT_EQ(listed.command, (std::vector<std::string>{"python3", "a b.py"}));
  EXPECT_EQ(listed.state, LiveState::kRecording);
  ASSERT_TRUE(announced->Importing("/captures/moved").ok());
  EXPECT_EQ(ListLive(store_)[0].state, LiveState::kImporting);
  EXPECT_EQ(ListLive(store_)[0].directory, "/captures/moved");
  EXPECT_TRUE(LiveLeftovers(store_).empty());
  announced.reset();
  EXPECT_TRUE(ListLive(store_).empty());
  EXPECT_TRUE(LiveLeftovers(store_).empty());
}

TEST_F(LiveTest, SnapshotsInUseStayAndOthersGo) {
  auto announced = Announce();
  const std::string id = ListLive(store_)[0].live_id;
  {
    auto making = LockSnapshots(store_, id, nullptr);
    ASSERT_TRUE(making.ok());
    LiveSnapshot first = Finished(id);
    const std::string unused = Finished(id).path;
    Finished(id);
    const std::string newest = Finished(id).run_id;
    EXPECT_TRUE(PathExists(first.path)) << "it was in use";
    EXPECT_FALSE(PathExists(unused));
    EXPECT_EQ(NewestSnapshot(store_, id)->run_id, newest);
    EXPECT_EQ(SnapshotOfRun(store_, first.run_id)->path, first.path);
    first.in_use.reset();
    Finished(id);
    EXPECT_FALSE(PathExists(first.path));
  }
  const std::optional<LiveSnapshot> held = NewestSnapshot(store_, id);
  announced.reset();
  EXPECT_TRUE(ListLive(store_).empty());
  EXPECT_TRUE(PathExists(held->path)) << "a reader has it";
  EXPECT_EQ(LiveLeftovers(store_).size(), 1u);
}

TEST_F(LiveTest, AnUnfinishedSnapshotIsNotReadAndGoesWithTheNext) {
  auto announced = Announce();
  const std::string id = ListLive(store_)[0].live_id;
  auto making = LockSnapshots(store_, id, nullptr);
  const auto unfinished = BeginSnapshot(store_, id);
  ASSERT_TRUE(unfinished.ok());
  EXPECT_FALSE(NewestSnapshot(store_, id).has_value());
  const auto next = BeginSnapshot(store_, id);
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(PathExists(*unfinished));
}

TEST_F(LiveTest, OnlyOneMakesASnapshot) {
  auto announced = Announce();
  const std::string id = ListLive(store_)[0].live_id;
  auto making = LockSnapshots(store_, id, nullptr);
  ASSERT_TRUE(making.ok());
  const std::atomic<bool> cancelled{true};
  const auto second = LockSnapshots(store_, id, &cancelled);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace nl
