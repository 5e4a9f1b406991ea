// SPDX-License-Identifier: Apache-2.0
#include "capture/control.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nl::capture {
namespace {

class ControlTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "nlctl_test_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ASSERT_TRUE(page_.Create(folder_.c_str()));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
  ControlPage page_;
};

TEST_F(ControlTest, AnotherProcessSeesTheCommandAndReportsBack) {
  const pid_t child = fork();
  if (child == 0) {
    ControlPage page;
    if (!page.Open(folder_.c_str())) _exit(2);
    ProcessSlot* slot = page.TakeSlot(static_cast<uint32_t>(getpid()));
    if (slot == nullptr) _exit(3);
    slot->state.store(SlotState::kRecording);
    uint32_t epoch = 1;
    for (int i = 0; i < 600 && page->recording.load() == 1; ++i) epoch = page.Wait(epoch, 100);
    slot->kernels.store(42);
    slot->epoch_seen.store(epoch);
    slot->state.store(SlotState::kPaused);
    _exit(0);
  }
  while (page_->process[0].state.load() != SlotState::kRecording) std::this_thread::yield();
  const uint32_t epoch = page_.Request(false);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(page_->process[0].pid.load(), static_cast<uint32_t>(child));
  EXPECT_EQ(page_->process[0].kernels.load(), 42u);
  EXPECT_EQ(page_->process[0].epoch_seen.load(), epoch);
}

TEST_F(ControlTest, SlotsThatRunOutAreCounted) {
  for (uint32_t i = 0; i < kProcessSlots; ++i) ASSERT_NE(page_.TakeSlot(i + 1), nullptr);
  EXPECT_EQ(page_.TakeSlot(999), nullptr);
  EXPECT_EQ(page_->slots_refused.load(), 1u);
}

TEST_F(ControlTest, APageThatIsNotOneIsRefused) {
  std::filesystem::resize_file(folder_ + "/control", 100);
  ControlPage page;
  EXPECT_FALSE(page.Open(folder_.c_str()));
  EXPECT_EQ(errno, EPROTO);
  EXPECT_FALSE(page.Open("/nonexistent"));
  std::filesystem::resize_file(folder_ + "/control", sizeof(ControlBlock));
}

TEST(ParseWanted, TakesListsAndChanges) {
  uint64_t wanted = 0;
  EXPECT_TRUE(ParseWanted("kernels,api", wanted));
  EXPECT_EQ(wanted, kWantKernels | kWantApi);
  EXPECT_TRUE(ParseWanted("-counters,all-api", wanted));
  EXPECT_EQ(wanted, (kWantDefault & ~kWantCounters) | kWantAllApi);
  EXPECT_TRUE(ParseWanted("", wanted));
  EXPECT_EQ(wanted, 0u);
  EXPECT_FALSE(ParseWanted("kernels,everything", wanted));
}

}  // namespace
}  // namespace nl::capture
