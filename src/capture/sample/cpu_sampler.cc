// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/cpu_sampler.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace nl::capture {

namespace {

constexpr int64_t kTreeEveryNs = 90 * kNsPerMs;  // without fork events
constexpr int64_t kThreadsEveryNs = 50 * kNsPerMs;
constexpr int64_t kNameEveryNs = 2000 * kNsPerMs;
constexpr int64_t kPythonEveryNs = 20 * kNsPerMs;     // while it starts up
constexpr int64_t kPythonSlowlyNs = 1000 * kNsPerMs;  // when it does not look like one
constexpr int64_t kMapsEveryNs = 500 * kNsPerMs;
constexpr int64_t kLongestWaitNs = 1000 * kNsPerMs;  // then it is written, and goes on as a new one
constexpr int kPythonLooks = 3;                      // at a wait that seems to be none of Python's
constexpr int64_t kShortestQueueNs = kNsPerMs / 2;   // shorter waits for a core are written together
constexpr int64_t kStaleNs = 50 * kNsPerMs;          // a Python stack read later is another one
constexpr size_t kMaxOpenProbes = 400;

std::string ExecutableOf(pid_t pid) {
  char path[4096];
  const ssize_t got = readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path, sizeof(path));
  return got > 0 ? std::string(path, static_cast<size_t>(got)) : "";
}

ThreadState StateOf(char letter) {
  switch (letter) {
    case 'R': return ThreadState::kRunning;
    case 'D': return ThreadState::kDiskWait;
    case 'T':
    case 't': return ThreadState::kStopped;
    case 'S':
    case 'I': return ThreadState::kSleeping;
    default: return ThreadState::kUnknown;
  }
}

}  // namespace

void CpuSampler::Say(const std::string& message) {
  if (std::find(messages_.begin(), messages_.end(), message) != messages_.end()) return;
  messages_.push_back(message);
  writer_.Message(MessageLevel::kWarning, message);
}

void CpuSampler::PrepareChild(pid_t pid, bool recording) {
  root_ = pid;
  recording_ = recording;
  // A Python stack is read when its native one was taken; without it nothing is in a hurry.
  if (options_.native && !perf_.Open(pid, options_.rate_hz, recording, options_.python))
    Say("native stacks are not recorded: " + perf_.why());
  if (perf_.is_open() && !perf_.sees_kernel_time())
    Say("time inside the kernel is not sampled: kernel.perf_event_paranoid is " +
        std::to_string(PerfParanoid()) + " (1 or less is needed, or CAP_PERFMON)");
  AddProcess(pid, getpid(), MonotonicNs(), kProcessIsRoot);
}

CpuSampler::Process& CpuSampler::AddProcess(pid_t pid, pid_t parent, int64_t now_ns, uint32_t flags) {
  std::unique_ptr<Process>& slot = processes_[pid];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<Process>();
  slot->pid = pid;
  slot->parent = parent;
  slot->start_ns = now_ns;
  slot->flags = flags;
  traces_[pid] = {parent, 0, 0};  // a number may be used again
  if (const auto from = processes_.find(parent); from != processes_.end() && from->second != nullptr)
    slot->ranges = from->second->ranges;
  return *slot;
}

void CpuSampler::WriteProcess(Process& process, int64_t end_ns) {
  const std::string executable = ExecutableOf(process.pid);
  if (!executable.empty()) process.executable = executable;
  ProcessRecord record{};
  record.pid = static_cast<uint32_t>(process.pid);
  record.ppid = static_cast<uint32_t>(process.parent);
  record.start_ns = process.start_ns;
  record.end_ns = end_ns;
  record.flags = process.flags;
  record.executable = process.executable.empty() ? 0 : writer_.String(process.executable);
  const std::vector<std::string> arguments = ArgumentsOf(process.pid);
  record.arguments = arguments.empty() ? 0 : writer_.String(JsonList(arguments));
  const std::string name = ThreadName(process.pid, process.pid);
  record.name = name.empty() ? 0 : writer_.String(name);
  writer_.Add(record);
}

// A process runs another program now: what was known of its memory is void.
void CpuSampler::NewImage(Process& process, int64_t now_ns) {
  process.flags |= kProcessExecuted;
  traces_[process.pid].executed_ns = now_ns;
  process.ranges.clear();
  process.maps_read_ns = 0;
  process.python.reset();
  process.python_given_up = false;
  process.python_tried_ns = 0;
  process.new_mappings = true;
  process.python_threads.clear();
  process.python_frames.clear();
  for (auto& [tid, thread] : process.threads) EndWait(process, tid, thread);
  process.threads_listed_ns = 0;
  process.executable.clear();
  process.start_ns = process.start_ns == 0 ? now_ns : process.start_ns;
  WriteProcess(process, 0);
}

void CpuSampler::EndProcess(std::map<pid_t, std::unique_ptr<Process>>::iterator at, int64_t now_ns) {
  Process& process = *at->second;
  for (auto& [tid, thread] : process.threads) EndWait(process, tid, thread);
  open_probes_ -= std::min(open_probes_, process.threads.size());
  // Who started and who ended it writes the last word of the program itself: the launcher.
  if ((process.flags & kProcessIsRoot) == 0) {
    ProcessRecord record{};
    record.pid = static_cast<uint32_t>(process.pid);
    record.ppid = static_cast<uint32_t>(process.parent);
    record.start_ns = process.start_ns;
    record.end_ns = now_ns;
    record.flags = process.flags;
    record.executable = process.executable.empty() ? 0 : writer_.String(process.executable);
    writer_.Add(record);
  }
  processes_.erase(at);
}

void CpuSampler::ProcessEnded(pid_t pid, int64_t now_ns) {
  const auto found = processes_.find(pid);
  if (found != processes_.end()) EndProcess(found, now_ns);
}

std::set<pid_t> CpuSampler::Sampled() const {
  std::set<pid_t> out{root_};
  for (const auto& [pid, trace] : traces_) {
    if (trace.last_sample_ns == 0) continue;
    bool counts = true;
    pid_t above = trace.parent;
    // No chain of parents is longer than there are processes, whatever numbers came back.
    for (size_t i = 0; counts && i < traces_.size(); ++i) {
      const auto parent = traces_.find(above);
      if (parent == traces_.end()) break;
      counts = parent->second.executed_ns <= trace.last_sample_ns;
      above = parent->second.parent;
    }
    if (counts) out.insert(pid);
  }
  return out;
}

std::vector<pid_t> CpuSampler::Live() const {
  std::vector<pid_t> out;
  for (const auto& [pid, process] : processes_) out.push_back(pid);
  return out;
}

void CpuSampler::FollowTree(int64_t now_ns) {
  if (now_ns - tree_walked_ns_ < kTreeEveryNs) return;
  tree_walked_ns_ = now_ns;
  for (const pid_t pid : ProcessTree(root_)) {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) {
      const std::optional<StatLine> stat = ReadStat(pid, pid);
      if (!stat || stat->state == 'Z') continue;
      WriteProcess(AddProcess(pid, stat->parent, now_ns, kProcessForked), 0);
      continue;
    }
    // Without perf an exec shows only as another file.
    const std::string executable = ExecutableOf(pid);
    if (!executable.empty() && executable != found->second->executable) NewImage(*found->second, now_ns);
  }
}

void CpuSampler::ListThreads(Process& process, int64_t now_ns) {
  if (now_ns - process.threads_listed_ns < kThreadsEveryNs) return;
  process.threads_listed_ns = now_ns;
  for (const pid_t tid : ThreadsOf(process.pid)) {
    if (process.threads.count(tid) != 0) continue;
    const bool keep = open_probes_ < kMaxOpenProbes;
    open_probes_ += keep ? 1 : 0;
    Thread& thread = process.threads.emplace(tid, Thread(ThreadProbe(process.pid, tid, keep))).first->second;
    thread.asked_ns = thread.ran_at_ns = now_ns;
    ++totals_.threads;
    CheckName(process, tid, thread, now_ns);
  }
}

void CpuSampler::CheckName(Process& process, pid_t tid, Thread& thread, int64_t now_ns) {
  thread.name_checked_ns = now_ns;
  std::string name = ThreadName(process.pid, tid);
  if (name.empty() || name == thread.name) return;
  thread.name = std::move(name);
  thread.recorders =
      IsRecorderThread(static_cast<uint32_t>(process.pid), static_cast<uint32_t>(tid), thread.name);
  if (thread.recorders) thread.waits = false;
  ThreadRecord record{};
  record.pid = static_cast<uint32_t>(process.pid);
  record.tid = static_cast<uint32_t>(tid);
  record.name = writer_.String(thread.name);
  writer_.Add(record);
}

void CpuSampler::TryPython(Process& process, int64_t now_ns) {
  if (!options_.python || process.python_given_up) return;
  if (process.python != nullptr && process.python->ready()) return;
  const bool soon = process.new_mappings || (process.python != nullptr && process.python->has_candidate());
  if (now_ns - process.python_tried_ns < (soon ? kPythonEveryNs : kPythonSlowlyNs)) return;
  process.python_tried_ns = now_ns;
  process.new_mappings = false;
  if (process.python == nullptr) process.python = std::make_unique<PythonReader>(process.pid);
  if (process.python->TryAttach(ReadMappings(process.pid)) != PythonReader::Attach::kImpossible) return;
  process.python_given_up = true;
  Say("Python stacks of process " + std::to_string(process.pid) +
      " are not recorded: " + process.python->reason());
}

void CpuSampler::Readable(int64_t now_ns) {
  if (!perf_.is_open()) return;
  perf_.Take(events_);
  for (const PerfEvent& event : events_) OnEvent(event, now_ns);
}

void CpuSampler::OnEvent(const PerfEvent& event, int64_t now_ns) {
  if (event.kind == PerfEvent::Kind::kSample) {
    if (recording_) OnSample(event, now_ns);
    return;
  }
  if (event.kind == PerfEvent::Kind::kFork) {
    if (event.pid == event.parent_pid) {  // a thread
      if (const auto found = processes_.find(event.pid); found != processes_.end())
        found->second->threads_listed_ns = 0;
      return;
    }
    WriteProcess(AddProcess(event.pid, event.parent_pid, event.time_ns, kProcessForked), 0);
    return;
  }
  const auto found = processes_.find(event.pid);
  if (found == processes_.end()) return;
  Process& process = *found->second;
  switch (event.kind) {
    case PerfEvent::Kind::kMapping:
      process.ranges[event.start] = {event.start, event.start + event.bytes, event.file_offset,
                                     stacks_.Module(event.text)};
      process.new_mappings = true;  // it may be the interpreter
      break;
    case PerfEvent::Kind::kName:
      if (event.is_exec) {
        NewImage(process, event.time_ns);
      } else if (const auto thread = process.threads.find(event.tid); thread != process.threads.end()) {
        CheckName(process, event.tid, thread->second, now_ns);
      }
      break;
    case PerfEvent::Kind::kExit: {
      const auto thread = process.threads.find(event.tid);
      if (thread != process.threads.end()) {
        EndWait(process, event.tid, thread->second);
        process.threads.erase(thread);
        open_probes_ -= open_probes_ > 0 ? 1 : 0;
      }
      break;
    }
    default: break;
  }
}

void CpuSampler::Add(const CpuSampleRecord& sample) {
  if (sample.stack == 0 && sample.state != ThreadState::kQueued) ++stacks_unreadable_;
  ++totals_.samples;
  const bool ran = sample.state == ThreadState::kRunning;  // then its time is the end of what it stands for
  int64_t& last_ns = traces_[static_cast<pid_t>(sample.pid)].last_sample_ns;
  last_ns = std::max(last_ns, sample.time_ns + (ran ? 0 : sample.weight_ns));
  writer_.Add(sample);
}

void CpuSampler::OnSample(const PerfEvent& event, int64_t now_ns) {
  auto found = processes_.find(event.pid);
  if (found == processes_.end()) {
    AddProcess(event.pid, 0, event.time_ns, 0);
    found = processes_.find(event.pid);
    WriteProcess(*found->second, 0);
  }
  Process& process = *found->second;
  if (const auto thread = process.threads.find(event.tid);
      thread != process.threads.end() && thread->second.recorders)
    return;
  TryPython(process, now_ns);
  std::vector<uint32_t> frames;
  GilState gil =
      process.python != nullptr && process.python->ready() ? GilState::kUnknown : GilState::kNotPython;
  if (now_ns - event.time_ns < kStaleNs) gil = PythonFrames(process, event.tid, now_ns, frames);
  NativeFrames(process, event.chain, !frames.empty(), now_ns, frames);
  CpuSampleRecord sample{};
  sample.time_ns = event.time_ns;
  sample.weight_ns = event.period_ns;
  sample.pid = static_cast<uint32_t>(event.pid);
  sample.tid = static_cast<uint32_t>(event.tid);
  sample.stack = stacks_.Stack(frames);
  sample.state = ThreadState::kRunning;
  sample.gil = gil;
  sample.cpu = event.cpu;
  Add(sample);
}

GilState CpuSampler::PythonFrames(Process& process, pid_t tid, int64_t now_ns,
                                  std::vector<uint32_t>& frames) {
  if (process.python == nullptr || !process.python->ready()) return GilState::kNotPython;
  PythonReader& python = *process.python;
  // Who holds the lock changes all the time: list the threads again for every look, but once.
  if (process.python_listed_ns != now_ns) {
    process.python_listed_ns = now_ns;
    if (!python.ReadThreads(process.python_threads)) process.python_threads.clear();
  }
  const auto thread = std::find_if(process.python_threads.begin(), process.python_threads.end(),
                                   [tid](const PythonThread& t) { return t.tid == tid; });
  if (thread == process.python_threads.end()) return GilState::kNotPython;
  std::vector<PythonFrame> stack;
  bool whole = python.ReadStack(*thread, stack);
  if (!whole) whole = python.ReadStack(*thread, stack);  // it changed meanwhile: once more
  if (!whole) {
    ++totals_.python_failed;
    return thread->holds_gil ? GilState::kHolds : GilState::kUnknown;
  }
  ++totals_.python_stacks;
  for (const PythonFrame& frame : stack) {
    const uint64_t key = (uint64_t{frame.function} << 32) | static_cast<uint32_t>(frame.line);
    auto known = process.python_frames.find(key);
    if (known == process.python_frames.end()) {
      const PythonFunction& function = python.function(frame.function);
      known =
          process.python_frames.emplace(key, stacks_.PythonFrame(function.name, function.file, frame.line))
              .first;
    }
    if (known->second != 0) frames.push_back(known->second);
  }
  return thread->holds_gil ? GilState::kHolds : GilState::kReleased;
}

const CpuSampler::Range* CpuSampler::RangeOf(Process& process, uint64_t address, int64_t now_ns) {
  const auto look = [&]() -> const Range* {
    auto after = process.ranges.upper_bound(address);
    if (after == process.ranges.begin()) return nullptr;
    --after;
    return address < after->second.end ? &after->second : nullptr;
  };
  if (const Range* found = look()) return found;
  if (now_ns - process.maps_read_ns < kMapsEveryNs) return nullptr;
  process.maps_read_ns = now_ns;
  for (const Mapping& m : ReadMappings(process.pid)) {
    if (!m.executable) continue;
    process.ranges[m.start] = {m.start, m.end, m.file_offset,
                               stacks_.Module(m.path.empty() ? "[anonymous]" : m.path)};
  }
  return look();
}

// The chain comes innermost first. Above Python frames only what lies inside the innermost call of the
// bytecode loop belongs; where the loop is not in the chain (no frame pointers) the innermost frame alone
// is certain.
void CpuSampler::NativeFrames(Process& process, const std::vector<uint64_t>& chain, bool below_python,
                              int64_t now_ns, std::vector<uint32_t>& frames) {
  size_t count = chain.size();
  if (below_python) {
    const PythonReader& python = *process.python;
    const auto eval =
        std::find_if(chain.begin(), chain.end(), [&](uint64_t a) { return python.InEvalLoop(a); });
    if (eval != chain.end()) {
      count = static_cast<size_t>(eval - chain.begin());
    } else {
      const auto interpreter =
          std::find_if(chain.begin(), chain.end(), [&](uint64_t a) { return python.InInterpreter(a); });
      count = interpreter != chain.end() ? static_cast<size_t>(interpreter - chain.begin()) : 1;
      count = std::clamp<size_t>(count, 1, std::max<size_t>(1, chain.size()));
    }
  }
  count = std::min(count, chain.size());
  std::vector<uint32_t> native;
  for (size_t i = 0; i < count; ++i) {
    // A return address may be the first of the next function: the call is before it.
    const uint64_t address = i == 0 ? chain[i] : chain[i] - 1;
    const Range* range = RangeOf(process, address, now_ns);
    if (range == nullptr) {
      if (i > 0) break;  // not code: the chain lost its way
      continue;
    }
    const uint32_t frame = stacks_.NativeFrame(range->module, address - range->start + range->file_offset);
    if (frame != 0) native.push_back(frame);
  }
  frames.insert(frames.end(), native.rbegin(), native.rend());
}

void CpuSampler::Tick(int64_t now_ns) {
  Readable(now_ns);
  if (last_tick_ns_ != 0 && now_ns - last_tick_ns_ > 3 * interval_ns()) ++totals_.late_ticks;
  last_tick_ns_ = now_ns;
  if (!perf_runs()) FollowTree(now_ns);
  for (auto at = processes_.begin(); at != processes_.end();) {
    const auto next = std::next(at);
    Process& process = *at->second;
    if (samples()) TryPython(process, now_ns);
    ListThreads(process, now_ns);
    if (samples()) TickProcess(process, now_ns);
    // While nothing is sampled nobody tells of threads that end.
    const bool may_be_gone = process.threads.empty() || !samples();
    if (may_be_gone && process.pid != root_ && !ReadStat(process.pid, process.pid)) EndProcess(at, now_ns);
    at = next;
  }
}

void CpuSampler::TickProcess(Process& process, int64_t now_ns) {
  for (auto at = process.threads.begin(); at != process.threads.end();) {
    auto& [tid, thread] = *at;
    // A thread that has not run for long is asked less often; its wait still grows.
    const int64_t idle_ns = now_ns - thread.ran_at_ns;
    const int64_t every = idle_ns > 10'000 * kNsPerMs ? 320 * kNsPerMs
                          : idle_ns > 1000 * kNsPerMs ? 40 * kNsPerMs
                                                      : 0;
    if (now_ns - thread.asked_ns < every) {
      ++at;
      continue;
    }
    TickThread(process, tid, thread, now_ns);
    if (thread.asked_ns == 0) {  // gone
      at = process.threads.erase(at);
      open_probes_ -= open_probes_ > 0 ? 1 : 0;
    } else {
      ++at;
    }
  }
}

// A wait that began before the interpreter was found, or while the thread's stack changed, has no
// Python frames yet. A thread that is not Python's is not asked for ever.
bool CpuSampler::WantsPython(const Process& process, const Thread& thread) {
  const bool without = thread.wait_gil == GilState::kNotPython || thread.wait_gil == GilState::kUnknown;
  return without && thread.python_looks < kPythonLooks && process.python != nullptr &&
         process.python->ready();
}

void CpuSampler::TickThread(Process& process, pid_t tid, Thread& thread, int64_t now_ns) {
  const ThreadProbe::Reading reading = thread.probe.Take();
  const int64_t before_ns = thread.asked_ns;
  if (!reading.alive) {
    EndWait(process, tid, thread);
    thread.asked_ns = 0;
    return;
  }
  thread.asked_ns = now_ns;
  if (now_ns - thread.name_checked_ns > kNameEveryNs && reading.ran) CheckName(process, tid, thread, now_ns);
  if (thread.recorders) return;
  if (!reading.ran && thread.waits) {
    thread.wait_to_ns = now_ns;
    const bool look_again = WantsPython(process, thread);
    if (!look_again && now_ns - thread.wait_from_ns < kLongestWaitNs) return;
    EndWait(process, tid, thread);
    if (look_again) {
      ++thread.python_looks;
      BeginWait(process, tid, thread, now_ns, now_ns);
      return;
    }
    thread.waits = true;
    thread.wait_from_ns = thread.wait_to_ns = now_ns;
    return;
  }
  EndWait(process, tid, thread);
  thread.python_looks = 0;
  // Time on a core since then is the perf samples'.
  const int64_t ran_ns = perf_.is_open() ? static_cast<int64_t>(reading.ran_ns) : 0;
  const int64_t queued_ns = perf_.is_open() ? static_cast<int64_t>(reading.queued_ns) : 0;
  TakeQueued(process, tid, thread, reading, now_ns);
  if (reading.ran) thread.ran_at_ns = now_ns;
  BeginWait(process, tid, thread, std::min(now_ns, before_ns + ran_ns + queued_ns), now_ns);
}

// The kernel counts a wait for a core when it ends: it lies between the last time the thread was seen to have
// run and now. Without perf a thread that is ready counts as running.
void CpuSampler::TakeQueued(Process& process, pid_t tid, Thread& thread, const ThreadProbe::Reading& reading,
                            int64_t now_ns) {
  if (!perf_.is_open()) return;
  thread.queued_ns += static_cast<int64_t>(reading.queued_ns);
  if (thread.queued_ns < kShortestQueueNs) return;
  std::vector<uint32_t> frames;
  // Whether it held the GIL then is not known: a thread that is woken with it takes it when it runs.
  const GilState now = PythonFrames(process, tid, now_ns, frames);
  CpuSampleRecord sample{};
  sample.time_ns =
      std::max(thread.ran_at_ns, now_ns - static_cast<int64_t>(reading.ran_ns) - thread.queued_ns);
  sample.weight_ns = std::min(thread.queued_ns, now_ns - sample.time_ns);
  sample.pid = static_cast<uint32_t>(process.pid);
  sample.tid = static_cast<uint32_t>(tid);
  sample.stack = stacks_.Stack(frames);
  sample.state = ThreadState::kQueued;
  sample.gil = now == GilState::kNotPython ? now : GilState::kUnknown;
  sample.cpu = 0xffff;
  thread.queued_ns = 0;
  if (sample.weight_ns > 0) Add(sample);
}

void CpuSampler::BeginWait(Process& process, pid_t tid, Thread& thread, int64_t from_ns, int64_t now_ns) {
  const std::optional<StatLine> stat = ReadStat(process.pid, tid);
  if (!stat || stat->state == 'Z' || stat->state == 'X') return;
  const ThreadState state = StateOf(stat->state);
  const bool runs = state == ThreadState::kRunning;
  if (runs && perf_.is_open()) return;
  std::vector<uint32_t> frames;
  GilState gil = PythonFrames(process, tid, now_ns, frames);
  if (!runs) {
    bool woke = false;
    const std::optional<WaitPlace> place = ReadWaitPlace(process.pid, tid, &woke);
    if (woke && perf_.is_open()) return;
    if (place) {
      const bool python = gil != GilState::kNotPython && process.python != nullptr;
      if (python && place->call == SYS_futex && process.python->IsGilAddress(place->first_argument))
        gil = GilState::kWaits;
      if (frames.empty() && place->address != 0 && options_.native)
        NativeFrames(process, {place->address}, false, now_ns, frames);
    }
    if (options_.native || !frames.empty())
      frames.push_back(stacks_.KernelFrame(place ? CallName(place->call) : std::string("wait")));
  }
  thread.wait_from_ns = from_ns;
  thread.wait_to_ns = now_ns;
  thread.wait_stack = stacks_.Stack(frames);
  thread.wait_state = state;
  thread.wait_gil = gil;
  thread.waits = true;
  if (runs) EndWait(process, tid, thread);
}

void CpuSampler::EndWait(const Process& process, pid_t tid, Thread& thread) {
  if (!thread.waits) return;
  thread.waits = false;
  if (thread.wait_to_ns <= thread.wait_from_ns) return;
  if (thread.wait_stack == 0 && !options_.native) return;  // no thread of Python's
  CpuSampleRecord sample{};
  sample.time_ns = thread.wait_from_ns;
  sample.weight_ns = thread.wait_to_ns - thread.wait_from_ns;
  sample.pid = static_cast<uint32_t>(process.pid);
  sample.tid = static_cast<uint32_t>(tid);
  sample.stack = thread.wait_stack;
  sample.state = thread.wait_state;
  sample.gil = thread.wait_gil;
  sample.cpu = 0xffff;
  Add(sample);
}

void CpuSampler::SetRecording(bool on, int64_t now_ns) {
  if (on == recording_) return;
  Readable(now_ns);
  recording_ = on;
  last_tick_ns_ = 0;
  perf_.SetEnabled(on);
  for (auto& [pid, process] : processes_) {
    // What was mapped meanwhile was not given.
    if (on) process->ranges.clear();
    process->maps_read_ns = 0;
    process->new_mappings = true;
    for (auto& [tid, thread] : process->threads) {
      EndWait(*process, tid, thread);
      if (on) {
        thread.probe.Take();
        thread.asked_ns = thread.ran_at_ns = now_ns;
      }
    }
  }
}

void CpuSampler::Finish(int64_t now_ns) {
  Readable(now_ns);
  for (auto& [pid, process] : processes_) {
    for (auto& [tid, thread] : process->threads) EndWait(*process, tid, thread);
  }
  totals_.lost = perf_.lost();
  if (totals_.lost > 0) writer_.CountLoss(LossWhat::kSamplesMissed, ChunkKind::kCpuSample, totals_.lost);
  if (stacks_unreadable_ > 0)
    writer_.CountLoss(LossWhat::kStackUnreadable, ChunkKind::kCpuSample, stacks_unreadable_);
  stacks_.NameFrames();
}

}  // namespace nl::capture
