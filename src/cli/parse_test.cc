// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.h"

#include <gtest/gtest.h>

#include "cli/fake_op.h"

namespace nl {
namespace {

using Words = std::vector<std::string>;

struct Parsed {
  Json args;
  GlobalOptions options;
  std::string error;  // with the hint
};

Parsed Parse(Op&& op, const Words& words) {
  Parsed out;
  const CommandInfo command = DescribeCommand(op);
  const Result<Json> args = ParseParams(command, words, out.options);
  if (args.ok()) {
    out.args = *args;
  } else {
    EXPECT_EQ(args.error().code, ErrorCode::kInvalidInput);
    out.error = args.error().ToString();
  }
  return out;
}

Parsed Echo(const Words& words) { return Parse(EchoOp(), words); }

TEST(Parse, RepeatedPositionalLeavesTheLastWordToTheNextOne) {
  EXPECT_EQ(Echo({"a", "SELECT"}).args, (Json{{"run", {"a"}}, {"sql", "SELECT"}}));
  EXPECT_EQ(Echo({"a", "b", "c", "SELECT"}).args, (Json{{"run", {"a", "b", "c"}}, {"sql", "SELECT"}}));
}

TEST(Parse, MissingAndSurplusWordsAreNamedWithTheUsage) {
  EXPECT_EQ(Echo({}).error, "RUN is missing (usage: neurolens echo [options] RUN... SQL)");
  EXPECT_EQ(Echo({"a"}).error, "SQL is missing (usage: neurolens echo [options] RUN... SQL)");
  EXPECT_EQ(Parse(LookOp(), {"a", "b"}).error, "unexpected argument 'b' (usage: neurolens look [FILE])");
}

TEST(Parse, ValuesFollowAfterABlankOrAnEqualsSign) {
  const Parsed parsed = Echo({"--row-limit", "5", "a", "--scale=2.5", "q"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.args["row_limit"], 5);
  EXPECT_EQ(parsed.args["scale"], 2.5);
  EXPECT_EQ(parsed.args["sql"], "q");
}

TEST(Parse, NegativeNumbersAndASingleDashAreNoFlags) {
  EXPECT_EQ(Echo({"a", "-5"}).args["sql"], "-5");
  EXPECT_EQ(Echo({"a", "-"}).args["sql"], "-");
  EXPECT_EQ(Echo({"a", "q", "--scale", "-.5"}).args["scale"], -0.5);
  EXPECT_EQ(Parse(LookOp(), {"-"}).args["file"], "-");
}

TEST(Parse, DoubleDashStandsBetweenTwoLists) {
  const auto pair = [](const Words& words) { return Parse(PairOp(), words); };
  EXPECT_EQ(pair({"x", "y"}).args, (Json{{"a", {"x"}}, {"b", {"y"}}}));
  EXPECT_EQ(pair({"x", "--", "y"}).args, (Json{{"a", {"x"}}, {"b", {"y"}}}));
  EXPECT_EQ(pair({"1", "2", "3", "--", "4", "5"}).args, (Json{{"a", {"1", "2", "3"}}, {"b", {"4", "5"}}}));
  EXPECT_EQ(pair({"1", "--", "4", "--deep", "5"}).args,
            (Json{{"deep", true}, {"a", {"1"}}, {"b", {"4", "5"}}}));
  EXPECT_EQ(pair({"1", "--", "4", "--", "--deep"}).args, (Json{{"a", {"1"}}, {"b", {"4", "--deep"}}}));
}

TEST(Parse, TwoListsThatCannotBeToldApartAreRefused) {
  const auto error = [](const Words& words) { return Parse(PairOp(), words).error; };
  EXPECT_EQ(error({"1", "2", "3"}),
            "two lists need -- between them (usage: neurolens pair [options] A... -- B...)");
  EXPECT_EQ(error({"1", "2", "--"}), "B is missing (usage: neurolens pair [options] A... -- B...)");
  EXPECT_EQ(error({"--", "1"}), "A is missing (usage: neurolens pair [options] A... -- B...)");
  EXPECT_EQ(error({"1"}), "B is missing (usage: neurolens pair [options] A... -- B...)");
}

TEST(Parse, DoubleDashEndsTheFlags) {
  EXPECT_EQ(Echo({"a", "--", "--row-limit"}).args["sql"], "--row-limit");
  EXPECT_FALSE(Echo({"a", "--", "--json"}).options.json);
}

TEST(Parse, SwitchesHaveANegativeForm) {
  EXPECT_EQ(Echo({"a", "q", "--no-header", "--deep"}).args,
            (Json{{"header", false}, {"deep", true}, {"run", {"a"}}, {"sql", "q"}}));
  EXPECT_EQ(Echo({"a", "q", "--header=false"}).args["header"], false);
  EXPECT_NE(Echo({"a", "q", "--no-header=1"}).error, "");
  EXPECT_NE(Echo({"a", "q", "--header=maybe"}).error, "");
}

TEST(Parse, RepeatedFlagsCollectAndOthersMayStandOnce) {
  EXPECT_EQ(Echo({"a", "q", "--tag", "k=v", "--tag=x=y=z"}).args["tag"], (Json{"k=v", "x=y=z"}));
  EXPECT_EQ(Echo({"a", "q", "--scale", "1", "--scale", "2"}).error, "--scale is given twice");
}

TEST(Parse, AListBehindAFlagTakesEveryWordWhereNoneCanMeanAnythingElse) {
  const auto judge = [](const Words& words) { return Parse(JudgeOp(), words); };
  EXPECT_EQ(judge({"--left", "a", "b", "--right", "c", "d", "--loud"}).args,
            (Json{{"left", {"a", "b"}}, {"right", {"c", "d"}}, {"loud", true}}));
  EXPECT_EQ(judge({"--left", "a", "--left", "b", "-1"}).args["left"], (Json{"a", "b", "-1"}));
  EXPECT_NE(judge({"--left=a", "b"}).error, "") << "written with =, it is one value";
  EXPECT_NE(judge({"--left", "a", "--loud", "b"}).error, "");
  EXPECT_NE(judge({"--left", "--right", "a"}).error, "");
  // With positionals a word after the flag's own is one of those.
  EXPECT_EQ(Echo({"--tag", "k=v", "a", "q"}).args["tag"], (Json{"k=v"}));
}

TEST(Parse, GlobalFlagsAreTakenAnywhere) {
  const Parsed parsed = Echo({"--json", "a", "--store", "/x", "q", "-q", "--color=never"});
  EXPECT_TRUE(parsed.options.json);
  EXPECT_TRUE(parsed.options.quiet);
  const std::vector<std::pair<std::string, std::string>> settings{{"store", "/x"}, {"color", "never"}};
  EXPECT_EQ(parsed.options.settings, settings);
  GlobalOptions options;
  const Result<CommandWords> leading =
      ParseLeading({"--store", "/x", "--json", "echo", "--deep", "a"}, options);
  ASSERT_TRUE(leading.ok());
  EXPECT_EQ(leading->command, "echo");
  EXPECT_EQ(leading->rest, (Words{"--deep", "a"}));
  EXPECT_TRUE(options.json);
}

TEST(Parse, UnknownFlagsGetTheNearestKnownOne) {
  EXPECT_EQ(Echo({"a", "q", "--row-limt", "3"}).error,
            "unknown flag '--row-limt' (did you mean '--row-limit'?)");
  EXPECT_EQ(Echo({"a", "q", "--jsno"}).error, "unknown flag '--jsno' (did you mean '--json'?)");
  EXPECT_EQ(Echo({"a", "q", "--zzzzzzzz"}).error,
            "unknown flag '--zzzzzzzz' ('neurolens echo --help' lists the flags)");
  EXPECT_NE(Echo({"a", "q", "-x"}).error.find("unknown flag '-x'"), std::string::npos);
}

TEST(Parse, ValuesOfTheWrongTypeAreRefusedWithTheFlagsName) {
  EXPECT_EQ(Echo({"a", "q", "--row-limit", "5x"}).error, "--row-limit must be a whole number, not '5x'");
  EXPECT_EQ(Echo({"a", "q", "--row-limit", "1.5"}).error, "--row-limit must be a whole number, not '1.5'");
  EXPECT_EQ(Echo({"a", "q", "--row-limit", "99999999999999999999"}).error,
            "--row-limit: '99999999999999999999' is too large");
  EXPECT_EQ(Echo({"a", "q", "--scale", "nan"}).error, "--scale must be a number, not 'nan'");
  EXPECT_EQ(Echo({"a", "q", "--row-limit", ""}).error, "--row-limit must be a whole number, not ''");
  EXPECT_NE(Echo({"a", "q", "--end", "txet"}).error.find("did you mean 'text'?"), std::string::npos);
}

TEST(Parse, AFlagWithoutItsValueIsRefused) {
  EXPECT_EQ(Echo({"a", "q", "--scale"}).error, "--scale needs a value");
  EXPECT_EQ(Echo({"a", "q", "--tag", "--json"}).error,
            "--tag needs a value, but '--json' follows (write --tag=--json if that is the value)");
  EXPECT_EQ(Echo({"a", "q", "--json=1"}).error, "--json takes no value");
}

TEST(Parse, HelpNeedsNoArguments) {
  const Parsed parsed = Echo({"--help"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_TRUE(parsed.options.help);
}

}  // namespace
}  // namespace nl
