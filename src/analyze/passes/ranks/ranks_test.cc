// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "testing/run_builder.h"

namespace nl {
namespace {

using testing_analyze::RunBuilder;

// Ranks that meet in collectives, with planted lateness and clock offsets.
class Cluster {
 public:
  explicit Cluster(std::vector<int64_t> offsets_ns) : offsets_(std::move(offsets_ns)) {
    for (size_t rank = 0; rank < offsets_.size(); ++rank)
      lanes_.push_back(run_.Thread("stream", static_cast<int32_t>(rank)));
  }
  // Arrivals in true time; everyone leaves `transfer_ns` after the last.
  void Meet(const std::string& group, int64_t sequence, const std::vector<int64_t>& arrive_ns,
            int64_t transfer_ns, const std::string& name = "allreduce") {
    std::vector<size_t> everybody;
    for (size_t rank = 0; rank < arrive_ns.size(); ++rank) everybody.push_back(rank);
    MeetSome(group, sequence, everybody, arrive_ns, transfer_ns, name);
  }
  void MeetSome(const std::string& group, int64_t sequence, const std::vector<size_t>& ranks,
                const std::vector<int64_t>& arrive_ns, int64_t transfer_ns,
                const std::string& name = "allreduce") {
    const int64_t end_ns = *std::max_element(arrive_ns.begin(), arrive_ns.end()) + transfer_ns;
    for (size_t i = 0; i < ranks.size(); ++i)
      Call(group, sequence, ranks[i], arrive_ns[i], end_ns - arrive_ns[i], name);
  }
  void Call(const std::string& group, int64_t sequence, size_t rank, int64_t start_ns, int64_t dur_ns,
            const std::string& name = "allreduce") {
    const RowId row = run_.Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                                  7, start_ns + offsets_[rank], dur_ns);
    run_.data().kernel.thread_id.back() = lanes_[rank];
    CollectiveRow c;
    c.owner = run_.Name("kernel");
    c.owner_id = row;
    c.name = run_.Name(name);
    if (!group.empty()) c.group_name = run_.Name(group);
    c.sequence = sequence < 0 ? NullOf<int64_t>::value : sequence;
    c.group_size = static_cast<int64_t>(offsets_.size());
    run_.data().collective.Add(c);
  }
  const RanksFacts& Facts() {
    analysis_.emplace(run_.Finish());
    return **analysis_->Need<RanksFacts>();
  }

 private:
  RunBuilder run_;
  std::vector<int64_t> offsets_;
  std::vector<ThreadId> lanes_;
  std::optional<Analysis> analysis_;
};

TEST(RanksPass, WaitingAndTransferAreSeparated) {
  Cluster cluster({0, 0, 0});
  cluster.Meet("0", 1, {100, 400, 150}, 50);
  cluster.Meet("0", 2, {1000, 1200, 1000}, 30);
  const RanksFacts& f = cluster.Facts();
  ASSERT_EQ(f.collectives.size(), 2u);
  EXPECT_EQ(f.collectives[0].skew_ns, 300);
  EXPECT_EQ(f.collectives[0].transfer_ns, 50);
  EXPECT_EQ(f.collectives[1].skew_ns, 200);
  EXPECT_EQ(f.members[0].waited_ns, 500);
  EXPECT_EQ(f.members[1].waited_ns, 0);
  EXPECT_EQ(f.members[2].waited_ns, 250 + 200);
  EXPECT_EQ(f.members[1].last, 2);
  EXPECT_EQ(f.members[1].held_up_ns, 250 + 200) << "after the second to last";
  EXPECT_EQ(f.members[0].transfer_ns, 80);
  EXPECT_EQ(f.waited_ns, 950);
  EXPECT_EQ(f.transfer_ns, 3 * 80);
  EXPECT_EQ(f.groups.at(0).skew_ns, 500);
  EXPECT_EQ(f.impossible, 0);
  EXPECT_FALSE(f.members[1].offset_applied) << "equal clocks are possible";
  EXPECT_TRUE(f.groups[0].by_sequence);
}

TEST(RanksPass, PlantedClockOffsetsAreRecoveredWithinTheirBounds) {
  std::mt19937 random(7);
  const std::vector<int64_t> planted = {0, 3'000'000, -120'000'000, 45'000};
  Cluster cluster(planted);
  std::uniform_int_distribution<int64_t> late(0, 400'000), moving(20'000, 90'000);
  int64_t at = 1'700'000'000'000'000'000, waited = 0;
  for (int i = 0; i < 200; ++i, at += 10'000'000) {
    std::vector<int64_t> arrive;
    for (size_t rank = 0; rank < planted.size(); ++rank)
      arrive.push_back(at + late(random) + (rank == 2 ? 500'000 : 0));
    for (const int64_t a : arrive) waited += *std::max_element(arrive.begin(), arrive.end()) - a;
    cluster.Meet("0", i, arrive, moving(random));
  }
  const RanksFacts& f = cluster.Facts();
  for (size_t rank = 0; rank < planted.size(); ++rank) {
    const RanksFacts::Member& m = f.members[rank];
    ASSERT_TRUE(m.offset_ns) << rank;
    EXPECT_TRUE(m.consistent);
    EXPECT_LE(*m.offset_low_ns, planted[rank]) << rank;
    EXPECT_GE(*m.offset_high_ns, planted[rank]) << rank;
    // Everybody leaves at the same moment in this trace, so that the estimate is exact.
    EXPECT_EQ(*m.offset_ns, planted[rank]) << rank;
    EXPECT_LE(*m.offset_high_ns - *m.offset_low_ns, 600'000)
        << "useful for a lateness of 0.5 ms on each side";
  }
  EXPECT_TRUE(f.members[1].offset_applied);
  EXPECT_TRUE(f.members[2].offset_applied);
  EXPECT_EQ(f.impossible, 0);
  // Rank 2 is 0.5 ms late every time, whatever its clock shows.
  EXPECT_GT(f.members[2].last, 190);
  EXPECT_GT(f.members[2].held_up_ns, 200 * 100'000);
  // What is not corrected may be off by its uncertainty, in each collective.
  int64_t allowed = 0;
  for (const RanksFacts::Member& m : f.members)
    allowed += m.offset_applied ? 0 : *m.UncertaintyNs() * m.collectives;
  EXPECT_NEAR(static_cast<double>(f.waited_ns), static_cast<double>(waited), static_cast<double>(allowed));
}

TEST(RanksPass, OffsetsPropagateToRanksThatShareNoGroupWithTheFirst) {
  // 0-1 and 1-2 meet, 0-2 never.
  Cluster cluster({0, 5'000'000, -9'000'000, 0});
  for (int i = 0; i < 20; ++i) {
    const int64_t at = 100'000'000 + i * 1'000'000;
    cluster.MeetSome("tp", i, {0, 1}, {at, at + 100}, 1000);
    cluster.MeetSome("dp", i, {1, 2}, {at + 5000, at + 5300}, 1000);
  }
  const RanksFacts& f = cluster.Facts();
  EXPECT_EQ(*f.members[1].offset_ns, 5'000'000);
  EXPECT_EQ(*f.members[2].offset_ns, -9'000'000);
  EXPECT_LE(*f.members[2].offset_low_ns, -9'000'000);
  EXPECT_GE(*f.members[2].offset_high_ns, -9'000'000);
  EXPECT_FALSE(f.members[3].offset_ns) << "rank 3 shares no collective";
  EXPECT_EQ(f.groups.size(), 2u);
}

TEST(RanksPass, DriftingClocksAreReportedAsInconsistent) {
  Cluster drifting({0, 0});
  for (int i = 0; i < 10; ++i) {
    // The second clock gains 1 ms between collectives of 10 us.
    drifting.Call("0", i, 0, i * 10'000'000, 10'000);
    drifting.Call("0", i, 1, i * 10'000'000 + i * 1'000'000, 10'000);
  }
  const RanksFacts& f = drifting.Facts();
  EXPECT_FALSE(f.members[1].consistent);
  EXPECT_GT(f.impossible, 0);
}

TEST(RanksPass, WithoutSequenceNumbersCallsAreMatchedByOrder) {
  Cluster same({0, 0});
  for (int i = 0; i < 3; ++i) same.Meet("0", -1, {i * 1000, i * 1000 + 10 * (i + 1)}, 50, "allgather");
  const RanksFacts& f = same.Facts();
  ASSERT_EQ(f.collectives.size(), 3u);
  EXPECT_FALSE(f.groups[0].by_sequence);
  EXPECT_EQ(f.collectives[2].skew_ns, 30);

  Cluster other({0, 0});
  for (int i = 0; i < 3; ++i) other.Meet("0", -1, {i * 1000, i * 1000 + 10}, 50);
  other.Call("0", -1, 1, 5000, 50);
  const RanksFacts& g = other.Facts();
  EXPECT_TRUE(g.collectives.empty());
  ASSERT_EQ(g.unmatched.size(), 1u);
  EXPECT_EQ(g.unmatched[0].count, 7);
  EXPECT_NE(g.not_assessed, "");
}

TEST(RanksPass, UnmatchedCallsAreCountedByReason) {
  Cluster cluster({0, 0});
  cluster.Meet("0", 1, {0, 10}, 50);
  cluster.Call("0", 2, 0, 100, 50);
  cluster.Call("0", -1, 0, 200, 50, "send");
  const RanksFacts& f = cluster.Facts();
  EXPECT_EQ(f.collectives.size(), 1u);
  ASSERT_EQ(f.unmatched.size(), 2u);
  EXPECT_EQ(f.unmatched[0].why, "point-to-point sends and receives");
  EXPECT_EQ(f.unmatched[1].why, "recorded by only one member");
}

TEST(RanksPass, ABroadcastDoesNotConstrainClocks) {
  Cluster cluster({0, 0});
  // The root leaves before the other arrives: legal.
  cluster.Call("0", 1, 0, 0, 50, "broadcast");
  cluster.Call("0", 1, 1, 1000, 50, "broadcast");
  const RanksFacts& f = cluster.Facts();
  ASSERT_EQ(f.collectives.size(), 1u);
  EXPECT_FALSE(f.collectives[0].everyone_waits);
  EXPECT_EQ(f.collectives[0].skew_ns, 1000);
  EXPECT_FALSE(f.members[1].offset_ns);
  EXPECT_EQ(f.impossible, 0);
}

TEST(RanksPass, ASingleRankIsNotAssessed) {
  Cluster cluster({0});
  cluster.Call("0", 1, 0, 0, 50);
  const RanksFacts& f = cluster.Facts();
  EXPECT_NE(f.not_assessed.find("two or more ranks"), std::string::npos);
  RunBuilder empty;
  empty.Kernel("gemm", 7, 0, 10);
  Analysis analysis = empty.Finish();
  EXPECT_NE((*analysis.Need<RanksFacts>())->not_assessed, "");
}

}  // namespace
}  // namespace nl
