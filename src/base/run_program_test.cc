// SPDX-License-Identifier: Apache-2.0
#include "base/run_program.h"

#include <gtest/gtest.h>

#include "base/file_ops.h"

namespace nl {
namespace {

bool Always() { return true; }

TEST(RunProgram, GivesStatusAndBothOutputs) {
  const Result<ProgramResult> result =
      RunProgram({"/bin/sh", "-c", "echo one; echo two >&2; exit 3"}, Always);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(result->status, 3);
  EXPECT_EQ(result->out, "one\n");
  EXPECT_EQ(result->err, "two\n");
}

TEST(RunProgram, ASignalIsAStatus) {
  const Result<ProgramResult> result = RunProgram({"/bin/sh", "-c", "kill -9 $$"}, Always);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->status, 137);
}

TEST(RunProgram, KeepsTheEndOfALongOutput) {
  const Result<ProgramResult> result = RunProgram(
      {"/bin/sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"}, Always, 1000);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out.size(), 1000u);
  EXPECT_TRUE(result->out.ends_with("line 2999\n"));
}

TEST(RunProgram, OutputCanGoToAFileWhole) {
  const Result<TempDir> folder = TempDir::Make("nl-program-");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/out";
  const Result<ProgramResult> result = RunProgram(
      {"/bin/sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo two >&2"},
      Always, 1000, path);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(result->out, "");
  EXPECT_EQ(result->err, "two\n");
  const Result<std::string> text = ReadWholeFile(path);
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(text->starts_with("line 0\n"));
  EXPECT_TRUE(text->ends_with("line 2999\n"));
  EXPECT_FALSE(RunProgram({"/bin/true"}, Always, 1000, folder->path() + "/none/out").ok());
}

TEST(RunProgram, EndsWhatItStartedWhenTold) {
  // If it did not, this would take an hour.
  const Result<ProgramResult> result =
      RunProgram({"/bin/sh", "-c", "sleep 3600 & sleep 3600"}, [] { return false; });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
}

TEST(RunProgram, WhatCannotBeStartedIsAnError) {
  const Result<ProgramResult> result = RunProgram({"/no/such/program"}, Always);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kIo);
}

TEST(FindProgram, LooksOnThePath) {
  EXPECT_FALSE(FindProgram("sh").empty());
  EXPECT_EQ(FindProgram("/bin/sh"), "/bin/sh");
  EXPECT_TRUE(FindProgram("no-such-program-anywhere").empty());
  EXPECT_TRUE(FindProgram("/etc/passwd").empty());
}

}  // namespace
}  // namespace nl
