// SPDX-License-Identifier: Apache-2.0
#include "base/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/mailbox.h"

namespace nl {
namespace {

class JournalTest : public testing::Test {
 protected:
  JournalTest() : scratch_(*TempDir::Make("journal-test-")) {}
  std::string folder() const { return scratch_.path() + "/j"; }
  void AppendBytes(std::string_view bytes) const {
    std::ofstream(folder() + "/journal", std::ios::app | std::ios::binary) << bytes;
  }

 private:
  TempDir scratch_;
};

TEST_F(JournalTest, ACutEndIsDroppedHoweverLongItIs) {
  {
    auto open = Journal::Open(folder());
    ASSERT_TRUE(open.ok());
    ASSERT_TRUE((*open)->Append({{"a", 1}}).ok());
  }
  for (const size_t bytes : {size_t{1}, size_t{64} << 10, (size_t{64} << 10) - 1, size_t{300} << 10}) {
    AppendBytes(std::string(bytes, 'x'));
    EXPECT_TRUE(Journal::Read(folder())->cut_end);
    auto again = Journal::Open(folder());
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(Journal::Read(folder())->cut_end);
    EXPECT_EQ(Journal::Read(folder())->records.size(), 1u) << bytes;
  }
}

TEST_F(JournalTest, AFileWithoutAnyLineBecomesEmpty) {
  std::filesystem::create_directories(folder());
  AppendBytes(std::string(200 << 10, 'x'));
  auto open = Journal::Open(folder());
  ASSERT_TRUE(open.ok());
  EXPECT_EQ((*open)->bytes(), 0);
}

TEST_F(JournalTest, SeveralRecordsAreKeptInTheirOrder) {
  auto open = Journal::Open(folder());
  ASSERT_TRUE(open.ok());
  ASSERT_TRUE((*open)->AppendAll(std::vector<Json>{{{"a", 1}}, {{"a", 2}}}).ok());
  ASSERT_TRUE((*open)->Append({{"a", 3}}).ok());
  EXPECT_EQ(DumpJson(Json(Journal::Read(folder())->records)), R"([{"a":1},{"a":2},{"a":3}])");
}

TEST_F(JournalTest, AProcessMayWaitUntilTheJournalIsFree) {
  auto first = Journal::Open(folder());
  ASSERT_TRUE(first.ok());
  const auto refused = Journal::Open(folder(), std::chrono::milliseconds(5));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  std::thread closes([&] { first->reset(); });
  EXPECT_TRUE(Journal::Open(folder(), std::chrono::minutes(5)).ok());
  closes.join();
}

TEST_F(JournalTest, MessagesComeInOrderAndRubbishIsRemoved) {
  const std::string box = folder() + "/box";
  EXPECT_TRUE(PendingMessages(box).empty());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(LeaveMessage(box, {{"n", i}}).ok());
  std::ofstream(box + "/0.json") << "{\"n\":";
  std::ofstream(box + "/1.json") << "[]";
  const std::vector<Message> found = PendingMessages(box);
  ASSERT_EQ(found.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(found[static_cast<size_t>(i)].content["n"], i);
  EXPECT_FALSE(std::filesystem::exists(box + "/0.json"));
  EXPECT_FALSE(std::filesystem::exists(box + "/1.json"));
}

}  // namespace
}  // namespace nl
