// SPDX-License-Identifier: Apache-2.0
#include "import/rank_groups.h"

#include <gtest/gtest.h>

#include "testing/import_fixture.h"

namespace nl {
namespace {

int64_t RankIn(const char* path) {
  const auto found = RankOfName(path);
  return found && !found->says_other ? found->rank : -1;
}

TEST(RankGroups, ARankIsReadFromTheWordOrTheLastNumber) {
  EXPECT_EQ(RankIn("rank0.json"), 0);
  EXPECT_EQ(RankIn("trace_rank_12.json.gz"), 12);
  EXPECT_EQ(RankIn("Rank-3.nsys.sqlite"), 3);
  EXPECT_EQ(RankIn("rank_1/trace_7.json"), 1);
  EXPECT_EQ(RankIn("tp_rank0_dp_rank_5.json"), 5);
  EXPECT_EQ(RankIn("trace_4.pt.trace.json.gz"), 4);
  EXPECT_EQ(RankIn("trace.2.json"), 2);
  EXPECT_EQ(RankIn("0.json"), 0);
  EXPECT_EQ(RankIn("h200.json"), -1) << "the number belongs to a word";
  EXPECT_EQ(RankIn("host_1234.1711964646000000000.pt.trace.json"), -1) << "a time stamp";
  EXPECT_EQ(RankIn("run_0.json"), -1) << "a repetition";
  EXPECT_EQ(RankIn("frank0.json"), -1);
  EXPECT_EQ(RankIn("trace.json"), -1);
  EXPECT_EQ(RankOfName("a/rank_1/t.json")->others, "a/rank_#/t.json");
}

RankedFile File(const std::string& name, const std::string& adapter,
                std::optional<int64_t> rank = std::nullopt, std::optional<int64_t> world = std::nullopt) {
  RankedFile out;
  out.path = "in/" + name;
  out.below = name;
  out.hint.adapter = adapter;
  out.hint.rank = rank;
  out.hint.world_size = world;
  return out;
}

TEST(RankGroups, TheContentCountsBeforeTheName) {
  // Names that contradict the content: the content wins, and the names gives no information.
  const auto groups = GroupRanks({File("rank0.json", "kineto", 1, 2), File("rank1.json", "kineto", 0, 2)});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].paths, (std::vector<std::string>{"in/rank1.json", "in/rank0.json"}));
  EXPECT_TRUE(groups[0].ranks.empty());
}

TEST(RankGroups, NamesMakeRanksOfAnyFormat) {
  const auto groups = GroupRanks({File("t_rank10.csv", "ncu"), File("t_rank2.csv", "ncu")});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].ranks, (std::vector<int64_t>{2, 10}));
  EXPECT_EQ(groups[0].paths[0], "in/t_rank2.csv");
}

TEST(RankGroups, TwoFormatsInOneFolderAreTwoRuns) {
  const auto groups = GroupRanks({File("rank0.json", "chrome"), File("rank0.sqlite", "nsys"),
                                  File("rank1.json", "chrome"), File("rank1.sqlite", "nsys")});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].paths, (std::vector<std::string>{"in/rank0.json", "in/rank1.json"}));
  EXPECT_EQ(groups[1].paths, (std::vector<std::string>{"in/rank0.sqlite", "in/rank1.sqlite"}));
  // The same name and number in two formats is no rank of the other.
  EXPECT_EQ(GroupRanks({File("rank0.json", "chrome"), File("rank1.json", "onnxrt")}).size(), 2u);
}

TEST(RankGroups, ARankMayBeASetOfFiles) {
  const auto set = [](const std::string& folder, const std::string& name) {
    RankedFile out = File(BelowOfSet(folder, name), "rocprof");
    out.path = folder + "/" + name + "_kernel_trace.csv";
    out.more = {folder + "/" + name + "_hip_api_trace.csv"};
    return out;
  };
  // Numbers of processes differ from rank to rank.
  const auto groups = GroupRanks({set("rank_0", "908"), set("rank_1", "1207")});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].paths,
            (std::vector<std::string>{"rank_0/908_kernel_trace.csv", "rank_0/908_hip_api_trace.csv",
                                      "rank_1/1207_kernel_trace.csv", "rank_1/1207_hip_api_trace.csv"}));
  EXPECT_EQ(groups[0].ranks, (std::vector<int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(GroupRanks({set("out", "rank0"), set("out", "rank1")}).size(), 1u);
  EXPECT_EQ(GroupRanks({set("out", "908"), set("out", "909")}).size(), 2u) << "processes, not ranks";
}

TEST(RankGroups, BareNumbersMustBeAllFromZeroOn) {
  EXPECT_EQ(GroupRanks({File("t_0.json", "chrome"), File("t_1.json", "chrome")}).size(), 1u);
  EXPECT_EQ(GroupRanks({File("t_1.json", "chrome"), File("t_2.json", "chrome")}).size(), 2u);
  EXPECT_EQ(GroupRanks({File("t_0.json", "chrome"), File("t_2.json", "chrome")}).size(), 2u);
  EXPECT_EQ(GroupRanks({File("run_0.json", "chrome"), File("run_1.json", "chrome")}).size(), 2u);
  EXPECT_EQ(GroupRanks({File("rank3.json", "chrome")}).at(0).ranks.size(), 0u);
}

}  // namespace
}  // namespace nl
