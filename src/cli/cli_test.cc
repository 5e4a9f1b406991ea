// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "cli/fake_op.h"
#include "cli/help.h"
#include "cli/progress.h"

namespace nl {
namespace {

struct Outcome {
  int status = -1;
  std::string out, err;
};

std::string Contents(FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

CliHost Host() {
  CliHost host;
  host.ops = &FakeOps();
  host.settings.directory = "/";
  host.settings.environment = [](const char* name) -> const char* {
    return std::string_view(name) == "HOME" ? "/nowhere" : nullptr;
  };
  return host;
}

Outcome Cli(const std::vector<std::string>& words) {
  FILE* out = std::tmpfile();
  FILE* err = std::tmpfile();
  CliHost host = Host();
  host.out_fd = fileno(out);
  host.err_fd = fileno(err);
  Outcome outcome;
  outcome.status = RunCli(words, host);
  outcome.out = Contents(out);
  outcome.err = Contents(err);
  return outcome;
}

TEST(Cli, TextJsonAndRawGoToStdoutAlone) {
  const Outcome text = Cli({"echo", "a", "q"});
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.out, "text:q\n");
  EXPECT_EQ(text.err, "");
  const Outcome json = Cli({"--json", "echo", "a", "q", "--row-limit", "7"});
  const Result<Json> reply = ParseJson(json.out);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ((*reply)["row_limit"], 7);
  EXPECT_EQ(Cli({"echo", "a", "q", "--end", "raw"}).out, "a,b\r\n");
}

TEST(Cli, EscapeSequencesInAReplyAreNotPrinted) {
  EXPECT_EQ(Cli({"echo", "a", "\x1b[2J"}).out, "text:\\u001b[2J\n");
}

TEST(Cli, ExitStatusGivesTheOutcome) {
  EXPECT_EQ(Cli({"echo", "a", "q", "--end", "no"}).status, 1);
  EXPECT_EQ(Cli({"echo", "a"}).status, 2);
  EXPECT_EQ(Cli({"echo", "a", "q", "--row-limit", "0"}).status, 2);
  EXPECT_EQ(Cli({"echo", "a", "q", "--threads", "x"}).status, 2);
  EXPECT_EQ(Cli({"nothing"}).status, 2);
  EXPECT_EQ(Cli({}).status, 2);
  EXPECT_EQ(Cli({"echo", "a", "q", "--end", "io"}).status, 3);
  EXPECT_EQ(Cli({"echo", "a", "q", "--end", "throw"}).status, 4);
  EXPECT_EQ(Cli({"echo", "a", "q", "--end", "cancel"}).status, 130);
}

TEST(Cli, AnOperationMayDefineItsOwnExitStatus) {
  EXPECT_EQ(Cli({"judge", "--left", "a"}).status, 0);
  EXPECT_EQ(Cli({"judge", "--left", "a", "--right", "b", "c"}).status, 1);
  EXPECT_EQ(Cli({"judge", "--left", "a", "--right", "b"}).status, 2);
  EXPECT_EQ(Cli({"judge", "--left", "a", "--right", "b", "--json"}).status, 2);
  EXPECT_EQ(Cli({"judge"}).status, 3) << "bad usage has a status that is not one of its answers";
  EXPECT_EQ(Cli({"judge", "--left", "a", "--nothing"}).status, 3);
  EXPECT_EQ(Cli({"judge", "--left", "bad"}).status, 3);
  EXPECT_NE(CommandHelp(DescribeCommand(*FakeOps()[2].make()), {}).find("Exit status: 0 yes"),
            std::string::npos);
}

TEST(Cli, ErrorsNameThePlaceAndTheHint) {
  const Outcome outcome = Cli({"echo", "a", "q", "--end", "io"});
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "neurolens: error: trace.json: byte 42: cannot read: Input/output error\n"
            "  hint: look at the disk\n");
}

TEST(Cli, ErrorsAreJsonToo) {
  const Outcome outcome = Cli({"echo", "a", "q", "--end", "io", "--json"});
  const Result<Json> reply = ParseJson(outcome.out);
  ASSERT_TRUE(reply.ok()) << outcome.out;
  const Json& error = (*reply)["error"];
  EXPECT_EQ(error["code"], "io");
  EXPECT_EQ(error["file"], "trace.json");
  EXPECT_EQ(error["byte_offset"], 42);
  EXPECT_EQ(error["hint"], "look at the disk");
  const Outcome usage = Cli({"--bogus", "echo", "--json"});
  ASSERT_TRUE(ParseJson(usage.out).ok()) << "also when the arguments are wrong";
}

TEST(Cli, UnknownCommandsGetTheNearestKnownOne) {
  EXPECT_NE(Cli({"ehco"}).err.find("did you mean 'echo'?"), std::string::npos);
  EXPECT_NE(Cli({"qqqqq"}).err.find("neurolens --help"), std::string::npos);
}

TEST(Cli, HelpWorksInEveryUsualForm) {
  const std::string help = Cli({"echo", "--help"}).out;
  EXPECT_EQ(Cli({"help", "echo"}).out, help);
  EXPECT_EQ(Cli({"--help", "echo"}).out, help);
  EXPECT_EQ(Cli({"echo", "-h"}).out, help);
  EXPECT_EQ(Cli({"--help"}).out, Cli({"help"}).out);
  EXPECT_EQ(Cli({"help", "ehco"}).status, 2);
}

TEST(Cli, OutputThatCannotBeWrittenIsAnIoError) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  FILE* err = std::tmpfile();
  CliHost host = Host();
  host.out_fd = full;
  host.err_fd = fileno(err);
  EXPECT_EQ(RunCli({"echo", "a", "q"}, host), 3);
  EXPECT_NE(Contents(err).find("cannot write the output"), std::string::npos);
  close(full);
}

TEST(Cli, AClosedPipeIsNotAFailure) {
  const auto before = signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  FILE* err = std::tmpfile();
  CliHost host = Host();
  host.out_fd = ends[1];
  host.err_fd = fileno(err);
  EXPECT_EQ(RunCli({"echo", "a", "q"}, host), 0);
  EXPECT_EQ(Contents(err), "");
  close(ends[1]);
  signal(SIGPIPE, before);
}

TEST(Help, NamesEveryParameterItsUnitsAndTheExample) {
  EchoOp op;
  const std::string help = CommandHelp(DescribeCommand(op), {});
  for (const char* expected :
       {"neurolens echo [options] RUN... SQL", "--row-limit N", "(default 20; 1 to 1000)", "--[no-]header",
        "--deep", "--tag KEY=VALUE", "text|raw|no", "neurolens echo @latest 'SELECT 1'", "In tests."}) {
    EXPECT_NE(help.find(expected), std::string::npos) << expected << "\n" << help;
  }
}

TEST(Help, OverviewListsEveryCommandAndGlobalFlag) {
  const std::string help = OverviewHelp(DescribeCommands(FakeOps()), {});
  for (const char* expected :
       {"Repeat what it was given.", "Look at a file.", "--store DIR", "-q, --quiet"}) {
    EXPECT_NE(help.find(expected), std::string::npos) << expected << "\n" << help;
  }
}

TEST(Progress, ShowsShareSpeedAndTimeLeftWithinTheWidth) {
  EXPECT_EQ(ProgressText("trace.json", 500'000'000, 2'000'000'000, 1'000'000'000, 80),
            "trace.json   25 %  500 MB/s  3 s left");
  EXPECT_EQ(ProgressText("trace.json", 500'000'000, 0, 1'000'000'000, 80), "trace.json  500.0 MB  500 MB/s");
  EXPECT_EQ(ProgressText("writing", 0, 0, 0, 80), "writing");
  EXPECT_LE(ProgressText(std::string(300, 'x'), 1, 2, 1, 60).size(), 62u) << "the ellipsis has three bytes";
  EXPECT_EQ(ProgressText("a\x1b[2J", 0, 0, 0, 80), "a\\u001b[2J");
}

}  // namespace
}  // namespace nl
