// SPDX-License-Identifier: Apache-2.0
#include "base/file_ops.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/sha256.h"

namespace nl {
namespace {

std::string TempPath(Result<TempDir>& dir) { return dir->path(); }

TEST(FileOps, AtomicWriteReplacesTheWholeContentAndLeavesNoTemporary) {
  auto dir = TempDir::Make("nl-file-");
  ASSERT_TRUE(dir.ok());
  const std::string path = TempPath(dir) + "/a";
  ASSERT_TRUE(WriteFileAtomically(path, "a much longer first text").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "second").ok());
  EXPECT_EQ(*ReadWholeFile(path), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(TempPath(dir)), {}), 1);
}

TEST(FileOps, FailedWriteKeepsTheOldContentAndSaysWhy) {
  auto dir = TempDir::Make("nl-file-");
  ASSERT_TRUE(dir.ok());
  const Status status = WriteFileAtomically(TempPath(dir) + "/no/such/folder/a", "x");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_NE(status.error().message.find("/no/such/folder"), std::string::npos);
  // A folder in the way: rename refuses, the temporary file goes.
  ASSERT_TRUE(MakeDirectories(TempPath(dir) + "/taken/x").ok());
  EXPECT_FALSE(WriteFileAtomically(TempPath(dir) + "/taken", "x").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(TempPath(dir)), {}), 1);
}

TEST(FileOps, FullDiskIsIoWithAHint) {
  const Error error = FileError("write", "/dev/full", ENOSPC);
  EXPECT_EQ(error.code, ErrorCode::kIo);
  EXPECT_NE(error.hint.find("disk is full"), std::string::npos);
}

TEST(FileOps, ReadingTellsAbsentFromTooLargeFromUnreadable) {
  auto dir = TempDir::Make("nl-file-");
  ASSERT_TRUE(dir.ok());
  EXPECT_EQ(ReadWholeFile(TempPath(dir) + "/none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ReadWholeFile(TempPath(dir)).error().code, ErrorCode::kIo);
  ASSERT_TRUE(WriteFileAtomically(TempPath(dir) + "/ten", "0123456789").ok());
  EXPECT_EQ(ReadWholeFile(TempPath(dir) + "/ten", 9).error().code, ErrorCode::kLimit);
  EXPECT_TRUE(ReadWholeFile(TempPath(dir) + "/ten", 10).ok());
}

TEST(FileOps, RemovingATreeDoesNotFollowLinks) {
  auto dir = TempDir::Make("nl-file-");
  ASSERT_TRUE(dir.ok());
  const std::string root = TempPath(dir);
  ASSERT_TRUE(MakeDirectories(root + "/doomed/sub").ok());
  ASSERT_TRUE(WriteFileAtomically(root + "/precious", "12345").ok());
  ASSERT_TRUE(WriteFileAtomically(root + "/doomed/sub/f", "123").ok());
  ASSERT_EQ(::symlink((root + "/precious").c_str(), (root + "/doomed/link").c_str()), 0);
  ASSERT_EQ(::symlink(root.c_str(), (root + "/doomed/up").c_str()), 0);
  EXPECT_EQ(*TreeBytes(root + "/doomed"), 3);
  ASSERT_TRUE(SyncTree(root + "/doomed").ok());
  ASSERT_TRUE(RemoveTree(root + "/doomed").ok());
  EXPECT_FALSE(PathExists(root + "/doomed"));
  EXPECT_EQ(*ReadWholeFile(root + "/precious"), "12345");
  EXPECT_TRUE(RemoveTree(root + "/doomed").ok()) << "absent is fine";
}

TEST(FileOps, TempDirIsRemovedUnlessReleased) {
  std::string gone;
  std::string kept;
  {
    auto first = TempDir::Make("nl-file-");
    auto second = TempDir::Make("nl-file-");
    gone = first->path();
    kept = second->Release();
    TempDir moved = *std::move(first);
    EXPECT_TRUE(PathExists(gone));
  }
  EXPECT_FALSE(PathExists(gone));
  EXPECT_TRUE(PathExists(kept));
  ASSERT_TRUE(RemoveTree(kept).ok());
}

TEST(Sha256, KnownAnswersAndPiecewiseEqualsWhole) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  for (const char c : std::string("abc")) hash.Update(std::string_view(&c, 1));
  EXPECT_EQ(hash.FinishHex(), Sha256Hex("abc"));
  hash.Update("abc");
  EXPECT_EQ(hash.FinishHex(), Sha256Hex("abc")) << "starts over after FinishHex";
}

TEST(Sha256, FileHashEqualsHashOfItsBytes) {
  auto dir = TempDir::Make("nl-file-");
  const std::string bytes(3'000'000, 'x');
  ASSERT_TRUE(WriteFileAtomically(TempPath(dir) + "/big", bytes).ok());
  EXPECT_EQ(*FileSha256Hex(TempPath(dir) + "/big"), Sha256Hex(bytes));
  EXPECT_EQ(FileSha256Hex(TempPath(dir) + "/none").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace nl
