// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "capture/format/chunk_reader.h"
#include "capture/format/chunk_writer.h"
#include "capture/launcher/abilities.h"
#include "capture/launcher/capture_directory.h"
#include "capture/launcher/command_line.h"
#include "capture/launcher/launch.h"
#include "capture/launcher/live_view.h"

namespace nl::capture {
namespace {

class LauncherTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    ASSERT_NE(mkdtemp(folder_), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  LaunchResult MustLaunch(std::vector<std::string> command) {
    LaunchOptions options;
    options.command = std::move(command);
    options.directory = folder_ + std::string("/x.nlcap");
    LaunchResult result;
    LaunchError error;
    EXPECT_TRUE(Launch(options, result, error)) << error.message;
    return result;
  }

  char folder_[32] = "/tmp/nl-launch-XXXXXX";
};

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST_F(LauncherTest, ExitStatusIsTheProgramsOwn) {
  EXPECT_EQ(MustLaunch({"sh", "-c", "exit 7"}).exit_status, 7);
}

TEST_F(LauncherTest, DeathBySignalIsToldAsShellsDo) {
  const LaunchResult result = MustLaunch({"sh", "-c", "kill -USR1 $$"});
  EXPECT_EQ(result.exit_signal, SIGUSR1);
  EXPECT_EQ(result.exit_status, 128 + SIGUSR1);
}

TEST_F(LauncherTest, AProgramThatIsNotThereLeavesNothingBehind) {
  LaunchOptions options;
  options.command = {"no-such-program-anywhere"};
  options.directory = folder_ + std::string("/x.nlcap");
  LaunchResult result;
  LaunchError error;
  EXPECT_FALSE(Launch(options, result, error));
  EXPECT_EQ(ExitStatusOf(error.kind), 127);
  EXPECT_FALSE(std::filesystem::exists(options.directory));
  options.command = {"/tmp"};
  EXPECT_FALSE(Launch(options, result, error));
  EXPECT_EQ(ExitStatusOf(error.kind), 126);
}

TEST_F(LauncherTest, ACaptureIsNeverWrittenOverAnother) {
  MustLaunch({"true"});
  LaunchOptions options;
  options.command = {"true"};
  options.directory = folder_ + std::string("/x.nlcap");
  LaunchResult result;
  LaunchError error;
  EXPECT_FALSE(Launch(options, result, error));
  EXPECT_EQ(ExitStatusOf(error.kind), 125);
  EXPECT_NE(error.message.find("not empty"), std::string::npos);
}

TEST_F(LauncherTest, FileSaysWhatRanAndHowItEnded) {
  const LaunchResult result = MustLaunch({"sh", "-c", "sleep 0.1; exit 3"});
  const std::string text = FileText(result.directory + "/launcher.nlc");
  ChunkReader reader(text);
  Chunk chunk{};
  bool ended = false, whole = false;
  std::map<std::string, std::string> facts;
  for (auto step = reader.Next(chunk); step == ChunkReader::Step::kChunk; step = reader.Next(chunk)) {
    if (chunk.header.kind == ChunkKind::kFact)
      ForEachFact(chunk, [&](std::string_view k, std::string_view v) { facts[std::string(k)] = v; });
    if (chunk.header.kind == ChunkKind::kProcess) {
      ForEachRecord<ProcessRecord>(chunk, [&](const ProcessRecord& p) {
        if ((p.flags & kProcessEnded) != 0 && (p.flags & kProcessIsRoot) != 0)
          ended = p.exit_status == 3 && p.end_ns > p.start_ns;
      });
    }
    whole = whole || chunk.header.kind == ChunkKind::kEnd;
  }
  EXPECT_TRUE(ended);
  EXPECT_TRUE(whole);
  EXPECT_EQ(facts["command"], R"(["sh","-c","sleep 0.1; exit 3"])");
  EXPECT_FALSE(facts["host.cores"].empty());
}

// Enough work for several samples, in the shell's own process.
constexpr char kWork[] = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";

TEST_F(LauncherTest, HelpersOfAWrapperAreNotCountedAsProcesses) {
  // As pyenv does: three helpers, then the program in the wrapper's place.
  const std::string helpers = std::string("for k in 1 2 3; do (") + kWork + "); done; exec sleep 0.3";
  EXPECT_EQ(MustLaunch({"sh", "-c", helpers}).processes, 1u);
}

TEST_F(LauncherTest, ChildrenThatWorkAreCountedAsProcesses) {
  const std::string children = std::string("for k in 1 2 3; do (") + kWork + "); done; exit 0";
  EXPECT_EQ(MustLaunch({"sh", "-c", children}).processes, 4u);
}

TEST_F(LauncherTest, RecordedTimeEndsWithTheDurationAndNotWithTheProgram) {
  LaunchOptions options;
  const std::string stopped = folder_ + std::string("/stopped");
  // The program ends once recording has stopped.
  options.command = {"sh", "-c", "while [ ! -e " + stopped + " ]; do sleep 0.02; done"};
  options.directory = folder_ + std::string("/x.nlcap");
  options.duration_s = 0.05;
  options.watch = [&stopped](const ControlBlock& control, const std::string&) {
    if (control.recording.load() == 0) std::ofstream(stopped) << "x";
  };
  LaunchResult result;
  LaunchError error;
  ASSERT_TRUE(Launch(options, result, error)) << error.message;
  EXPECT_GE(result.recorded_ns, 50'000'000);
  EXPECT_LT(result.recorded_ns, result.wall_ns);
}

TEST_F(LauncherTest, RecordedTimeIsTheProgramsWithoutADuration) {
  const LaunchResult result = MustLaunch({"true"});
  EXPECT_EQ(result.recorded_ns, result.wall_ns);
}

TEST_F(LauncherTest, SpilledCapturesMoveToTheirPlace) {
  LaunchOptions options;
  options.command = {"true"};
  options.directory = folder_ + std::string("/x.nlcap");
  options.spill_directory = folder_ + std::string("/spill");
  LaunchResult result;
  LaunchError error;
  ASSERT_TRUE(Launch(options, result, error)) << error.message;
  EXPECT_TRUE(std::filesystem::exists(options.directory + "/launcher.nlc"));
  EXPECT_TRUE(std::filesystem::is_empty(options.spill_directory));
}

TEST_F(LauncherTest, OnlyFilesOfACaptureAreRemoved) {
  const LaunchResult result = MustLaunch({"true"});
  std::ofstream(result.directory + "/notes.txt") << "mine";
  RemoveCaptureDirectory(result.directory);
  EXPECT_TRUE(std::filesystem::exists(result.directory + "/notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(result.directory + "/launcher.nlc"));
}

TEST(CommandLine, OptionsStandBeforeTheCommand) {
  CommandLine line;
  std::string why;
  ASSERT_TRUE(ParseCommandLine(
      {"--no-gpu", "--out", "a.nlcap", "--rate=50", "--tag", "k=v", "--", "prog", "--out", "--"}, line, why))
      << why;
  EXPECT_EQ(line.options.directory, "a.nlcap");
  EXPECT_EQ(line.options.sample_rate_hz, 50);
  EXPECT_EQ(line.options.wanted & kWantKernels, 0u);
  EXPECT_NE(line.options.wanted & kWantRanges, 0u);
  EXPECT_EQ(line.options.command, (std::vector<std::string>{"prog", "--out", "--"}));
  ASSERT_EQ(line.options.tags.size(), 1u);
}

TEST(CommandLine, DetailSaysHowMuchIsRecorded) {
  const auto wanted = [](std::vector<std::string> words) {
    CommandLine line;
    std::string why;
    words.push_back("prog");
    EXPECT_TRUE(ParseCommandLine(words, line, why)) << why;
    return line.options.wanted;
  };
  EXPECT_EQ(wanted({}), kWantDefault);
  EXPECT_EQ(wanted({"--detail", "standard"}), kWantDefault);
  const uint64_t light = wanted({"--detail", "light"}), full = wanted({"--detail=full"});
  EXPECT_EQ(light & (kWantOps | kWantModules | kWantCpu | kWantPython | kWantCounters), 0u);
  EXPECT_NE(light & kWantKernels, 0u);
  EXPECT_NE(light & kWantRanges, 0u);
  EXPECT_EQ(full & kWantDefault, kWantDefault);
  EXPECT_NE(full & kWantAllApi, 0u);
  EXPECT_NE(full & kWantAllShapes, 0u);
}

TEST(CommandLine, MistakesAreNamed) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"--"},
                                                {"--out"},
                                                {"--bogus", "x", "y"},
                                                {"--rate", "0", "x"},
                                                {"--rate", "abc", "x"},
                                                {"--tag", "novalue", "x"},
                                                {"--detail", "much", "x"},
                                                {"--capture-range", "cuda", "x"}}) {
    CommandLine line;
    std::string why;
    EXPECT_FALSE(ParseCommandLine(words, line, why));
    EXPECT_FALSE(why.empty());
  }
}

TEST_F(LauncherTest, LiveViewNamesKernelsWhileTheyAreWritten) {
  ControlPage control;
  ASSERT_TRUE(control.Create(folder_));
  ProcessSlot* slot = control.TakeSlot(42);
  ASSERT_NE(slot, nullptr);
  slot->has_gpu.store(1);
  LiveView view;
  EXPECT_NE(view.Screen(*control.get(), folder_, 1'000'000'000, 80, 24).find("no kernel yet"),
            std::string::npos);
  ChunkWriter writer;
  ASSERT_TRUE(writer.Open((folder_ + std::string("/42-1.nlc")).c_str(), WriterKind::kLibrary));
  KernelRecord kernel{};
  kernel.start_ns = 100;
  kernel.end_ns = 100 + 3'000'000;
  kernel.name = writer.String("_Z4gemmPf");
  writer.Add(kernel);
  kernel.name = writer.String("evil\x1b[2Jname");
  kernel.end_ns = 101;
  writer.Add(kernel);
  writer.Flush();
  slot->kernels.store(2);
  slot->kernel_time_ns.store(500'000'000);
  const std::string screen = view.Screen(*control.get(), folder_, 2'000'000'000, 80, 24);
  EXPECT_NE(screen.find("busy  50.0 %"), std::string::npos) << screen;
  EXPECT_NE(screen.find("gemm(float*)"), std::string::npos) << screen;
  EXPECT_EQ(screen.find('\x1b'), std::string::npos) << "a name must not command the terminal";
  EXPECT_LT(screen.find("gemm"), screen.find("evil"));
  const std::string line = view.Line(*control.get(), 3'000'000'000);
  EXPECT_NE(line.find("2 kernels"), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(Abilities, EachSaysWhatItFound) {
  const std::vector<Ability> found = FindAbilities();
  ASSERT_EQ(found.size(), 7u);
  for (const Ability& ability : found) EXPECT_FALSE(ability.detail.empty()) << ability.name;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

}  // namespace
}  // namespace nl::capture
