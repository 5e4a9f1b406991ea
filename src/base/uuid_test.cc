// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace nl {
namespace {

int64_t UnixMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

TEST(Uuid, TextHasVersionAndVariant) {
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewUuidV7();
    ASSERT_TRUE(IsUuidV7(id)) << id;
  }
}

TEST(Uuid, FirstFortyEightBitsAreTheTime) {
  const int64_t before = UnixMs();
  const std::string id = NewUuidV7();
  const int64_t after = UnixMs();
  const int64_t stamp = std::stoll(id.substr(0, 8) + id.substr(9, 4), nullptr, 16);
  EXPECT_GE(stamp, before);
  EXPECT_LE(stamp, after + 1);
}

TEST(Uuid, IdsOfOneThreadStrictlyIncrease) {
  std::string previous = NewUuidV7();
  for (int i = 0; i < 20000; ++i) {
    std::string next = NewUuidV7();
    ASSERT_LT(previous, next);
    previous = std::move(next);
  }
}

TEST(Uuid, IdsOfSeveralThreadsNeverRepeat) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5000;
  std::vector<std::vector<std::string>> made(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : made) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < kEach; ++i) mine.push_back(NewUuidV7());
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& mine : made) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), size_t{kThreads} * kEach);
}

TEST(Uuid, OtherTextIsNotAVersion7Uuid) {
  EXPECT_TRUE(IsUuidV7("019a8557-0000-7000-8000-000000000000"));
  EXPECT_FALSE(IsUuidV7("019a8557-0000-4000-8000-000000000000"));
  EXPECT_FALSE(IsUuidV7("019a8557-0000-7000-c000-000000000000"));
  EXPECT_FALSE(IsUuidV7("019A8557-0000-7000-8000-000000000000"));
  EXPECT_FALSE(IsUuidV7("019a8557-0000-7000-8000-00000000000"));
  EXPECT_FALSE(IsUuidV7("019a855700007000800000000000000000000"));
  EXPECT_FALSE(IsUuidV7(""));
}

}  // namespace
}  // namespace nl
