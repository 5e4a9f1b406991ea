// SPDX-License-Identifier: Apache-2.0
// The folder, its retention and inputs; classes of kernels; what tools say.
#include "deep/bundle.h"

#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "base/sha256.h"
#include "base/uuid.h"
#include "deep/metrics.h"
#include "deep/tools.h"

namespace nl::deep {
namespace {

TEST(Bundle, IsPartialUntilItIsFinished) {
  const TempDir folder = *TempDir::Make("nl-bundle");
  Result<Bundle> bundle = Bundle::Make(folder.path() + "/out");
  ASSERT_TRUE(bundle.ok()) << bundle.error().ToString();
  EXPECT_TRUE(PathExists(bundle->PathOf(kPartialFile)));
  const std::string id = NewUuidV7();
  ASSERT_TRUE(bundle->Rename(id).ok());
  EXPECT_EQ(bundle->path(), folder.path() + "/out/" + id);
  ASSERT_TRUE(bundle->Write("ncu/raw.csv", "x").ok());
  ASSERT_TRUE(bundle->Finish({"ncu failed"}).ok());
  EXPECT_NE(ReadWholeFile(bundle->PathOf(kPartialFile))->find("ncu failed"), std::string::npos);
  ASSERT_TRUE(bundle->Finish({}).ok());
  EXPECT_EQ(*bundle->Files(), (std::vector<std::string>{"ncu/raw.csv"}));
}

TEST(Bundle, TheLargestRecordingIsLeftOutFirstAndReportsNever) {
  const TempDir folder = *TempDir::Make("nl-bundle");
  Bundle bundle = *Bundle::Make(folder.path());
  ASSERT_TRUE(bundle.Write("ncu/report.ncu-rep", std::string(5000, 'a')).ok());
  ASSERT_TRUE(bundle.Write("nsys/report.sqlite", std::string(9000, 'b')).ok());
  ASSERT_TRUE(bundle.Write("report.md", std::string(3000, 'c')).ok());
  EXPECT_EQ(*bundle.Shrink(0), std::vector<std::string>{});
  EXPECT_EQ(*bundle.Shrink(10'000), (std::vector<std::string>{"nsys/report.sqlite"}));
  EXPECT_FALSE(bundle.Shrink(2000).ok());
  EXPECT_TRUE(PathExists(bundle.PathOf("report.md")));
}

TEST(Bundle, TheNewestAreKeptAndOtherFoldersToo) {
  const TempDir folder = *TempDir::Make("nl-bundle");
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    // Version 7 ids sort by time.
    ids.push_back("0197000" + std::to_string(i) + "-0000-7000-8000-000000000000");
    ASSERT_TRUE(MakeDirectories(folder.path() + "/" + ids.back()).ok());
    ASSERT_TRUE(WriteFileAtomically(folder.path() + "/" + ids.back() + "/metrics.json", "{}").ok());
  }
  ASSERT_TRUE(MakeDirectories(folder.path() + "/mine").ok());
  EXPECT_EQ(*KeepNewest(folder.path(), 0, ids[2]), std::vector<std::string>{});
  EXPECT_EQ(*KeepNewest(folder.path(), 2, ids[2]), std::vector<std::string>{ids[0]});
  EXPECT_TRUE(PathExists(folder.path() + "/mine") && PathExists(folder.path() + "/" + ids[1]));
}

TEST(Bundle, InputsAreFilesOfTheCommandOfFoldersAndTexts) {
  const TempDir folder = *TempDir::Make("nl-bundle");
  ASSERT_TRUE(WriteFileAtomically(folder.path() + "/data.bin", "abc").ok());
  ASSERT_TRUE(MakeDirectories(folder.path() + "/weights").ok());
  ASSERT_TRUE(WriteFileAtomically(folder.path() + "/weights/model.safetensors", "weights").ok());
  const Result<std::string> yaml =
      InputsYaml({"no-such-program", "--data=" + folder.path() + "/data.bin", "word"},
                 {folder.path() + "/weights"}, {{"llama_8b", "comes with NeuroLens", "name: llama_8b\n"}});
  ASSERT_TRUE(yaml.ok()) << yaml.error().ToString();
  for (const std::string text : {"abc", "weights", "name: llama_8b\n"})
    EXPECT_NE(yaml->find(Sha256Hex(text)), std::string::npos) << text;
  EXPECT_NE(yaml->find("bytes: 3\n"), std::string::npos) << *yaml;
  EXPECT_NE(yaml->find("origin: comes with NeuroLens"), std::string::npos) << *yaml;
  EXPECT_EQ(yaml->find("word"), std::string::npos);
}

TEST(Bundle, WordsAreQuotedForAShell) {
  EXPECT_EQ(Quoted("--top-n=3"), "--top-n=3");
  EXPECT_EQ(Quoted(""), "''");
  EXPECT_EQ(Quoted("it's $HOME"), "'it'\\''s $HOME'");
}

TEST(Metrics, TheLimitIsByRatioGapAndTwentyPercent) {
  EXPECT_EQ(Classify(0.19, 0.10), Utilization::kLow);
  EXPECT_EQ(Classify(0.20, 0.10), Utilization::kComputeBound);
  EXPECT_EQ(Classify(0.10, 0.26), Utilization::kMemoryBound);
  EXPECT_EQ(Classify(0.50, 0.46), Utilization::kBalanced);
  EXPECT_EQ(Classify(0.50, 0.45), Utilization::kComputeBound) << "5 points";
}

TEST(Tools, VersionAndWordsOfATool) {
  EXPECT_EQ(VersionIn("Copyright (c) 2018-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build 3639)"),
            "2025.3.1.0");
  EXPECT_EQ(VersionIn("no number"), "");
  EXPECT_EQ(ToolsWords("==PROF== a\n==ERROR== one\n==ERROR== one\n==ERROR== two\n"), "one; two");
  EXPECT_EQ(ToolsWords("first\nlast words\n", 1), "last words");
}

}  // namespace
}  // namespace nl::deep
