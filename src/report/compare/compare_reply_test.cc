// SPDX-License-Identifier: Apache-2.0
#include "report/compare/compare_reply.h"

#include <gtest/gtest.h>

#include "base/record_json.h"
#include "testing/compare_fixture.h"

namespace nl {
namespace {

using testing_compare::Empty;
using testing_compare::Hostile;
using testing_compare::OneSide;
using testing_compare::Usual;

template <class Row>
double Sum(const std::vector<Row>& rows, double Row::*member) {
  double sum = 0;
  for (const Row& row : rows) sum += row.*member;
  return sum;
}

double SumOfDeltas(const std::vector<CompareContribution>& rows) {
  double sum = 0;
  for (const CompareContribution& row : rows) sum += row.delta_ms;
  return sum;
}

TEST(CompareReply, HasTheDocumentedNames) {
  const Json json = ToDocument(CompareFactsOf(Usual()));
  for (const char* key :
       {"similarity",  "matched_share_a", "matched_share_b", "wall_a_ms",     "wall_b_ms",     "delta_ms",
        "residual_ms", "verdict",         "comparability",   "normalised_by", "contributions", "shifts",
        "by_kernel",   "by_op",           "by_module",       "by_stage",      "counters",      "fingerprint",
        "drift",       "normal_a_ms",     "walls_a_ms",      "runs",          "options",       "next"})
    EXPECT_TRUE(json.contains(key)) << key;
  for (const char* key : {"class", "confidence", "p_value", "more_runs_needed", "text"})
    EXPECT_TRUE(json["verdict"].contains(key)) << key;
  for (const char* key :
       {"rank",     "cause",      "detail",     "stage",          "module",          "op",
        "kernel_a", "kernel_b",   "shapes_a",   "shapes_b",       "count_a",         "count_b",
        "a_ms",     "b_ms",       "delta_ms",   "share",          "count_effect_ms", "speed_effect_ms",
        "merged",   "parts",      "text",       "idle_effect_ms", "busy_a_ms",       "busy_b_ms",
        "p_value",  "structural", "confidence", "significant",    "evidence_a",      "evidence_b"})
    EXPECT_TRUE(json["contributions"][0].contains(key)) << key;
  for (const char* key : {"what", "a", "b", "consequence"})
    EXPECT_TRUE(json["comparability"][0].contains(key)) << key;
  EXPECT_EQ(json["contributions"][0]["cause"], "sync_added");
  EXPECT_EQ(json["verdict"]["class"], "regressed");
}

TEST(CompareReply, RanksStartAtOneAndSharesAreOfTheWholeDifference) {
  const CompareFacts facts = CompareFactsOf(Usual());
  const std::vector<CompareContribution>& list = facts.contributions;
  ASSERT_EQ(list.size(), 4u);
  double shares = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].rank, static_cast<int64_t>(i + 1));
    shares += list[i].share.value();
  }
  EXPECT_DOUBLE_EQ(list[0].share.value(), 18 / 16.5);
  EXPECT_DOUBLE_EQ(list[1].share.value(), -4 / 16.5);
  EXPECT_NEAR(shares, 1, 1e-12);
  EXPECT_NEAR(SumOfDeltas(list) + facts.residual_ms, facts.delta_ms, 1e-12);
}

TEST(CompareReply, ContributionsAfterTheTopBecomeOneRowThatKeepsTheSum) {
  const Comparison c = Hostile(500);
  for (const size_t top : {1u, 7u, 499u, 500u}) {
    const std::vector<CompareContribution> list = CompareFactsOf(c, top).contributions;
    ASSERT_EQ(list.size(), top + 1);
    const CompareContribution& rest = list.back();
    EXPECT_EQ(rest.cause, Cause::kNoise);
    EXPECT_EQ(rest.merged, static_cast<int64_t>(501 - top));
    EXPECT_EQ(rest.text, top == 500 ? "1 smaller change" : std::to_string(501 - top) + " smaller changes");
    EXPECT_EQ(rest.rank, static_cast<int64_t>(top + 1));
    double a_ms = 0, parts = 0;
    for (const CompareContribution& x : list) a_ms += x.a_ms;
    for (const ComparePart& part : rest.parts) parts += part.delta_ms;
    EXPECT_NEAR(SumOfDeltas(list), c.delta_ms(), 1e-9);
    EXPECT_NEAR(a_ms, c.wall_a_ms, 1e-9);
    EXPECT_NEAR(parts, rest.delta_ms, 1e-9);
    EXPECT_LE(rest.parts.size(), 51u);
  }
  EXPECT_EQ(CompareFactsOf(c).contributions.size(), 501u);
  EXPECT_EQ(CompareFactsOf(c).contributions[0].merged, 0);
}

TEST(CompareReply, UnknownValuesAreNull) {
  const CompareFacts empty = CompareFactsOf(Empty());
  EXPECT_TRUE(empty.contributions.empty());
  EXPECT_FALSE(empty.normalised_by || empty.verdict.p_value);
  const CompareFacts usual = CompareFactsOf(Usual());
  EXPECT_FALSE(usual.normal_b_ms || usual.contributions[1].stage || usual.comparability[1].a);
  const CompareFacts one = CompareFactsOf(OneSide());
  EXPECT_FALSE(one.similarity || one.drift) << "NaN is not a JSON number";
  Comparison same = Usual();
  same.wall_b_ms = same.wall_a_ms;
  EXPECT_FALSE(CompareFactsOf(same).contributions[0].share) << "there is no difference to be a share of";
}

TEST(CompareReply, TablesStartWithTheLargestDifferenceAndKeepTheirSums) {
  Comparison c;
  for (int i = 0; i < 3000; ++i)
    c.by_kernel.push_back({"k" + std::to_string(i), 1, 1, 1.0, 1.0 + i * (i % 2 ? 1 : -1), 0, 0});
  const std::vector<CompareTableRow> rows = CompareFactsOf(c).by_kernel;
  ASSERT_EQ(rows.size(), 1001u);
  EXPECT_EQ(rows[0].name, "k2999");
  EXPECT_EQ(rows[1].name, "k2998");
  EXPECT_EQ(rows.back().name, "(2,000 more)");
  int64_t count = 0;
  for (const CompareTableRow& row : rows) count += row.count_a;
  EXPECT_EQ(count, 3000);
  EXPECT_NEAR(Sum(rows, &CompareTableRow::delta_ms), 1500, 1e-6);
}

TEST(CompareReply, ThePageHasWhatTheReplyHasAndTheTimelines) {
  const Json page = ToDocument(CompareDocument()), reply = ToDocument(CompareReply());
  for (const auto& [key, value] : reply.items()) EXPECT_EQ(page.contains(key), key != "files") << key;
  EXPECT_TRUE(page.contains("timeline") && page.contains("flame"));
}

using Places = std::vector<std::optional<int64_t>>;

TEST(PairTimeline, KeepsEveryItemWithItsPartnerAndTheRankOfItsChange) {
  const PairTimeline t = MakePairTimeline(Usual().timeline);
  EXPECT_EQ(t.a.partner, (Places{0, std::nullopt}));
  EXPECT_EQ(t.a.change, (Places{std::nullopt, 2}));
  EXPECT_EQ(t.b.change, (Places{std::nullopt, 1}));
  EXPECT_EQ(t.b.start_ms, (std::vector<double>{0, 3}));
  EXPECT_FALSE(t.a.merged_below_ms);
}

TEST(PairTimeline, MergesItemsThatShareAPixelButNeverAcrossChanges) {
  CompareTrack track;
  track.names = {"k", "changed"};
  for (int i = 0; i < 10'000; ++i) {
    const bool changed = i >= 5000 && i < 5010;
    track.a.push_back({i * 0.01, 0.009, changed ? 1u : 0u, changed ? 3 : -1, i});
    track.b.push_back({i * 0.01, 0.009, 0, -1, i});
  }
  const PairTimeline t = MakePairTimeline(track, {1000, 5000});
  EXPECT_LE(t.a.start_ms.size(), 1000u);
  EXPECT_EQ(t.a.items_total, 10'000);
  EXPECT_TRUE(t.a.merged_below_ms);
  int64_t counted = 0, changed = 0;
  for (size_t i = 0; i < t.a.count.size(); ++i) {
    counted += t.a.count[i];
    if (t.a.change[i] == 4) changed += t.a.count[i];
    ASSERT_LT(t.a.partner[i].value(), static_cast<int64_t>(t.b.start_ms.size()));
  }
  EXPECT_EQ(counted, 10'000);
  EXPECT_EQ(changed, 10) << "a change stays visible among unchanged neighbours";
}

TEST(PairTimeline, AlternatingChangesAreMergedWhenThereAreTooMany) {
  CompareTrack track;
  track.names = {"k"};
  for (int i = 0; i < 10'000; ++i) track.a.push_back({i * 0.01, 0.009, 0, i % 2, -1});
  EXPECT_LE(MakePairTimeline(track, {1000, 5000}).a.start_ms.size(), 1001u);
}

}  // namespace
}  // namespace nl
