// SPDX-License-Identifier: Apache-2.0
#include "ops/export_run/target_file.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace nl::ops::export_run {
namespace {

class TargetTest : public ::testing::Test {
 protected:
  std::string At(const std::string& name) const { return dir_->path() + "/" + name; }
  std::string Text(const std::string& name) const { return *ReadWholeFile(At(name)); }
  size_t Entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(dir_->path()), {}));
  }
  Result<TempDir> dir_ = TempDir::Make("nl-target-");
};

TEST_F(TargetTest, AFileAppearsWholeOrNotAtAll) {
  {
    Result<TargetFile> file = TargetFile::Create(At("a"), false);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Append("half").ok());
    EXPECT_FALSE(PathExists(At("a")));
  }
  EXPECT_EQ(Entries(), 0u);
  Result<TargetFile> file = TargetFile::Create(At("a"), false);
  ASSERT_TRUE(file.ok() && file->Append("whole").ok() && file->Commit().ok());
  EXPECT_EQ(Text("a"), "whole");
}

TEST_F(TargetTest, AFileThatCameMeanwhileIsNotReplaced) {
  Result<TargetFile> file = TargetFile::Create(At("a"), false);
  ASSERT_TRUE(file.ok() && file->Append("mine").ok());
  ASSERT_TRUE(WriteFileAtomically(At("a"), "theirs").ok());
  const Status status = file->Commit();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(Text("a"), "theirs");
}

TEST_F(TargetTest, ReplacingFollowsALinkAndRefusesFolders) {
  ASSERT_TRUE(WriteFileAtomically(At("real"), "old").ok());
  std::filesystem::create_symlink("real", At("link"));
  Result<TargetFile> file = TargetFile::Create(At("link"), true);
  ASSERT_TRUE(file.ok() && file->Append("new").ok() && file->Commit().ok());
  EXPECT_EQ(Text("real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(At("link")));
  ASSERT_TRUE(MakeDirectories(At("folder")).ok());
  EXPECT_FALSE(TargetFile::Create(At("folder"), true).ok());
  EXPECT_FALSE(TargetFile::Create(At("absent/a"), true).ok());
}

TEST_F(TargetTest, AFolderAppearsWholeOrNotAtAll) {
  { ASSERT_TRUE(TargetFolder::Create(At("f"), false).ok()); }
  EXPECT_EQ(Entries(), 0u);
  Result<TargetFolder> folder = TargetFolder::Create(At("f/"), false);
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(WriteFileAtomically(folder->path() + "/kernel.parquet", "k").ok());
  EXPECT_FALSE(PathExists(At("f")));
  ASSERT_TRUE(folder->Commit().ok());
  EXPECT_EQ(Text("f/kernel.parquet"), "k");
  EXPECT_FALSE(TargetFolder::Create(At("f"), false).ok());
  EXPECT_FALSE(TargetFolder::Create(At("f/kernel.parquet"), true).ok());
}

}  // namespace
}  // namespace nl::ops::export_run
