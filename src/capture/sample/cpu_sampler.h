// SPDX-License-Identifier: Apache-2.0
#pragma once
// CpuSampler: what every thread of a program and of its children does, some hundred times a second, from
// outside: native stacks by perf events where they are allowed, Python stacks from the interpreter's
// memory, waits from /proc. Each missing permission takes its part away and leaves a message.
//
// Time on a core is counted by perf samples (each stands for its CPU time); time off it by Tick, which
// asks only threads that ran since the last one: an idle thread costs one small read, later less.
// Without perf, Tick samples running threads too, with Python stacks only.
// Driven by its owner's loop: PrepareChild before exec, Tick every interval, Readable when one of
// descriptors() is, Finish at the end.
// Thread rule: one thread. Does not own the writer.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/format/chunk_writer.h"
#include "capture/sample/perf_events.h"
#include "capture/sample/proc_files.h"
#include "capture/sample/python_reader.h"
#include "capture/sample/stack_table.h"

namespace nl::capture {

struct SamplerOptions {
  int rate_hz = 200;
  bool native = true;
  bool python = true;
  // Neither: processes and the names of threads are followed, nothing is sampled.
  bool samples() const { return native || python; }
};

struct SamplerTotals {
  uint64_t samples = 0;
  uint64_t threads = 0;
  uint64_t python_stacks = 0, python_failed = 0;
  uint64_t lost = 0, late_ticks = 0;
};

class CpuSampler {
 public:
  CpuSampler(ChunkWriter& writer, SamplerOptions options)
      : writer_(writer), options_(options), stacks_(writer) {}

  // Before `pid` runs its program: counting begins with its exec, or with SetRecording(true) when it is
  // not to be recorded yet.
  void PrepareChild(pid_t pid, bool recording);
  std::vector<int> descriptors() const { return perf_.descriptors(); }
  // Between ticks.
  int64_t interval_ns() const { return samples() ? 1'000'000'000 / options_.rate_hz : kFollowNs; }

  // Takes what the rings hold. Call it soon: Python stacks are read now.
  void Readable(int64_t now_ns);
  void Tick(int64_t now_ns);
  // Off: no sample is taken and no timer runs in the program; processes are still followed.
  void SetRecording(bool on, int64_t now_ns);
  // The last samples, thread names, names of native frames, counts of what was lost.
  void Finish(int64_t now_ns);

  // The launcher reaped or saw the end of a process.
  void ProcessEnded(pid_t pid, int64_t now_ns);
  // The root and every process with samples, ended ones included. Without those a process started and was
  // done with before it executed its program: they are a wrapper's (pyenv starts 40 to find the interpreter).
  std::set<pid_t> Sampled() const;
  // Every process seen so far that has not ended.
  std::vector<pid_t> Live() const;
  const SamplerTotals& totals() const { return totals_; }
  // One sentence per thing that cannot be recorded here.
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  static constexpr int64_t kFollowNs = 100'000'000;  // processes, while nothing is sampled
  struct Thread {
    explicit Thread(ThreadProbe p) : probe(std::move(p)) {}
    ThreadProbe probe;
    std::string name;
    bool recorders = false;  // of the capture library: not sampled
    int64_t name_checked_ns = 0;
    int64_t asked_ns = 0;   // last probe
    int64_t ran_at_ns = 0;  // when it was last seen to have run
    int64_t queued_ns = 0;  // waited for a free core, not yet written
    // The wait it is in: one sample that grows until it runs again.
    bool waits = false;
    int64_t wait_from_ns = 0, wait_to_ns = 0;
    uint32_t wait_stack = 0;
    ThreadState wait_state = ThreadState::kUnknown;
    GilState wait_gil = GilState::kUnknown;
    int python_looks = 0;  // again, at a wait without Python frames
  };
  struct Range {
    uint64_t start = 0, end = 0, file_offset = 0;
    uint32_t module = 0;
  };
  struct Process {
    pid_t pid = 0, parent = 0;
    int64_t start_ns = 0;
    uint32_t flags = 0;
    std::string executable;
    std::map<pid_t, Thread> threads;
    int64_t threads_listed_ns = 0;
    std::map<uint64_t, Range> ranges;  // executable mappings by start
    int64_t maps_read_ns = 0;
    std::unique_ptr<PythonReader> python;
    bool python_given_up = false;
    int64_t python_tried_ns = 0;
    bool new_mappings = true;  // since Python was last looked for
    std::vector<PythonThread> python_threads;
    int64_t python_listed_ns = 0;
    std::unordered_map<uint64_t, uint32_t> python_frames;  // function and line -> frame
  };

  // What is kept of every process, for Sampled.
  struct Trace {
    pid_t parent = 0;
    int64_t executed_ns = 0, last_sample_ns = 0;  // 0: never
  };

  void Say(const std::string& message);
  bool samples() const { return recording_ && options_.samples(); }
  bool perf_runs() const { return recording_ && perf_.is_open(); }
  Process& AddProcess(pid_t pid, pid_t parent, int64_t now_ns, uint32_t flags);
  void WriteProcess(Process& process, int64_t end_ns);
  void NewImage(Process& process, int64_t now_ns);
  void EndProcess(std::map<pid_t, std::unique_ptr<Process>>::iterator at, int64_t now_ns);
  void FollowTree(int64_t now_ns);
  void ListThreads(Process& process, int64_t now_ns);
  void CheckName(Process& process, pid_t tid, Thread& thread, int64_t now_ns);
  void TryPython(Process& process, int64_t now_ns);

  void OnEvent(const PerfEvent& event, int64_t now_ns);
  void OnSample(const PerfEvent& event, int64_t now_ns);
  void TickProcess(Process& process, int64_t now_ns);
  static bool WantsPython(const Process& process, const Thread& thread);
  void TickThread(Process& process, pid_t tid, Thread& thread, int64_t now_ns);
  void TakeQueued(Process& process, pid_t tid, Thread& thread, const ThreadProbe::Reading& reading,
                  int64_t now_ns);
  void BeginWait(Process& process, pid_t tid, Thread& thread, int64_t from_ns, int64_t now_ns);
  void EndWait(const Process& process, pid_t tid, Thread& thread);
  void Add(const CpuSampleRecord& sample);

  // Python frames of a thread now, appended; what is known of the lock.
  GilState PythonFrames(Process& process, pid_t tid, int64_t now_ns, std::vector<uint32_t>& frames);
  void NativeFrames(Process& process, const std::vector<uint64_t>& chain, bool below_python, int64_t now_ns,
                    std::vector<uint32_t>& frames);
  const Range* RangeOf(Process& process, uint64_t address, int64_t now_ns);

  ChunkWriter& writer_;
  SamplerOptions options_;
  StackTable stacks_;
  PerfEvents perf_;
  std::vector<PerfEvent> events_;
  std::map<pid_t, std::unique_ptr<Process>> processes_;
  std::map<pid_t, Trace> traces_;
  pid_t root_ = 0;
  bool recording_ = true;
  int64_t last_tick_ns_ = 0, tree_walked_ns_ = 0;
  size_t open_probes_ = 0;
  uint64_t stacks_unreadable_ = 0;
  SamplerTotals totals_;
  std::vector<std::string> messages_;
};

}  // namespace nl::capture
