// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/proc_files.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace nl::capture {
namespace {

TEST(ProcFiles, StatLineSurvivesBracketsInTheName) {
  const auto stat = ParseStat(
      "18037 (a) R (b) S 18034 18034 4800 0 -1 4194304 128 0 0 0 7 5 0 0 20 0 1 0 58990 2990080 406\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 18034);
  EXPECT_EQ(stat->cpu_ticks, 12u);
  EXPECT_EQ(stat->start_ticks, 58990u);
  EXPECT_FALSE(ParseStat(""));
  EXPECT_FALSE(ParseStat("1 (x"));
  EXPECT_FALSE(ParseStat("1 (x) S 2 3"));
}

TEST(ProcFiles, MappingsKeepBlanksInPathsAndSkipNonsense) {
  const auto maps = ParseMappings(
      "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/my program\n"
      "nonsense\n"
      "7f00-7f10 rw-p 00000000 00:00 0 \n"
      "7ffd000-7ffe000 r-xp 00000000 00:00 0                          [vdso]\n");
  ASSERT_EQ(maps.size(), 3u);
  EXPECT_EQ(maps[0].path, "/usr/bin/my program");
  EXPECT_TRUE(maps[0].executable);
  EXPECT_EQ(maps[0].file_offset, 0x1000u);
  EXPECT_FALSE(maps[1].executable);
  EXPECT_EQ(maps[1].path, "");
  EXPECT_EQ(maps[2].path, "[vdso]");
}

TEST(ProcFiles, MappingIsFoundByAddress) {
  const std::vector<Mapping> maps{{0x1000, 0x2000, 0, true, "a"}, {0x3000, 0x4000, 0, true, "b"}};
  EXPECT_EQ(FindMapping(maps, 0xfff), nullptr);
  EXPECT_EQ(FindMapping(maps, 0x1000)->path, "a");
  EXPECT_EQ(FindMapping(maps, 0x2000), nullptr);
  EXPECT_EQ(FindMapping(maps, 0x3fff)->path, "b");
}

TEST(ProcFiles, WaitPlaceOfAFutexAPageFaultAndARunningThread) {
  const auto futex = ParseWaitPlace("202 0x7ffee 0x80 0x0 0x0 0x0 0x0 0x7fff10 0x7f5500\n");
  ASSERT_TRUE(futex);
  EXPECT_EQ(futex->call, 202);
  EXPECT_EQ(futex->first_argument, 0x7ffeeu);
  EXPECT_EQ(futex->address, 0x7f5500u);
  const auto fault = ParseWaitPlace("-1 0x7fff10 0x7f5500\n");
  ASSERT_TRUE(fault);
  EXPECT_EQ(CallName(fault->call), "page fault");
  EXPECT_FALSE(ParseWaitPlace("running\n"));
  EXPECT_FALSE(ParseWaitPlace(""));
  EXPECT_EQ(CallName(SYS_futex), "futex");
  EXPECT_EQ(CallName(99999), "call 99999");
}

TEST(ProcFiles, TreeHoldsChildrenAndTheMainTaskIsListed) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  const std::vector<pid_t> tree = ProcessTree(getpid());
  EXPECT_NE(std::find(tree.begin(), tree.end(), child), tree.end());
  EXPECT_EQ(ThreadsOf(child), std::vector<pid_t>{child});
  const auto stat = ReadStat(child, child);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, getpid());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(ReadStat(child, child));
  EXPECT_TRUE(ThreadsOf(child).empty());
}

TEST(ProcFiles, ProbeTellsARunningThreadFromABlockedOne) {
  if (ReadSmallFile("/proc/self/schedstat").empty()) GTEST_SKIP() << "the kernel keeps no schedstat";
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  while (ReadStat(child, child)->state != 'S') usleep(1000);
  ThreadProbe blocked(child, child, true);
  EXPECT_TRUE(blocked.Take().alive);
  const ThreadProbe::Reading still = blocked.Take();
  EXPECT_TRUE(still.alive);
  EXPECT_FALSE(still.ran);
  ThreadProbe self(getpid(), static_cast<pid_t>(syscall(SYS_gettid)), false);
  self.Take();
  for (int i = 0; i < 200; ++i) usleep(100);
  EXPECT_TRUE(self.Take().ran);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(blocked.Take().alive);
}

// Two that never sleep share one core: each waits for it.
TEST(ProcFiles, ProbeCountsTheTimeWithoutACore) {
  if (ReadSmallFile("/proc/self/schedstat").empty()) GTEST_SKIP() << "the kernel keeps no schedstat";
  const pid_t child = fork();
  if (child == 0) {
    volatile uint64_t rounds = 0;
    for (;;) rounds = rounds + 1;
  }
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  ASSERT_EQ(sched_setaffinity(child, sizeof one, &one), 0);
  ThreadProbe probe(child, child, true);
  probe.Take();
  uint64_t queued_ns = 0, ran_ns = 0;
  while (queued_ns == 0 || ran_ns == 0) {
    const ThreadProbe::Reading reading = probe.Take();
    queued_ns += reading.queued_ns;
    ran_ns += reading.ran_ns;
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace nl::capture
