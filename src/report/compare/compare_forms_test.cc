// SPDX-License-Identifier: Apache-2.0
// The forms of a comparison, on comparisons made by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/record_json.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "report/compare/compare_forms.h"
#include "report/compare/compare_value.h"
#include "report/compare/explain.h"
#include "testing/compare_fixture.h"

namespace nl {
namespace {

using testing_compare::Empty;
using testing_compare::Hostile;
using testing_compare::Of;
using testing_compare::OneSide;
using testing_compare::Usual;

CompareReply ReplyFor(const Comparison& comparison) {
  CompareReply out;
  static_cast<CompareFacts&>(out) = CompareFactsOf(comparison);
  return out;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

size_t Blocks(const std::string& line) {
  size_t count = 0;
  for (size_t at = line.find("█"); at != std::string::npos; at = line.find("█", at + 1)) ++count;
  return count;
}

std::string LineWith(const std::string& text, const std::string& part) {
  for (const std::string& line : Lines(text)) {
    if (Has(line, part)) return line;
  }
  return "";
}

TEST(CompareText, StartsWithTheVerdictAndEndsTheWaterfallWithTheSum) {
  const std::string text = CompareText(ReplyFor(Usual()), {80, false, "", 10});
  EXPECT_TRUE(
      text.starts_with("B is slower by 16.5 ms (+18.3 % of A's wall time) because of the changes below.\n"))
      << text;
  EXPECT_TRUE(Has(LineWith(text, "sync added"), "+18.00  109.1 %")) << text;
  EXPECT_TRUE(Has(LineWith(text, "copy added (HtoD pageable)"), "+2.00")) << text;
  EXPECT_TRUE(Has(text, "decode_step · layers.*.mlp · aten::item")) << text;
  EXPECT_TRUE(Has(LineWith(text, "B - A"), "+16.50  100.0 %")) << text;
  EXPECT_LT(text.find("sync added"), text.find("kernel replaced"));
  EXPECT_TRUE(Has(text, "batch size: 1 -> 4: times are per token")) << text;
  EXPECT_TRUE(Has(text, "driver: - -> 555.42")) << text;
  EXPECT_TRUE(Has(text, "per token: 1.5 ms -> -")) << text;
  EXPECT_TRUE(Has(text, "3.0 ms from aten::mm to aten::addmm in decode_step")) << text;
}

TEST(CompareText, BarsStandOnOneAxisAndAreAsLongAsTheirCost) {
  const std::string text = CompareText(ReplyFor(Usual()), {100, false, "", 10});
  const std::string more = LineWith(text, "sync added"), less = LineWith(text, "kernel replaced");
  const auto axis = [](const std::string& line) { return DisplayWidth(line.substr(0, line.find("│"))); };
  EXPECT_EQ(axis(more), axis(less));
  EXPECT_LT(more.find("│"), more.find("█")) << "more goes to the right";
  EXPECT_GT(less.find("│"), less.find("█")) << "less goes to the left";
  EXPECT_NEAR(static_cast<double>(Blocks(more)) / static_cast<double>(Blocks(less)), 18.0 / 4, 1.0);
}

TEST(CompareText, NamesTheComparedRunOfSeveral) {
  CompareReply reply = ReplyFor(Usual());
  reply.runs.a = {{"run-a", "base.json", {}, {}, {}}};
  reply.runs.b = {{"other", "other.json", {}, {}, {}}, {"run-b", "slow.json", {}, {}, {}}};
  EXPECT_TRUE(Has(CompareText(reply, {80, false, "", 20}), "slow.json and 1 more"));
}

TEST(CompareText, IsNeverWiderThanTheTerminal) {
  for (const Comparison& c : {Usual(), Hostile(), Hostile(500), Empty(), OneSide()}) {
    for (const int width : {60, 80, 200}) {
      const std::string text = CompareText(ReplyFor(c), {width, false, "kernel", 20});
      for (const std::string& line : Lines(text)) ASSERT_LE(DisplayWidth(line), width) << line;
    }
  }
}

TEST(CompareText, HostileNamesAreOnlyText) {
  const std::string text = CompareText(ReplyFor(Hostile()), {80, false, "op", 20});
  EXPECT_FALSE(Has(text, "\x1b"));
  EXPECT_FALSE(Has(text, "\r"));
  EXPECT_FALSE(Has(text, "\u202e"));
  EXPECT_EQ(PrintableText(text, Keep::kLines), text);
}

TEST(CompareText, HasColourOnlyOnRequest) {
  const CompareReply reply = ReplyFor(Usual());
  const std::string plain = CompareText(reply, {80, false, "", 10});
  const std::string painted = CompareText(reply, {80, true, "", 10});
  EXPECT_EQ(std::regex_replace(painted, std::regex("\x1b\\[[0-9]*m"), ""), plain);
  EXPECT_TRUE(Has(painted, "\x1b[31m") && Has(painted, "\x1b[32m")) << "red for more, green for less";
}

TEST(CompareText, UnknownIsADash) {
  const std::string nothing = CompareText(ReplyFor(Empty()), {80, false, "kernel", 10});
  EXPECT_TRUE(Has(nothing, "no change that costs or saves time")) << nothing;
  EXPECT_TRUE(Has(nothing, "no kernel was recorded")) << nothing;
  EXPECT_FALSE(Has(nothing, "nan")) << nothing;
  const std::string one = CompareText(ReplyFor(OneSide()), {80, false, "", 10});
  EXPECT_TRUE(Has(one, "similarity -")) << one;
  EXPECT_FALSE(Has(one, "nan")) << one;
  EXPECT_FALSE(Has(one, "inf")) << one;
}

TEST(CompareText, PrintsATableOnRequest) {
  const CompareReply reply = ReplyFor(Usual());
  EXPECT_FALSE(Has(CompareText(reply, {80, false, "", 10}), "KERNEL"));
  const std::string text = CompareText(reply, {80, false, "kernel", 1});
  EXPECT_TRUE(Has(LineWith(text, "gemm"), "60.0 ms  66.0 ms  +6.0 ms")) << text;
  EXPECT_TRUE(Has(text, "1 more row; --json lists all")) << text;
}

TEST(CompareMarkdown, SumsAndFoldsAndEscapes) {
  const std::string md = CompareMarkdown(ReplyFor(Usual()));
  EXPECT_TRUE(md.starts_with("## Regressed: 90.0 ms -> 106.5 ms (+18.3 %)\n")) << md;
  EXPECT_TRUE(Has(LineWith(md, "| total"), "+16.50")) << md;
  EXPECT_TRUE(Has(md, "<summary>By kernel</summary>\n\n|")) << md;
}

TEST(CompareMarkdown, HostileNamesNeitherBreakATableNorOpenATag) {
  const std::string md = CompareMarkdown(ReplyFor(Hostile()));
  size_t columns = 0;
  for (const std::string& line : Lines(md)) {
    if (!line.starts_with("|")) {
      columns = 0;
      if (line.find('<') != std::string::npos) {
        EXPECT_TRUE(line == "<details>" || line == "</details>" || line.starts_with("<summary>"))
            << line.substr(0, 200);
      }
      continue;
    }
    const std::string bare = std::regex_replace(
        std::regex_replace(line.substr(0, 4000), std::regex(R"(\\\\)"), ""), std::regex(R"(\\\|)"), "");
    const auto bars = static_cast<size_t>(std::count(bare.begin(), bare.end(), '|'));
    if (columns == 0) columns = bars;
    EXPECT_EQ(bars, columns) << line.substr(0, 300);
    EXPECT_EQ(line.find('<'), std::string::npos) << line.substr(0, 300);
  }
  EXPECT_FALSE(Has(md, "\x1b"));
  for (const Comparison& c : {Empty(), OneSide(), Hostile(500)})
    EXPECT_FALSE(Has(CompareMarkdown(ReplyFor(c)), "nan"));
}

TEST(CompareValue, OneUnitFitsTheLargestAndNegativeZeroHasNoSign) {
  EXPECT_EQ(DeltaScale::For(22.5).Signed(22.514), "+22.51");
  EXPECT_EQ(DeltaScale::For(22.5).Signed(-0.001), "0.00");
  EXPECT_EQ(DeltaScale::For(0.02).Signed(0.0123), "+12.30");
  EXPECT_STREQ(DeltaScale::For(0.02).unit, "µs");
  EXPECT_STREQ(DeltaScale::For(2e5).unit, "s");
  EXPECT_EQ(ShareText(std::nullopt), "-");
  EXPECT_EQ(ShareText(123.0), ">999 %");
  EXPECT_EQ(ShareText(-123.0), "<-999 %");
  EXPECT_EQ(ShareText(-0.0001), "0.0 %");
  EXPECT_EQ(ShareText(-2.4151), "-242 %");
  EXPECT_EQ(ShareText(2.4151), "241.5 %");
  EXPECT_EQ(ConfidenceText(0.9989), ">99 %");
}

TEST(CompareNext, UndecidedSuggestsMoreRunsAndDriftSuggestsDeviceTime) {
  Comparison c = Usual();
  c.verdict = CompareVerdict();
  c.verdict.more_runs_needed = 4;
  c.drift = 1.2;
  std::string next;
  for (const NextStep& step : NextSteps(CompareFactsOf(c), "a", "b"))
    next += step.command + ": " + step.why + "\n";
  EXPECT_TRUE(Has(next, "4 more runs on each side")) << next;
  EXPECT_TRUE(Has(next, "neurolens compare a b --time device")) << next;
  EXPECT_TRUE(Has(next, "neurolens idle b")) << next;
}

TEST(CompareExplain, EveryCauseHasASentenceWithItsCost) {
  Comparison comparison = Usual();
  for (size_t i = 0; i < NamesOf(Cause()).size(); ++i) {
    Contribution c = Of(static_cast<Cause>(i), 10, 26);
    c.busy_a_ms = 10;
    c.busy_b_ms = 26;
    const std::string text = ContributionText(c, comparison);
    EXPECT_TRUE(Has(text, "16.0 ms") || Has(text, "10.0 ms -> 26.0 ms"))
        << CauseName(c.cause) << ": " << text;
  }
}

TEST(CompareExplain, HiddenDeviceTimeIsNamed) {
  Contribution c = Of(Cause::kKernelSlower, 10, 10);
  c.busy_a_ms = 10;
  c.busy_b_ms = 26;
  EXPECT_TRUE(Has(ContributionText(c, Usual()), "16.0 ms of device time is hidden"));
  c.b_ms = 26;
  EXPECT_FALSE(Has(ContributionText(c, Usual()), "hidden"));
}

TEST(CompareExplain, EveryBasisOfAVerdictHasASentence) {
  using Basis = CompareVerdict::Basis;
  Comparison c = Usual();
  const auto text = [&c](Basis basis) {
    c.verdict.basis = basis;
    return VerdictText(c);
  };
  EXPECT_EQ(text(Basis::kNotComparable), "No verdict about the program: the runs are not comparable.");
  c.no_verdict_reason = "the device differs";
  EXPECT_EQ(text(Basis::kNotComparable), "No verdict about the program: the device differs.");
  c.work_text = "batch 1 -> 4";
  EXPECT_TRUE(text(Basis::kOnlyWork).starts_with("The work changed (batch 1 -> 4)"));
  EXPECT_TRUE(text(Basis::kNothingChanged).starts_with("No change found: the difference of +16.5 ms"));
  EXPECT_TRUE(text(Basis::kSmallChange).starts_with("The changes cost +16.5 ms"));
  c.walls_a_ms = {90, 91};
  c.walls_b_ms = {106, 107, 108};
  c.verdict.over_runs.ratio = 1.18;
  c.verdict.over_runs.ci_high = 3;
  EXPECT_EQ(text(Basis::kRunSets), "2 runs against 3: wall +18.00 % (too few runs for a useful interval).");
  c.verdict.over_runs.ci_low = 0.1;
  c.verdict.over_runs.ci_high = 0.25;
  EXPECT_TRUE(Has(text(Basis::kRunSets), "99 % interval +10.00 to +25.00 %"));
}

Comparison AcrossDevices() {
  Comparison c = Usual();
  c.comparability = {
      {"device", "NVIDIA H100", "AMD MI300X", "different device: no verdict about the program"}};
  c.no_verdict_reason = "the device differs";
  c.verdict = {};
  c.verdict.basis = CompareVerdict::Basis::kNotComparable;
  AcrossSetups across;
  across.setup_a = "NVIDIA H100", across.setup_b = "AMD MI300X";
  across.devices_a = across.devices_b = 1;
  across.device_a_ms = 1.0, across.device_b_ms = 1.32, across.ratio = 1.32;
  AcrossRow gemm{"gemm", {}, 73, 74, 0.7, 0.72, 1.03, 0.19, 0.11, NearerRoofline::kA, {}};
  AcrossRow attention{"attention", {}, 12, 12, 0.1, 0.4, 4.0, {}, 0.03, {}, "A: no formula for this op"};
  AcrossRow conv{"aten::cudnn_convolution", "aten::miopen_convolution", 1, 1, 0.1, 0.05, 0.5, {}, {}, {}, {}};
  across.families = {gemm, attention};
  across.operators = {conv};
  c.across = across;
  return c;
}

TEST(CompareText, TwoDevicesHaveAVerdictInDeviceTimeAndTables) {
  const CompareReply reply = ReplyFor(AcrossDevices());
  EXPECT_EQ(reply.verdict.text.find("NVIDIA H100 -> AMD MI300X: 1.32 times slower in device time"), 0u)
      << reply.verdict.text;
  EXPECT_NE(reply.verdict.text.find("mostly in attention (100.0 µs -> 400.0 µs)"), std::string::npos)
      << reply.verdict.text;
  const std::string text = CompareText(reply, {120, false, "", 10}), markdown = CompareMarkdown(reply);
  for (const std::string& form : {text, markdown}) {
    EXPECT_NE(form.find("miopen"), std::string::npos) << form;
    EXPECT_NE(form.find("1.03"), std::string::npos) << form;
    EXPECT_NE(form.find("19 %"), std::string::npos) << form;
    EXPECT_NE(form.find("no formula for this op"), std::string::npos) << form;
  }
}

TEST(CompareText, RowsWithoutADifferenceAreCountedNotListed) {
  Comparison c = Usual();
  c.contributions.insert(c.contributions.begin(), Of(Cause::kFusionLost, 3, 3));
  c.by_op.push_back({"aten::equal_in_both", 4, 4, 1.5, 1.5, 0, 0});
  const CompareReply reply = ReplyFor(c);
  EXPECT_EQ(reply.equal_changes, 1);
  const std::string text = CompareText(reply, {80, false, "op", 10});
  EXPECT_EQ(text.find("aten::equal_in_both"), std::string::npos) << text;
  EXPECT_NE(text.find("1 row without a difference left out"), std::string::npos) << text;
  EXPECT_NE(text.find("1 change without a difference in time left out"), std::string::npos) << text;
}

TEST(CompareNext, DeviceTimeDoesNotSuggestItself) {
  Comparison c = Usual();
  c.drift = 1.2, c.busy_a_ms = 10;
  CompareFacts facts = CompareFactsOf(c);
  const auto suggests = [&] {
    for (const NextStep& step : NextSteps(facts, "A", "B")) {
      if (step.command.find("--time device") != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(suggests());
  facts.options.time = "device";
  EXPECT_FALSE(suggests());
}

// A contribution of several operators names its largest with the time of that one alone.
TEST(CompareExplain, SeveralOperatorsAreNotOne) {
  Comparison c = Usual();
  Contribution several = Of(Cause::kKernelReplaced, 27, 26);
  several.op = "aten::copy_", several.busy_a_ms = 27.4, several.busy_b_ms = 26.3;
  several.parts = {{"aten::copy_", "x", "y", "", "", "different kernel", 10, 10, 5, 4, 2.8, 1.4},
                   {"aten::mm", "p", "q", "", "", "different kernel", 10, 10, 22, 22, 24.6, 24.9}};
  const std::string text = ContributionText(several, c);
  EXPECT_EQ(
      text,
      "2 kinds of calls run different kernels: device time 27.4 ms -> 26.3 ms; largest: aten::copy_ runs y "
      "instead of x, device time 2.8 ms -> 1.4 ms");
}

}  // namespace
}  // namespace nl
