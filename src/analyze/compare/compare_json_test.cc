// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analyze/compare/compare_timeline.h"
#include "testing/compare_fixture.h"

namespace nl {
namespace {

using namespace testing_compare;

double Sum(const Json& rows, const char* key) {
  double sum = 0;
  for (const Json& row : rows) sum += row[key].get<double>();
  return sum;
}

TEST(CompareJson, HasTheNamesThatArePromised) {
  const Json json = ToJson(Usual());
  for (const char* key :
       {"similarity",    "matched_share_a", "matched_share_b", "wall_a_ms",     "wall_b_ms",
        "delta_ms",      "residual_ms",     "verdict",         "comparability", "normalised_by",
        "contributions", "shifts",          "by_kernel",       "by_op",         "by_module",
        "by_stage",      "counters",        "timeline",        "drift",         "normal_a_ms"})
    EXPECT_TRUE(json.contains(key)) << key;
  for (const char* key : {"class", "confidence", "p_value", "more_runs_needed"})
    EXPECT_TRUE(json["verdict"].contains(key)) << key;
  for (const char* key : {"rank",
                          "cause",
                          "stage",
                          "module",
                          "op",
                          "kernel_a",
                          "kernel_b",
                          "shapes_a",
                          "shapes_b",
                          "count_a",
                          "count_b",
                          "a_ms",
                          "b_ms",
                          "delta_ms",
                          "share",
                          "count_effect_ms",
                          "speed_effect_ms",
                          "idle_effect_ms",
                          "confidence",
                          "significant",
                          "evidence_a",
                          "evidence_b",
                          "text"})
    EXPECT_TRUE(json["contributions"][0].contains(key)) << key;
  for (const char* key : {"what", "a", "b", "consequence"})
    EXPECT_TRUE(json["comparability"][0].contains(key)) << key;
}

TEST(CompareJson, RanksCountFromOneAndSharesAreOfTheWholeDifference) {
  const Json json = ToJson(Usual());
  const Json& list = json["contributions"];
  ASSERT_EQ(list.size(), 4u);
  for (size_t i = 0; i < list.size(); ++i) EXPECT_EQ(list[i]["rank"], i + 1);
  EXPECT_DOUBLE_EQ(list[0]["share"], 18 / 16.5);
  EXPECT_DOUBLE_EQ(list[1]["share"], -4 / 16.5);
  EXPECT_NEAR(Sum(list, "share"), 1, 1e-12);
  EXPECT_NEAR(Sum(list, "delta_ms") + json["residual_ms"].get<double>(), json["delta_ms"], 1e-12);
}

TEST(CompareJson, WhatIsBeyondTheTopIsOneRowThatSums) {
  const Comparison c = Hostile(500);
  for (const size_t top : {1u, 7u, 499u, 500u}) {
    const Json list = ToJson(c, top)["contributions"];
    ASSERT_EQ(list.size(), top + 1);
    const Json& rest = list.back();
    EXPECT_EQ(rest["cause"], "noise");
    EXPECT_EQ(rest["merged"], 501 - top);
    EXPECT_EQ(rest["text"], top == 500 ? "1 smaller change" : std::to_string(501 - top) + " smaller changes");
    EXPECT_EQ(rest["rank"], top + 1);
    EXPECT_NEAR(Sum(list, "delta_ms"), c.delta_ms(), 1e-9);
    EXPECT_NEAR(Sum(list, "a_ms"), c.wall_a_ms, 1e-9);
    EXPECT_NEAR(Sum(rest["parts"], "delta_ms"), rest["delta_ms"], 1e-9);
    EXPECT_LE(rest["parts"].size(), 51u);
  }
  EXPECT_EQ(ToJson(c)["contributions"].size(), 501u);
  EXPECT_EQ(ToJson(c)["contributions"][0]["merged"], 0);
}

TEST(CompareJson, MissingIsNull) {
  const Json empty = ToJson(Empty());
  EXPECT_TRUE(empty["contributions"].empty());
  EXPECT_TRUE(empty["normalised_by"].is_null());
  EXPECT_TRUE(empty["verdict"]["p_value"].is_null());
  const Json json = ToJson(Usual());
  EXPECT_TRUE(json["normal_b_ms"].is_null());
  EXPECT_TRUE(json["contributions"][1]["stage"].is_null());
  EXPECT_TRUE(json["comparability"][1]["a"].is_null());
  const Json one = ToJson(OneSide());
  EXPECT_TRUE(one["similarity"].is_null()) << "not a number is no JSON";
  EXPECT_TRUE(one["drift"].is_null());
  Comparison same = Usual();
  same.wall_b_ms = same.wall_a_ms;
  EXPECT_TRUE(ToJson(same)["contributions"][0]["share"].is_null()) << "no share of nothing";
}

TEST(CompareJson, TablesAreInOrderOfChangeAndKeepTheirSums) {
  Comparison c;
  for (int i = 0; i < 3000; ++i)
    c.by_kernel.push_back({"k" + std::to_string(i), 1, 1, 1.0, 1.0 + i * (i % 2 ? 1 : -1), 0, 0});
  const Json rows = ToJson(c)["by_kernel"];
  ASSERT_EQ(rows.size(), 1001u);
  EXPECT_EQ(rows[0]["name"], "k2999");
  EXPECT_EQ(rows[1]["name"], "k2998");
  EXPECT_EQ(rows.back()["name"], "(2,000 more)");
  EXPECT_EQ(Sum(rows, "count_a"), 3000);
  EXPECT_NEAR(Sum(rows, "delta_ms"), 1500, 1e-6);
}

TEST(CompareTimeline, KeepsEveryItemWithItsPartnerAndTheRankOfItsChange) {
  const Json t = ToJson(Usual())["timeline"];
  EXPECT_EQ(t["a"]["partner"], Json::parse("[0, null]"));
  EXPECT_EQ(t["a"]["change"], Json::parse("[null, 2]"));
  EXPECT_EQ(t["b"]["change"], Json::parse("[null, 1]"));
  EXPECT_EQ(t["b"]["start_ms"], Json::parse("[0.0, 3.0]"));
  EXPECT_TRUE(t["a"]["merged_below_ms"].is_null());
}

TEST(CompareTimeline, ThinsWhatSharesAPixelAndKeepsChangesApart) {
  CompareTrack track;
  track.names = {"k", "changed"};
  for (int i = 0; i < 10'000; ++i) {
    const bool changed = i >= 5000 && i < 5010;
    track.a.push_back({i * 0.01, 0.009, changed ? 1u : 0u, changed ? 3 : -1, i});
    track.b.push_back({i * 0.01, 0.009, 0, -1, i});
  }
  const Json t = CompareTimelineJson(track, {1000, 5000});
  const Json& a = t["a"];
  EXPECT_LE(a["start_ms"].size(), 1000u);
  EXPECT_EQ(a["items_total"], 10'000);
  EXPECT_FALSE(a["merged_below_ms"].is_null());
  int64_t counted = 0, changed = 0;
  for (size_t i = 0; i < a["count"].size(); ++i) {
    counted += a["count"][i].get<int64_t>();
    if (a["change"][i] == 4) changed += a["count"][i].get<int64_t>();
    ASSERT_LT(a["partner"][i].get<size_t>(), t["b"]["start_ms"].size());
  }
  EXPECT_EQ(counted, 10'000);
  EXPECT_EQ(changed, 10) << "a change never drowns in what is beside it";
}

TEST(CompareTimeline, ChangesByTurnsAreStillFewEnough) {
  CompareTrack track;
  track.names = {"k"};
  for (int i = 0; i < 10'000; ++i) track.a.push_back({i * 0.01, 0.009, 0, i % 2, -1});
  EXPECT_LE(CompareTimelineJson(track, {1000, 5000})["a"]["start_ms"].size(), 1001u);
}

}  // namespace
}  // namespace nl
