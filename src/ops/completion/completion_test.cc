// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "ops/completion/scripts.h"

namespace nl::ops::completion {
namespace {

namespace fs = std::filesystem;

// Commands whose help texts try to break out of every quoting.
std::vector<CommandInfo> HostileCommands() {
  CommandInfo list;
  list.op.name = "ls";
  list.op.summary = "It's a [list]: \"all\" $(touch owned) `touch owned` \\ runs";
  ParamInfo sort;
  sort.name = "sort_by";
  sort.help = "Order; it's [one] of: a 'few' $(touch owned)";
  sort.kind = ParamKind::kChoice;
  sort.choices = {"created", "wall"};
  ParamInfo header;
  header.name = "header";
  header.help = "Print a header.";
  header.kind = ParamKind::kBool;
  header.default_value = true;
  list.params = {sort, header};

  CommandInfo tag;
  tag.op.name = "tag";
  tag.op.summary = "Name it.";
  tag.op.writes = true;
  ParamInfo run;
  run.name = "run";
  run.kind = ParamKind::kRun;
  run.names_run = true;
  run.positional = run.repeated = run.required = true;
  tag.params = {run};
  CommandInfo idle = tag;  // it only reads: a profile may be given instead
  idle.op.name = "idle";
  idle.op.writes = false;
  return {list, tag, idle};
}

class CompletionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/nl_completion_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    // Stands for the program: what the scripts call for run names.
    std::ofstream(folder_ + "/neurolens")
        << "#!/bin/sh\necho \"$*\" >> " << folder_ << "/calls\nprintf '@latest\\n0198aa\\n0199bb\\n'\n";
    fs::permissions(folder_ + "/neurolens", fs::perms::owner_all);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Shell(const std::string& command, int* status) {
    std::string out;
    FILE* pipe = popen(("cd " + folder_ + " && " + command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return "no shell";
    for (int c; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
    *status = pclose(pipe);
    return out;
  }

  // What bash offers for a line typed up to its end, one candidate a line.
  std::string Complete(const std::string& line) {
    std::ofstream(folder_ + "/c.bash") << BashScript(HostileCommands());
    std::ofstream(folder_ + "/try.bash")
        << "PATH=" << folder_ << ":$PATH\nsource ./c.bash\nCOMP_LINE=" << Quoted(line)
        << "\nCOMP_POINT=${#COMP_LINE}\n_neurolens\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    int status = -1;
    std::string out = Shell("bash ./try.bash", &status);
    EXPECT_EQ(status, 0) << out;
    return out;
  }

  void ExpectParses(const std::string& shell, const std::string& script) {
    int status = -1;
    Shell("command -v " + shell, &status);
    if (status != 0) GTEST_SKIP() << shell << " is not installed";
    std::ofstream(folder_ + "/script") << script;
    const std::string out = Shell(shell + " -n ./script", &status);
    EXPECT_EQ(status, 0) << out;
  }

  std::string folder_;
};

TEST_F(CompletionTest, BashScriptParses) { ExpectParses("bash", BashScript(HostileCommands())); }
TEST_F(CompletionTest, ZshScriptParses) { ExpectParses("zsh", ZshScript(HostileCommands())); }
TEST_F(CompletionTest, FishScriptParses) { ExpectParses("fish", FishScript(HostileCommands())); }

TEST_F(CompletionTest, BashCompletesCommandsFlagsAndChoices) {
  EXPECT_EQ(Complete("neurolens "), "ls\ntag\nidle\n");
  EXPECT_EQ(Complete("neurolens t"), "tag\n");
  EXPECT_EQ(Complete("neurolens ls --so"), "--sort-by\n");
  EXPECT_EQ(Complete("neurolens ls --no"), "--no-header\n");
  EXPECT_EQ(Complete("neurolens ls --sort-by "), "created\nwall\n");
  EXPECT_EQ(Complete("neurolens ls --sort-by=w"), "wall\n");
  EXPECT_EQ(Complete("neurolens --color a"), "auto\nalways\n");
  EXPECT_EQ(Complete("neurolens --store tag l"), "ls\n") << "the value of --store is not the command";
}

TEST_F(CompletionTest, BashCompletesRunsOfTheStoreNamedOnTheLine) {
  EXPECT_EQ(Complete("neurolens tag "), "@latest\n0198aa\n0199bb\n");
  EXPECT_EQ(Complete("neurolens tag @l"), "@latest\n");
  EXPECT_EQ(Complete("neurolens --store /data tag 0198aa 0199"), "0199bb\n");
  int status = -1;
  EXPECT_EQ(Shell("tail -n 1 calls", &status), "--store /data __complete runs\n");
}

TEST_F(CompletionTest, BashCompletesProfilesWhereACommandOnlyReads) {
  std::ofstream(folder_ + "/0198 trace.json");
  EXPECT_EQ(Complete("neurolens idle 0198"), "0198aa\n0198 trace.json\n");
  EXPECT_EQ(Complete("neurolens tag 0198"), "0198aa\n");
}

TEST_F(CompletionTest, HelpTextsAreNeverExecuted) {
  Complete("neurolens ls --");
  int status = -1;
  std::ofstream(folder_ + "/c.zsh") << ZshScript(HostileCommands());
  std::ofstream(folder_ + "/c.fish") << FishScript(HostileCommands());
  Shell("zsh -f -c 'compdef() { :; }; source ./c.zsh'; fish --no-config -c 'source ./c.fish'", &status);
  EXPECT_FALSE(fs::exists(folder_ + "/owned"));
}

}  // namespace
}  // namespace nl::ops::completion
