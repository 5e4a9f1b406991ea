// SPDX-License-Identifier: Apache-2.0
#include "capture/launcher/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <set>

#include "capture/format/chunk_writer.h"
#include "capture/launcher/capture_directory.h"
#include "capture/launcher/child_process.h"
#include "capture/launcher/environment.h"
#include "capture/launcher/machine_facts.h"
#include "capture/launcher/system_probe.h"
#include "capture/sample/cpu_sampler.h"
#include "capture/sample/proc_files.h"

namespace nl::capture {

namespace {

constexpr int64_t kFlushEveryNs = 500 * kNsPerMs;
constexpr int64_t kWatchEveryNs = 500 * kNsPerMs;
constexpr std::chrono::milliseconds kLongestSystemProbe{5000};
constexpr int64_t kLeastBetweenReadsNs = 1 * kNsPerMs;
constexpr int64_t kForwardOnceWithinNs = 200 * kNsPerMs;
constexpr int64_t kClosingNs = 2000 * kNsPerMs;
constexpr int64_t kLookForWindowsNs = 10 * kNsPerMs;
// Signals that people and systems send to a program; those of errors in a program are its own.
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};

int64_t CpuNs() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

// Keeps the signals of this process for its loop, and gives them back.
class SignalGuard {
 public:
  SignalGuard() {
    sigset_t taken;
    sigemptyset(&taken);
    for (const int number : kForwarded) {
      struct sigaction now {};
      sigaction(number, nullptr, &now);
      // Ignored on purpose (nohup, a background job): the program inherits that, and so do we.
      if (now.sa_handler != SIG_IGN) sigaddset(&taken, number);
    }
    sigaddset(&taken, SIGCHLD);
    sigprocmask(SIG_BLOCK, &taken, &before_);
    fd_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~SignalGuard() {
    // What is still pending was meant for the program, which is gone.
    signalfd_siginfo info{};
    while (fd_ >= 0 && read(fd_, &info, sizeof(info)) == sizeof(info)) {
    }
    if (fd_ >= 0) close(fd_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  int fd() const { return fd_; }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
  int fd_ = -1;
};

class Recording {
 public:
  Recording(const LaunchOptions& options, LaunchResult& result) : options_(options), result_(result) {}

  bool Run(LaunchError& error);

 private:
  bool Prepare(LaunchError& error);
  bool StartProgram(LaunchError& error);
  void Loop();
  void WaitForWork(int64_t now_ns);
  void TakeSignals(int64_t now_ns);
  void Forward(const signalfd_siginfo& info, int64_t now_ns);
  void Reap(int64_t now_ns);
  void Windows(int64_t now_ns);
  bool ProgramRecords() const;
  void Apply(int64_t now_ns);
  void Finish();
  void WaitForLibraries();
  void TakeSystem(std::chrono::milliseconds wait);
  void Say(const std::string& message);

  const LaunchOptions& options_;
  LaunchResult& result_;
  SignalGuard signals_;
  std::string directory_;  // while it runs
  ControlPage control_;
  ChunkWriter writer_;
  std::optional<CpuSampler> sampler_;
  ChildProcess child_;
  SystemProbe system_;
  std::vector<pollfd> polled_;
  bool ended_ = false;
  bool recording_ = true;  // by the clock and by ctl
  bool sampling_ = true;   // and the program has not switched it off
  int wait_status_ = 0;
  int64_t start_ns_ = 0, end_ns_ = 0, cpu_before_ns_ = 0;
  int64_t next_tick_ns_ = 0, read_ns_ = 0, flushed_ns_ = 0, watched_ns_ = 0;
  int64_t recording_since_ns_ = 0;  // the first time
  int64_t on_since_ns_ = 0;         // the last time; counts while sampling_
  bool delay_done_ = true;
  WindowReason reason_ = WindowReason::kApi;  // of the next change
  uint32_t epoch_ = 0;
  int64_t forwarded_ns_[65] = {};
};

void Recording::Say(const std::string& message) {
  result_.messages.push_back(message);
  writer_.Message(MessageLevel::kWarning, message);
}

bool Recording::Prepare(LaunchError& error) {
  std::string why;
  const bool spills = !options_.spill_directory.empty();
  if (!MakeCaptureDirectory(options_.directory, why)) {
    error = {LaunchError::Kind::kDirectory, why};
    return false;
  }
  directory_ = AbsolutePath(options_.directory);
  result_.directory = directory_;
  result_.detail = options_.detail;
  if (spills) {
    const std::string spill = AbsolutePath(options_.spill_directory) + "/" +
                              directory_.substr(directory_.rfind('/') + 1) + "." + std::to_string(getpid());
    if (!MakeCaptureDirectory(spill, why)) {
      error = {LaunchError::Kind::kDirectory, why};
      return false;
    }
    directory_ = spill;
  }
  const bool made = control_.Create(directory_.c_str());
  if (!made || !writer_.Open((directory_ + "/" + kLauncherFile).c_str(), WriterKind::kLauncher)) {
    error = {LaunchError::Kind::kDirectory, "cannot write into " + directory_ + ": " + std::strerror(errno)};
    return false;
  }
  ControlBlock& block = *control_.get();
  block.wanted = options_.wanted;
  block.buffer_bytes = static_cast<uint64_t>(options_.buffer_mb) << 20;
  block.counter_interval_us = static_cast<uint32_t>(options_.counter_interval_us);
  block.budget_ppm = static_cast<uint32_t>(options_.budget * 1e6);
  recording_ = delay_done_ = options_.delay_s <= 0;
  sampling_ = recording_ && options_.capture_range.empty();
  block.start_off = options_.capture_range == "api" ? 1 : 0;
  block.recording.store(recording_ ? 1 : 0, std::memory_order_release);
  if (options_.capture_range.rfind("nvtx:", 0) == 0) {
    const std::string label = options_.capture_range.substr(5);
    std::strncpy(block.capture_range, label.c_str(), sizeof(block.capture_range) - 1);
  }
  epoch_ = block.epoch.load(std::memory_order_acquire);
  for (const auto& [key, value] : MachineFacts()) writer_.AddFact(key, value);
  writer_.AddFact("command", JsonList(options_.command));
  writer_.AddFact("neurolens.version", options_.version);
  if (!options_.detail.empty()) writer_.AddFact("capture.detail", options_.detail);
  for (const auto& [key, value] : options_.tags) writer_.AddFact("tag." + key, value);
  return true;
}

bool Recording::StartProgram(LaunchError& error) {
  const ChildEnvironment environment = MakeEnvironment(options_, directory_);
  for (const std::string& message : environment.messages) Say(message);
  // Orphans of the program come to us: their ends are seen.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  cpu_before_ns_ = CpuNs();
  if (!child_.Fork(options_.command, environment.variables, signals_.before())) {
    error = {LaunchError::Kind::kSystem, std::string("cannot start a process: ") + std::strerror(errno)};
    return false;
  }
  SamplerOptions sampling;
  sampling.rate_hz = options_.sample_rate_hz;
  sampling.native = (options_.wanted & kWantCpu) != 0;
  sampling.python = (options_.wanted & kWantPython) != 0;
  writer_.AddFact("cpu.rate_hz", std::to_string(sampling.rate_hz));
  sampler_.emplace(writer_, sampling);
  sampler_->PrepareChild(child_.pid(), sampling_);
  start_ns_ = MonotonicNs();
  writer_.Add(WindowRecord{start_ns_, sampling_ ? 1u : 0u, WindowReason::kBegin});
  writer_.Flush();
  const int failed = child_.Start();
  if (failed == 0) {
    system_.Start();  // after the fork: a thread must not hold a lock that the child needs
    recording_since_ns_ = on_since_ns_ = sampling_ ? start_ns_ : 0;
    return true;
  }
  waitpid(child_.pid(), nullptr, 0);
  error.kind = failed == ENOENT || failed == ENOTDIR ? LaunchError::Kind::kCommandNotFound
                                                     : LaunchError::Kind::kCannotExecute;
  error.message = "cannot run '" + options_.command[0] + "': " + std::strerror(failed);
  return false;
}

void Recording::Loop() {
  polled_.push_back({signals_.fd(), POLLIN, 0});
  for (const int fd : sampler_->descriptors()) polled_.push_back({fd, POLLIN, 0});
  next_tick_ns_ = MonotonicNs();
  while (!ended_) {
    int64_t now_ns = MonotonicNs();
    WaitForWork(now_ns);
    now_ns = MonotonicNs();
    TakeSignals(now_ns);
    Windows(now_ns);
    if (now_ns >= next_tick_ns_) {
      sampler_->Tick(now_ns);
      read_ns_ = now_ns;
      // After a late tick the next is a whole interval away: ticks never pile up.
      next_tick_ns_ = std::max(next_tick_ns_ + sampler_->interval_ns(), now_ns + sampler_->interval_ns() / 2);
    } else if (now_ns - read_ns_ >= kLeastBetweenReadsNs) {
      sampler_->Readable(now_ns);
      read_ns_ = now_ns;
    }
    if (now_ns - flushed_ns_ > kFlushEveryNs) {
      flushed_ns_ = now_ns;
      TakeSystem({});
      writer_.Flush();
    }
    if (options_.watch && now_ns - watched_ns_ > kWatchEveryNs) {
      watched_ns_ = now_ns;
      options_.watch(*control_.get(), directory_);
    }
  }
}

// Sleeps until a signal, a sample or the next tick; right after samples were taken only for the others.
void Recording::WaitForWork(int64_t now_ns) {
  const bool rest = now_ns - read_ns_ < kLeastBetweenReadsNs;
  int64_t until_ns = next_tick_ns_ - now_ns;
  if (rest) until_ns = std::min(until_ns, kLeastBetweenReadsNs);
  until_ns = std::clamp<int64_t>(until_ns, 0, kLookForWindowsNs);
  const timespec timeout{0, static_cast<long>(until_ns)};
  ppoll(polled_.data(), rest ? 1 : polled_.size(), &timeout, nullptr);
  // A ring whose process has ended hangs up for good: it is still emptied on every tick.
  polled_.erase(std::remove_if(polled_.begin() + 1, polled_.end(),
                               [](const pollfd& p) { return (p.revents & (POLLHUP | POLLERR)) != 0; }),
                polled_.end());
}

void Recording::TakeSignals(int64_t now_ns) {
  signalfd_siginfo info{};
  bool children = false;
  while (read(signals_.fd(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) {
      children = true;
    } else {
      Forward(info, now_ns);
    }
  }
  if (children) Reap(now_ns);
}

// A terminal sends its signals to the whole process group, the program included; one sent to us by a
// process is passed on. To a group's both get it: then once is enough.
void Recording::Forward(const signalfd_siginfo& info, int64_t now_ns) {
  if (info.ssi_code == SI_KERNEL || ended_) return;
  const auto number = static_cast<int>(info.ssi_signo);
  if (number < 0 || number > 64) return;
  if (forwarded_ns_[number] != 0 && now_ns - forwarded_ns_[number] < kForwardOnceWithinNs) return;
  forwarded_ns_[number] = now_ns;
  kill(child_.pid(), number);
}

void Recording::Reap(int64_t now_ns) {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == child_.pid()) {
      ended_ = true;
      end_ns_ = now_ns;
      wait_status_ = status;
      sampler_->Readable(now_ns);
    } else {
      sampler_->ProcessEnded(pid, now_ns);
    }
  }
}

// Some process of the program records, by --capture-range or because it has not called stop.
bool Recording::ProgramRecords() const {
  bool paused = !options_.capture_range.empty();
  for (const ProcessSlot& slot : control_->process) {
    if (slot.pid.load(std::memory_order_acquire) == 0) break;
    const SlotState state = slot.state.load(std::memory_order_acquire);
    if (state == SlotState::kRecording) return true;
    const auto pid = static_cast<pid_t>(slot.pid.load(std::memory_order_relaxed));
    if (state == SlotState::kPaused && kill(pid, 0) == 0) paused = true;
  }
  return !paused;
}

// Samples are taken while ranges and kernels are.
void Recording::Apply(int64_t now_ns) {
  const bool on = recording_ && ProgramRecords();
  if (on == sampling_) return;
  sampling_ = on;
  if (!on) result_.recorded_ns += now_ns - on_since_ns_;
  on_since_ns_ = now_ns;
  if (on && recording_since_ns_ == 0) recording_since_ns_ = now_ns;
  sampler_->SetRecording(on, now_ns);
  next_tick_ns_ = now_ns;
  writer_.Add(WindowRecord{now_ns, on ? 1u : 0u, reason_});
  reason_ = WindowReason::kApi;
}

// When recording begins and ends: by the clock, by `neurolens ctl`, by the program.
void Recording::Windows(int64_t now_ns) {
  if (!delay_done_ && now_ns - start_ns_ >= static_cast<int64_t>(options_.delay_s * 1e9)) {
    delay_done_ = true;
    recording_ = true;
    reason_ = WindowReason::kDuration;
    control_.Request(true);
  }
  if (recording_ && options_.duration_s > 0 && recording_since_ns_ != 0 &&
      now_ns - recording_since_ns_ >= static_cast<int64_t>(options_.duration_s * 1e9)) {
    recording_ = false;
    reason_ = WindowReason::kDuration;
    control_.Request(false);
  }
  const uint32_t epoch = control_->epoch.load(std::memory_order_acquire);
  const bool asked = control_->recording.load(std::memory_order_acquire) != 0;
  if (epoch != epoch_ && asked != recording_) {
    recording_ = asked;
    reason_ = WindowReason::kControl;
    delay_done_ = true;
    if (asked) recording_since_ns_ = 0;
  }
  epoch_ = epoch;
  Apply(now_ns);
}

// Processes that outlive the program close their files when asked; a stuck one is not waited for long.
void Recording::WaitForLibraries() {
  control_.RequestClose();
  const int64_t until_ns = MonotonicNs() + kClosingNs;
  const auto busy = [&] {
    for (const ProcessSlot& slot : control_->process) {
      const auto pid = static_cast<pid_t>(slot.pid.load(std::memory_order_acquire));
      const SlotState state = slot.state.load(std::memory_order_acquire);
      if (pid == 0) break;
      if (state != SlotState::kEnded && state != SlotState::kFailed && kill(pid, 0) == 0) return true;
    }
    return false;
  };
  while (busy() && MonotonicNs() < until_ns) usleep(5000);
}

void Recording::TakeSystem(std::chrono::milliseconds wait) {
  if (const auto json = system_.Take(wait)) writer_.AddFact("system", *json);
}

void Recording::Finish() {
  const int64_t now_ns = MonotonicNs();
  TakeSystem(kLongestSystemProbe);
  if (system_.is_pending()) Say("the description of this machine is missing: NVML did not answer within 5 s");
  sampler_->ProcessEnded(child_.pid(), end_ns_);
  for (const pid_t pid : sampler_->Live()) {
    const std::optional<StatLine> stat = ReadStat(pid, pid);
    if (stat && stat->state != 'Z') ++result_.left_running;
  }
  sampler_->Finish(now_ns);
  ProcessRecord root{};
  root.pid = static_cast<uint32_t>(child_.pid());
  root.ppid = static_cast<uint32_t>(getpid());
  root.start_ns = start_ns_;
  root.end_ns = end_ns_;
  root.flags = kProcessIsRoot | kProcessExecuted | kProcessEnded;
  if (WIFSIGNALED(wait_status_)) {
    root.exit_signal = WTERMSIG(wait_status_);
    root.exit_status = 128 + root.exit_signal;
    if (WCOREDUMP(wait_status_)) root.flags |= kProcessDumpedCore;
  } else {
    root.exit_status = WEXITSTATUS(wait_status_);
  }
  root.arguments = writer_.String(JsonList(options_.command));
  writer_.Add(root);
  if (sampling_) writer_.Add(WindowRecord{now_ns, 0, WindowReason::kEnd});
  WaitForLibraries();
  result_.exit_status = root.exit_status;
  result_.exit_signal = root.exit_signal;
  result_.wall_ns = end_ns_ - start_ns_;
  if (sampling_) result_.recorded_ns += std::max<int64_t>(0, end_ns_ - on_since_ns_);
  for (const std::string& message : sampler_->messages()) result_.messages.push_back(message);
  std::set<pid_t> recorded = sampler_->Sampled();
  for (const ProcessSlot& slot : control_->process) {
    const auto pid = static_cast<pid_t>(slot.pid.load(std::memory_order_acquire));
    if (pid == 0) break;
    if (slot.state.load(std::memory_order_acquire) != SlotState::kFailed) recorded.insert(pid);
    result_.kernels += slot.kernels.load(std::memory_order_relaxed);
    result_.cost_ns += slot.cost_program_ns.load(std::memory_order_relaxed);
    result_.ranges += slot.ranges.load(std::memory_order_relaxed);
    result_.records_lost += slot.lost_records.load(std::memory_order_relaxed);
    if (slot.message[0] != 0)
      result_.messages.push_back("process " + std::to_string(slot.pid.load()) + ": " +
                                 std::string(slot.message, strnlen(slot.message, sizeof(slot.message))));
  }
  if (result_.left_running > 0)
    Say(std::to_string(result_.left_running) +
        " process(es) still run; they were recorded until the program ended");
  const SamplerTotals& totals = sampler_->totals();
  result_.processes = recorded.size();
  result_.threads = totals.threads;
  result_.samples = totals.samples;
  result_.samples_lost = totals.lost;
  if (totals.python_failed > 0)
    writer_.AddFact("cpu.python_stacks_failed", std::to_string(totals.python_failed));
  if (totals.late_ticks > 0) writer_.AddFact("cpu.late_ticks", std::to_string(totals.late_ticks));
  result_.launcher_cpu_ns = CpuNs() - cpu_before_ns_;
  CostRecord cost{};
  cost.time_ns = MonotonicNs();
  cost.in_writer_ns = result_.launcher_cpu_ns;
  cost.bytes_written = writer_.bytes_written();
  writer_.Add(cost);
  result_.records_lost += writer_.records_lost();
  writer_.Close();
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

bool Recording::Run(LaunchError& error) {
  if (!Prepare(error)) return false;
  if (!StartProgram(error)) {
    sampler_.reset();
    writer_.Abandon();
    RemoveCaptureDirectory(directory_);
    if (directory_ != result_.directory) RemoveCaptureDirectory(result_.directory);
    return false;
  }
  Loop();
  Finish();
  if (directory_ != result_.directory) {
    std::string why;
    if (!MoveCapture(directory_, result_.directory, why)) {
      result_.messages.push_back("the capture stays in " + directory_ + ": " + why);
      result_.directory = directory_;
    }
  }
  result_.bytes = DirectoryBytes(result_.directory);
  return true;
}

}  // namespace

int ExitStatusOf(LaunchError::Kind kind) {
  switch (kind) {
    case LaunchError::Kind::kCommandNotFound: return 127;
    case LaunchError::Kind::kCannotExecute: return 126;
    default: return 125;
  }
}

bool Launch(const LaunchOptions& options, LaunchResult& result, LaunchError& error) {
  result = {};
  if (options.command.empty()) {
    error = {LaunchError::Kind::kCommandNotFound, "no command to run"};
    return false;
  }
  Recording recording(options, result);
  return recording.Run(error);
}

}  // namespace nl::capture
