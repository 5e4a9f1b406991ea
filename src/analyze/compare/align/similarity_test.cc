// SPDX-License-Identifier: Apache-2.0
#include "analyze/compare/align/similarity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace nl {
namespace {

using OpValues = std::array<std::optional<double>, FingerprintFacts::kVector.size()>;

FingerprintFacts::OpVector Op(const std::string& sig, const std::string& name, int64_t index,
                              OpValues values) {
  FingerprintFacts::OpVector out;
  out.sig = sig;
  out.name = name;
  out.type = "op";
  out.index = index;
  out.values = values;
  return out;
}

// One op each per latency, signatures s0, s1, ...; intensity and DRAM were not measured.
FingerprintFacts Of(const std::vector<double>& latencies, const std::string& prefix = "s") {
  FingerprintFacts out;
  const double all = std::accumulate(latencies.begin(), latencies.end(), 0.0);
  for (size_t i = 0; i < latencies.size(); ++i)
    out.ops.push_back(Op(prefix + std::to_string(i), prefix + std::to_string(i), static_cast<int64_t>(i),
                         {latencies[i] / all, std::nullopt, 0.5, 0.6, 0.7, std::nullopt}));
  return out;
}

TEST(Similarity, TheClassicCheckValuesHold) {
  const Similarity s = CompareFingerprints(Of({1, 2, 1.5}), Of({1.2, 2.5, 1.0}));
  EXPECT_NEAR(s.plain, 0.99684439, 5e-9);
  ASSERT_EQ(s.divergent.size(), 3u);
  EXPECT_EQ(s.divergent[0].index_a, 2);
  EXPECT_EQ(s.divergent[1].index_a, 1);
  EXPECT_EQ(s.divergent[2].index_a, 0);
  EXPECT_NEAR(s.divergent[0].distance, 1.5 / 4.5 - 1.0 / 4.7, 1e-12);
  EXPECT_EQ(s.substituted, 3 * 4) << "two features of three ops in both runs";
}

TEST(Similarity, OfARunWithItselfIsOne) {
  const FingerprintFacts a = Of({1, 2, 1.5});
  const Similarity s = CompareFingerprints(a, a);
  EXPECT_DOUBLE_EQ(s.similarity, 1);
  EXPECT_DOUBLE_EQ(s.plain, 1);
  EXPECT_DOUBLE_EQ(s.matched_share_a, 1);
  EXPECT_EQ(s.divergent[0].distance, 0);
}

TEST(Similarity, UnalignedTimeReducesTheSimilarity) {
  FingerprintFacts a = Of({1, 9}), b = Of({1, 9});
  b.ops[1].sig = b.ops[1].name = "another";
  const Similarity s = CompareFingerprints(a, b);
  EXPECT_DOUBLE_EQ(s.cosine, 1);
  EXPECT_DOUBLE_EQ(s.matched_share_a, 0.1);
  EXPECT_DOUBLE_EQ(s.similarity, 0.1);
  EXPECT_EQ(s.matched_ops, 1);
  EXPECT_FALSE(s.divergent[0].index_b && s.divergent[0].index_a) << "ops without a partner diverge most";
}

TEST(Similarity, AnInsertedOpDoesNotMisalignTheRest) {
  FingerprintFacts a = Of({1, 2, 3, 4}), b = Of({1, 2, 3, 4});
  b.ops.insert(b.ops.begin() + 1, Op("new", "new", 1, {0.0, std::nullopt, 0.5, 0.6, 0.7, std::nullopt}));
  for (size_t i = 0; i < b.ops.size(); ++i) b.ops[i].index = static_cast<int64_t>(i);
  const Similarity s = CompareFingerprints(a, b);
  EXPECT_EQ(s.matched_ops, 4);
  EXPECT_DOUBLE_EQ(s.similarity, 1);
}

TEST(Similarity, DifferentShapesAlignByTypeNameAndOrder) {
  FingerprintFacts a = Of({1, 2}), b = Of({1, 2});
  for (auto* facts : {&a, &b}) facts->ops[0].name = facts->ops[1].name = "aten::mm";
  b.ops[0].sig = "x";
  b.ops[1].sig = "y";
  const Similarity s = CompareFingerprints(a, b);
  EXPECT_EQ(s.matched_ops, 2);
  EXPECT_DOUBLE_EQ(s.similarity, 1);
  EXPECT_EQ(s.divergent[0].index_a, s.divergent[0].index_b);
}

TEST(Similarity, ARepeatedSignatureIsUsedOnce) {
  FingerprintFacts a = Of({1, 1, 1}), b = Of({1, 1});
  for (auto* facts : {&a, &b})
    for (auto& op : facts->ops) op.sig = op.name = "same";
  const Similarity s = CompareFingerprints(a, b);
  EXPECT_EQ(s.matched_ops, 2);
  EXPECT_NEAR(s.matched_share_a, 2.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(s.matched_share_b, 1);
}

TEST(Similarity, AFeatureThatOneRunDidNotMeasureIsUnknownNotZero) {
  FingerprintFacts a = Of({1, 2}), b = Of({1, 2});
  for (auto& op : b.ops) op.values[2] = std::nullopt;
  const Similarity s = CompareFingerprints(a, b);
  EXPECT_DOUBLE_EQ(s.similarity, 1);
  EXPECT_EQ(s.substituted, 2 * (4 + 1));
  EXPECT_LT(s.plain, 0.95) << "plain takes null as 0";
}

TEST(Similarity, AHighIntensityDoesNotDominateTheOtherFeatures) {
  FingerprintFacts a = Of({1, 1}), b = Of({1, 1});
  for (auto* facts : {&a, &b})
    for (auto& op : facts->ops) op.values[1] = 5000;
  for (auto& op : b.ops) op.values[2] = 0.05;
  const Similarity s = CompareFingerprints(a, b);
  EXPECT_GT(s.plain, 0.9999) << "raw features: the intensity is all there is";
  EXPECT_LT(s.similarity, 0.96);
}

TEST(Similarity, HeavyOpsDecide) {
  FingerprintFacts a = Of({0.01, 99.99}), light = a, heavy = a;
  light.ops[0].values[2] = 0.0;
  heavy.ops[1].values[2] = 0.0;
  EXPECT_GT(CompareFingerprints(a, light).similarity, 0.9999);
  EXPECT_LT(CompareFingerprints(a, heavy).similarity, 0.95);
}

TEST(Similarity, ARunWithoutOpsHasNoSimilarity) {
  const Similarity s = CompareFingerprints(Of({1, 2}), FingerprintFacts());
  EXPECT_EQ(s.similarity, 0);
  EXPECT_EQ(s.matched_share_a, 0);
  EXPECT_EQ(s.matched_ops, 0);
  EXPECT_TRUE(std::isfinite(CompareFingerprints(FingerprintFacts(), FingerprintFacts()).similarity));
  EXPECT_FALSE(s.divergent[0].index_b);
}

}  // namespace
}  // namespace nl
