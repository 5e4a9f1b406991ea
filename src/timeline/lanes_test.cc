// SPDX-License-Identifier: Apache-2.0
#include "timeline/lanes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ledger/run_tables.h"
#include "testing/run_fixture.h"
#include "testing/test_run.h"
#include "timeline/timeline.h"

namespace nl {
namespace {

using testing_runs::Must;

// Host threads of two processes with these pids, and a process with `device_pid` that has a stream and a
// thread.
std::vector<LaneNode> LanesOf(int64_t first_pid, int64_t second_pid, int64_t device_pid) {
  const TempDir folder = Must(TempDir::Make("nl-lanes"));
  RunTables tables(folder.path(), 1000);
  EventBatch batch;
  for (const int64_t pid : {first_pid, second_pid, device_pid}) {
    ProcessRow process;
    process.pid = pid;
    batch.process.Add(process);
    ThreadRow thread;
    thread.process_id = static_cast<ProcessId>(batch.process.size() - 1);
    batch.thread.Add(thread);
  }
  ThreadRow beside;
  beside.process_id = static_cast<ProcessId>(2);
  batch.thread.Add(beside);
  for (int thread : {0, 1, 3}) {
    OpRow op;
    op.thread_id = static_cast<ThreadId>(thread);
    op.start_ns = 10;
    op.dur_ns = 10;
    batch.op.Add(op);
  }
  KernelRow kernel;
  kernel.thread_id = static_cast<ThreadId>(2);
  kernel.start_ns = 20;
  kernel.dur_ns = 5;
  batch.kernel.Add(kernel);
  StreamRow stream;
  stream.thread_id = static_cast<ThreadId>(2);
  stream.device = 0;
  stream.stream = 7;
  batch.stream.Add(stream);
  tables.Append(batch);
  Must(tables.Flush());
  while (Must(tables.EncodeOne())) {
  }
  Must(tables.Finish());
  return Must(Timeline::OpenFolder(folder.path(), OverviewOptions()))->lanes();
}

// The name of the process that the device is drawn below.
std::string ProcessOfDevice(const std::vector<LaneNode>& lanes) {
  for (const LaneNode& lane : lanes) {
    if (lane.kind == TimelineLaneKind::kDevice) return lanes[static_cast<size_t>(*lane.parent)].name;
  }
  return "no device";
}

TEST(Lanes, ADeviceIsBelowTheProgramWithItsPid) {
  for (const int64_t pid : {111, 112}) {
    const std::vector<LaneNode> lanes = LanesOf(111, 112, pid);
    EXPECT_EQ(ProcessOfDevice(lanes), fmt::format("process {}", pid));
    EXPECT_EQ(std::count_if(lanes.begin(), lanes.end(),
                            [](const LaneNode& lane) { return lane.kind == TimelineLaneKind::kProcess; }),
              2);
  }
}

TEST(Lanes, ADeviceOfAnUnknownProgramIsBelowItsOwnProcess) {
  EXPECT_EQ(ProcessOfDevice(LanesOf(111, 112, 113)), "process 113");
}

}  // namespace
}  // namespace nl
