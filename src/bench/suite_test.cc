// SPDX-License-Identifier: Apache-2.0
#include "bench/suite.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "bench/verify.h"

namespace nl::bench {
namespace {

TEST(BenchSuite, AnOptimizedFileBelongsToTheLongestBaselineName) {
  const auto folder = TempDir::Make("nl-suite-");
  const auto file = [&](const std::string& name) {
    const std::filesystem::path path = folder->path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "def get_benchmark(): pass\n";
  };
  for (const char* name :
       {"g/baseline_sort.py", "g/baseline_sort_keys.py", "g/optimized_sort.py", "g/optimized_sort_fast.py",
        "g/optimized_sort_keys_radix.py", "g/optimized_sorted.py"})
    file(name);
  const auto suite = FindSuite(folder->path());
  std::vector<std::string> labels;
  for (const Target& t : suite->targets) labels.push_back(t.Label());
  EXPECT_EQ(labels, (std::vector<std::string>{"g:sort", "g:sort_fast", "g:sort_keys_radix"}));
  EXPECT_EQ(suite->targets[2].name, "sort_keys");
  ASSERT_EQ(suite->problems.size(), 1u);
  EXPECT_EQ(suite->problems[0].kind, SuiteProblemKind::kOrphan);
  EXPECT_EQ(ChooseTargets(*suite, {"g:sort"})->size(), 2u);
  EXPECT_EQ(ChooseTargets(*suite, {"g:sort_fast,sort_keys"})->size(), 2u);
  EXPECT_EQ(ChooseTargets(*suite, {"g", "all"})->size(), 3u);
  EXPECT_FALSE(ChooseTargets(*suite, {"h"}).ok());
}

Json Output(const char* dtype, std::vector<double> data) {
  return Json{{"dtype", dtype}, {"data", std::move(data)}};
}

TEST(BenchVerify, TolerancesAreThoseOfTheType) {
  const Json none;
  EXPECT_FALSE(OutputsDiffer(Output("float32", {1, 2}), Output("float32", {1 + 5e-6, 2}), none));
  EXPECT_TRUE(OutputsDiffer(Output("float64", {1, 2}), Output("float64", {1 + 5e-6, 2}), none));
  EXPECT_FALSE(OutputsDiffer(Output("float16", {1}), Output("float16", {1.0005}), none));
  EXPECT_TRUE(OutputsDiffer(Output("int64", {1}), Output("int64", {2}), none));
  EXPECT_TRUE(OutputsDiffer(Output("float32", {1}), Output("float16", {1}), none));
  EXPECT_TRUE(OutputsDiffer(Output("float32", {1}), Output("float32", {1, 2}), none));
  EXPECT_TRUE(OutputsDiffer(Output("float32", {}), Output("float32", {}), none));
}

Json Texts(std::vector<std::string> data) { return Json{{"dtype", "float64"}, {"data", std::move(data)}}; }

TEST(BenchVerify, ValuesThatAreNotFiniteMustBeEqual) {
  EXPECT_FALSE(OutputsDiffer(Texts({"nan", "inf"}), Texts({"nan", "inf"}), Json()));
  EXPECT_TRUE(OutputsDiffer(Texts({"nan"}), Output("float64", {1}), Json()));
  EXPECT_TRUE(OutputsDiffer(Texts({"inf"}), Texts({"-inf"}), Json()));
}

}  // namespace
}  // namespace nl::bench
