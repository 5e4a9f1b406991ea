// SPDX-License-Identifier: Apache-2.0
#include "serve/uploads/upload_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <thread>

namespace nl::uploads {
namespace {

class UploadStoreTest : public testing::Test {
 protected:
  // Sends `bytes` through a pipe; `complete` false leaves it open, as a client that is gone does.
  Result<UploadInfo> Send(const std::string& id, int64_t offset, const std::string& bytes,
                          bool complete = true) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd out(ends[0]);
    UniqueFd in(ends[1]);
    EXPECT_EQ(write(in.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    if (complete) in = UniqueFd();
    const std::atomic<bool> cancelled{!complete};
    return uploads_.Append(id, offset, out.get(), cancelled);
  }
  size_t Files() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(dir_->path() + "/uploads"))
      ++count;
    return count;
  }
  Result<TempDir> dir_ = TempDir::Make("nl_uploads_test");
  UploadStore uploads_{dir_->path()};
};

TEST_F(UploadStoreTest, PiecesBecomeAFileOfTheClientsName) {
  const std::string id = uploads_.Create("../dir/a.json", 6)->id;
  EXPECT_EQ(Send(id, 0, "abc", false).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(uploads_.Find(id)->offset, 3) << "what came before the client left stays";
  EXPECT_EQ(Send(id, 0, "abc").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(Send(id, 3, "defg").error().code, ErrorCode::kInvalidInput) << "more than announced";
  EXPECT_EQ(uploads_.Gather({id}).error().code, ErrorCode::kInvalidInput) << "not finished";
  EXPECT_EQ(Send(id, 3, "def")->offset, 6);
  {
    const Result<Spool> spool = uploads_.Gather({id});
    ASSERT_TRUE(spool.ok()) << spool.error().ToString();
    EXPECT_EQ(spool->files(), std::vector<std::string>{spool->path() + "/a.json"});
    EXPECT_EQ(*ReadWholeFile(spool->files()[0]), "abcdef");
    EXPECT_EQ(uploads_.Sweep(std::time(nullptr)), 0) << "it is in use";
  }
  EXPECT_TRUE(uploads_.Remove(id).ok());
  EXPECT_EQ(uploads_.Remove(id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Files(), 0u);
}

TEST_F(UploadStoreTest, AProcessThatIsStartedMeanwhileDoesNotKeepTheLock) {
  const std::string id = uploads_.Create("a.json", 6)->id;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd out(ends[0]);
  const UniqueFd in(ends[1]);
  std::atomic<bool> cancelled{false};
  Result<UploadInfo> first = IoError("not answered");
  std::thread adds([&] { first = uploads_.Append(id, 0, out.get(), cancelled); });
  EXPECT_EQ(write(in.get(), "a", 1), 1);
  while (uploads_.Find(id)->offset != 1) std::this_thread::yield();  // it has the lock
  // Between fork and exec a child has the descriptors of its parent.
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_EQ(write(in.get(), "bc", 2), 2);
  cancelled =
      true;  // the child has the other end of the pipe too, so it has no end: Append takes what is in it
  adds.join();
  EXPECT_EQ(uploads_.Find(id)->offset, 3);
  const Result<UploadInfo> second = Send(id, 3, "def");
  EXPECT_TRUE(second.ok()) << second.error().ToString();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(UploadStoreTest, NamesAreNeverPaths) {
  for (const char* bad : {"", "..", ".", "-", "a/..", "/"}) EXPECT_EQ(CleanName(bad), "upload") << bad;
  EXPECT_EQ(CleanName("C:\\x\\y.json"), "y.json");
  EXPECT_EQ(CleanName(std::string(300, 'x')), "upload");
  for (const char* id : {"..", "../catalog", "a", ""})
    EXPECT_EQ(uploads_.Find(id).error().code, ErrorCode::kNotFound) << id;
  Result<Spool> spool = uploads_.MakeSpool();
  EXPECT_TRUE(spool->AddFile("a").ok());
  EXPECT_EQ(spool->AddFile("x/a").error().code, ErrorCode::kInvalidInput);
}

TEST_F(UploadStoreTest, SweepRemovesWhatIsOldOrLeftOver) {
  const std::string id = uploads_.Create("a", 3)->id;
  ASSERT_TRUE(MakeDirectories(dir_->path() + "/uploads/import-dead/x").ok());
  const int64_t now_s = std::time(nullptr);
  EXPECT_EQ(uploads_.Sweep(now_s), 1);
  EXPECT_TRUE(uploads_.Find(id).ok());
  EXPECT_EQ(uploads_.Sweep(now_s - 1'000'000), 0) << "a clock that steps back removes nothing";
  EXPECT_GE(uploads_.Sweep(now_s + UploadStore::kKept_s + 60), 1);
  EXPECT_EQ(Files(), 0u);
}

TEST(WithoutFolder, HidesWhereTheServerKeepsFiles) {
  const Error error = WithoutFolder(InvalidInput("cannot read /s/x/a.json: no").At("/s/x/a.json", 3), "/s/x");
  EXPECT_EQ(error.message, "cannot read a.json: no");
  EXPECT_EQ(error.file, "a.json");
}

}  // namespace
}  // namespace nl::uploads
