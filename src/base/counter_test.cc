// SPDX-License-Identifier: Apache-2.0
#include "base/counter.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

const CounterInfo kLoss{"loss", Severity::kDataLoss, "meaning", "advice"};
const CounterInfo kNote{"note", Severity::kNotice, "meaning", "advice"};

TEST(CounterSet, CountsByReasonAndBySeverity) {
  CounterSet set;
  EXPECT_TRUE(set.empty());
  set.Add(kLoss, 10, "text");
  set.Add(kLoss);
  set.Add(kNote, -1, {}, 5);
  EXPECT_EQ(set.Count("loss"), 2);
  EXPECT_EQ(set.Count("note"), 5);
  EXPECT_EQ(set.Count("absent"), 0);
  EXPECT_EQ(set.Count(Severity::kDataLoss), 2);
  EXPECT_EQ(set.Count(Severity::kNotice), 5);
  EXPECT_EQ(set.Count(Severity::kError), 0);
}

TEST(CounterSet, KeepsTheFirstSamplesAndCountsTheRest) {
  CounterSet set;
  for (int64_t i = 0; i < 250; ++i) set.Add(kLoss, i, "x");
  EXPECT_EQ(set.Count("loss"), 250);
  ASSERT_EQ(set.samples().size(), CounterSet::kSamplesPerReason);
  EXPECT_EQ(set.samples().front().byte_offset, 0);
  EXPECT_EQ(set.samples().back().byte_offset, 99);
}

TEST(CounterSet, CutsTheTextOfASample) {
  CounterSet set;
  set.Add(kLoss, 0, std::string(1 << 20, 'x'));
  EXPECT_EQ(set.samples()[0].text.size(), CounterSet::kSampleBytes);
}

TEST(CounterSet, MergeAddsCountsKeepsTheCapAndEmptiesTheOther) {
  CounterSet a, b;
  for (int64_t i = 0; i < 80; ++i) a.Add(kLoss, i);
  for (int64_t i = 80; i < 160; ++i) b.Add(kLoss, i);
  b.Add(kNote);
  a.Merge(std::move(b));
  EXPECT_EQ(a.Count("loss"), 160);
  EXPECT_EQ(a.Count("note"), 1);
  EXPECT_EQ(a.samples().size(), CounterSet::kSamplesPerReason + 1);
  EXPECT_TRUE(b.empty());  // NOLINT: Merge says so
}

TEST(Severity, NamesAreThoseOfTheImportLog) {
  EXPECT_EQ(SeverityName(Severity::kInfo), "info");
  EXPECT_EQ(SeverityName(Severity::kNotice), "notice");
  EXPECT_EQ(SeverityName(Severity::kDataLoss), "data_loss");
  EXPECT_EQ(SeverityName(Severity::kError), "error");
}

}  // namespace
}  // namespace nl
