// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "base/terminal.h"
#include "report/trend/trend_reply.h"

namespace nl {
namespace {

// Ten runs, the level rises at the sixth; the eighth has no value.
TrendReply TenRuns() {
  TrendReply r;
  r.metric = "wall";
  r.unit = "ms";
  r.workload = TrendWorkload{"llama", "NVIDIA H200", 1, "bf16", "pytorch"};
  for (int i = 0; i < 10; ++i) {
    TrendRun run{"id" + std::to_string(i),
                 "s" + std::to_string(i),
                 "2025-01-0" + std::to_string(i) + "T10:00:00Z",
                 "a\x1b[31m.json",
                 {},
                 {},
                 {},
                 {}};
    if (i == 7) {
      run.reason = "the run has no span with a duration";
    } else {
      run.value = i < 5 ? 100 : 120;
      run.level = *run.value;
    }
    r.runs.push_back(run);
  }
  r.change_points = {
      {5, "id5", "s5", r.runs[5].created_at, 100, 120, 0.2, 0.001, TrendDirection::kRegressed}};
  r.unreadable = {{"the run has no span with a duration", {"s7"}}};
  r.left_out = 2;
  return r;
}

// Whether the text has the words, wherever its lines are wrapped.
bool TrendHas(const std::string& text, const std::string& part) {
  return std::regex_replace(text, std::regex("\\s+"), " ").find(part) != std::string::npos;
}

TEST(TrendText, NamesTheChangeOfLevelAndTheRunsWithoutAValue) {
  const std::string text = TrendText(TenRuns(), 80, false);
  EXPECT_TRUE(text.starts_with("wall over 9 runs of llama on NVIDIA H200: 1 change of level")) << text;
  EXPECT_TRUE(TrendHas(text, "┊ 2025-01-05 s5 regressed: 100.0 ms -> 120.0 ms (+20.00 %), p 0.001")) << text;
  EXPECT_TRUE(TrendHas(text, "1 run could not be read: the run has no span with a duration (s7)")) << text;
  EXPECT_TRUE(TrendHas(text, "2 runs on another device, precision or backend left out")) << text;
}

TEST(TrendText, FitsTheTerminalAndHoldsNoControlCharacters) {
  for (const int width : {60, 80, 120}) {
    std::istringstream lines(TrendText(TenRuns(), width, false));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(DisplayWidth(line), width) << line;
      EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
    }
  }
}

TEST(TrendText, FewRunsNeedMoreAndNoRunsDoNotMatch) {
  TrendReply few = TenRuns();
  few.runs.resize(3);
  few.change_points.clear();
  EXPECT_TRUE(TrendHas(TrendText(few, 80, false), "needs at least 6 runs"));
  EXPECT_EQ(TrendText(TrendReply(), 80, false), "no runs match\n");
  for (TrendRun& run : few.runs) run.value = std::nullopt;
  EXPECT_TRUE(TrendHas(TrendText(few, 80, false), "no value in 3 runs"));
}

}  // namespace
}  // namespace nl
