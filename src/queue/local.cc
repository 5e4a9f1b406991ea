// SPDX-License-Identifier: Apache-2.0
#include "queue/local.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include <fmt/format.h>

#include "queue/queue_files.h"

namespace nl::queue {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kLookAtGpusEvery = milliseconds(200);
constexpr auto kLookAtRequestsEvery = milliseconds(1000);  // should inotify miss something
constexpr auto kGraceOfEntry = milliseconds(3000);         // between asking to end and ending
constexpr auto kGraceOfRest = milliseconds(500);           // of what an ended entry left running
constexpr int kCannotStart = 127;

std::string SessionPath(const std::string& folder, std::string_view entry_id) {
  return EntryFolder(folder, entry_id) + "/process";
}

// Held by every process of the last attempt that did not close it; free when they ended. Each attempt has a
// file of its own under this name, so that what escaped from an earlier one does not count.
std::string RunningLockPath(const std::string& folder) { return folder + "/running.lock"; }

Result<UniqueFd> OpenRunningLock(const std::string& folder) {
  const std::string path = RunningLockPath(folder);
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return FileError("open", path);
  return file;
}

class LocalEngine {
 public:
  LocalEngine(Session& session, GpuWatch& gpus) : session_(session), gpus_(gpus) {}

  Status Run() {
    NL_TRY(Recover());
    while (KeepGoing()) {
      NL_TRY(session_.TakeRequests());
      const Entry* next = session_.table().NextQueued();
      if (next == nullptr) {
        if (!session_.options().stay) return {};
        Show(RunnerPhase::kIdle, nullptr);
        session_.Wait(-1, kLookAtRequestsEvery);
      } else if (!next->gpu || GpusAreFree(*next)) {
        NL_TRY(RunOne(next->entry_id));
      } else {
        session_.Wait(-1, kLookAtGpusEvery);
      }
    }
    return {};
  }

  // Ends what the last runner left, then decides what becomes of those entries.
  Status Recover() {
    const auto lost = session_.table().InState(EntryState::kRunning);
    std::vector<std::string> ids;
    for (const Entry* entry : lost) {
      if (entry->engine.value_or("local") == "local") ids.push_back(entry->entry_id);
    }
    if (!ids.empty()) Show(RunnerPhase::kStopping, session_.table().Find(ids[0]));
    NL_ASSIGN(const UniqueFd lock, OpenRunningLock(session_.folder()));
    // A child of the last runner may not have its mark yet (it is about to start its program), but has the
    // lock.
    for (bool free = false; !free;) {
      for (const std::string& id : ids) {
        if (!EndProcesses(FullMark(id), kGraceOfEntry, [this] { return KeepGoing(); })) return Cancelled();
      }
      free = flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
      if (free) break;
      for (const pid_t pid : ProcessesWithOpen(RunningLockPath(session_.folder()))) kill(pid, SIGKILL);
      if (!KeepGoing()) return Cancelled();
      std::this_thread::sleep_for(milliseconds(5));
    }
    for (const std::string& id : ids) {
      NL_TRY(session_.Ended(
          session_.table().Interrupt(id, NowRfc3339(), "the runner died while the entry ran"), id));
    }
    return {};
  }

 private:
  struct Attempt {
    std::string entry_id;
    AttemptMark mark;
    pid_t pid = -1;
    UniqueFd pid_fd;
    Clock::time_point started, ended, looked;
    int64_t looks = 0;
    bool overlap = false;
    int unknown_looks = 0;  // in a row
    bool unknown = false;
    std::string others;
    bool stopped = false;  // the runner was asked to end
  };

  bool KeepGoing() const { return session_.options().keep_going(); }

  void Show(RunnerPhase phase, const Entry* entry, std::string_view waiting_for = "",
            const Attempt* attempt = nullptr) {
    RunnerProgress progress;
    progress.phase = phase;
    if (entry != nullptr) {
      progress.entry_id = entry->entry_id;
      progress.title = TitleOf(*entry);
    }
    progress.waiting_for = KnownText(waiting_for);
    progress.gpu_problem = KnownText(gpus_.problem());
    if (attempt != nullptr) {
      progress.entry_pid = attempt->pid;
      progress.gpu_looks = attempt->looks;
      progress.overlap_seen = attempt->overlap;
    }
    session_.Show(std::move(progress));
  }

  AttemptMark FullMark(const std::string& entry_id) {
    AttemptMark mark = MarkOf(entry_id, session_.table().Find(entry_id)->attempts);
    ReadSession(SessionPath(session_.folder(), entry_id), mark);
    return mark;
  }

  bool GpusAreFree(const Entry& entry) {
    const GpuWatch::Others others = gpus_.Look(nullptr);
    if (others.named.empty() && !others.unknown) return true;
    Show(RunnerPhase::kWaitingForGpu, &entry,
         others.named.empty() ? "a process outside this container" : others.named[0]);
    return false;
  }

  Status RunOne(const std::string& entry_id) {
    EntryTable& table = session_.table();
    unlink(SessionPath(session_.folder(), entry_id).c_str());  // of an earlier attempt
    NL_TRY(session_.Started(table.Start(entry_id, "local", NowRfc3339()), entry_id));
    Attempt attempt;
    attempt.entry_id = entry_id;
    attempt.mark = MarkOf(entry_id, table.Find(entry_id)->attempts);
    attempt.started = attempt.looked = Clock::now();
    AttemptEnd end;
    if (const Status started = Start(attempt); !started.ok()) {
      end.exit_status = kCannotStart;
      end.reason = started.error().message;
    } else {
      Show(RunnerPhase::kRunning, table.Find(entry_id), "", &attempt);
      NL_ASSIGN(end.exit_status, Follow(attempt));
      end.duration_ms = std::chrono::duration<double, std::milli>(attempt.ended - attempt.started).count();
      if (end.exit_status != 0)
        end.reason = end.exit_status > 128 ? fmt::format("ended by signal {}", end.exit_status - 128)
                                           : fmt::format("exit status {}", end.exit_status);
    }
    end.at = NowRfc3339();
    Judge(attempt, end);
    return session_.Ended(attempt.stopped ? table.Stop(entry_id, end.at)
                                          : table.End(entry_id, end, session_.options().max_attempts),
                          entry_id);
  }

  Status Start(Attempt& attempt) {
    const Entry& entry = *session_.table().Find(attempt.entry_id);
    NL_ASSIGN(EntryFiles files, ReadEntryFiles(session_.folder(), attempt.entry_id));
    unlink(RunningLockPath(session_.folder()).c_str());
    NL_ASSIGN(const UniqueFd lock, OpenRunningLock(session_.folder()));
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
      return FileError("lock", RunningLockPath(session_.folder()));
    SpawnRequest request;
    request.arguments = ArgumentsOf(files, EntryFolder(session_.folder(), attempt.entry_id) + "/script");
    request.environment = std::move(files.environment);
    request.environment.push_back(attempt.mark.environment);
    request.environment.push_back(fmt::format("NEUROLENS_QUEUE_ENTRY={}", attempt.entry_id));
    request.working_folder = entry.working_folder;
    request.output_path = OutputPath(session_.folder(), attempt.entry_id, entry.attempts);
    request.kept_open = lock.get();
    NL_ASSIGN(attempt.pid, SpawnInSession(request));
    attempt.pid_fd = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, attempt.pid, 0)));
    WriteSession(SessionPath(session_.folder(), attempt.entry_id), attempt.pid);
    ReadSession(SessionPath(session_.folder(), attempt.entry_id), attempt.mark);
    return {};
  }

  // Until its program ended; then what it left running is ended too, so that nothing disturbs the next entry.
  Result<int> Follow(Attempt& attempt) {
    const Entry& entry = *session_.table().Find(attempt.entry_id);
    const bool watch = entry.gpu && gpus_.works();
    if (watch) LookAtGpus(attempt);
    int raw = 0;
    for (;;) {
      const pid_t ended = waitpid(attempt.pid, &raw, WNOHANG);
      if (ended == attempt.pid) break;
      if (ended < 0 && errno != EINTR) return IoError("cannot wait for the entry");
      if (!KeepGoing()) attempt.stopped = true;
      if (attempt.stopped || session_.table().Find(attempt.entry_id)->cancel_requested) {
        raw = EndNow(attempt);
        break;
      }
      session_.Wait(attempt.pid_fd.get(), watch ? kLookAtGpusEvery : WaitFor(attempt));
      NL_TRY(session_.TakeRequests());
      if (watch && Clock::now() - attempt.looked >= kLookAtGpusEvery) LookAtGpus(attempt);
    }
    attempt.ended = Clock::now();
    static_cast<void>(EndProcesses(attempt.mark, kGraceOfRest, [] { return true; }));
    return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  }

  // Kernels before 5.3 have no pidfd.
  static milliseconds WaitFor(const Attempt& attempt) {
    return attempt.pid_fd.valid() ? kLookAtRequestsEvery : milliseconds(10);
  }

  int EndNow(Attempt& attempt) {
    Show(RunnerPhase::kStopping, session_.table().Find(attempt.entry_id), "", &attempt);
    // The program itself stays a zombie until it is reaped here, so its id is not given to another.
    static_cast<void>(EndProcesses(attempt.mark, kGraceOfEntry, [] { return true; }));
    int raw = 0;
    while (waitpid(attempt.pid, &raw, 0) < 0 && errno == EINTR) {
    }
    return raw;
  }

  void LookAtGpus(Attempt& attempt) {
    attempt.looked = Clock::now();
    const GpuWatch::Others others = gpus_.Look(&attempt.mark);
    ++attempt.looks;
    // Once may be a process that just ended.
    attempt.unknown_looks = others.unknown ? attempt.unknown_looks + 1 : 0;
    if (attempt.unknown_looks >= 2) attempt.unknown = true;
    if (!others.named.empty() && !attempt.overlap) {
      attempt.overlap = true;
      attempt.others = others.named[0];
    }
    Show(RunnerPhase::kRunning, session_.table().Find(attempt.entry_id), "", &attempt);
  }

  void Judge(const Attempt& attempt, AttemptEnd& end) const {
    if (attempt.overlap) {
      end.overlap = true;
      end.overlap_reason = attempt.others + " used a GPU";
    } else if (!session_.table().Find(attempt.entry_id)->gpu) {
      end.overlap_reason = "not watched: the entry was added with --no-gpu";
    } else if (!gpus_.works()) {
      end.overlap_reason = "not watched: " + gpus_.problem();
    } else if (attempt.looks == 0) {
      end.overlap_reason = "not watched: the entry did not start";
    } else if (attempt.unknown) {
      end.overlap_reason = "NVML lists processes of another container, which may be the entry's own";
    } else {
      end.overlap = false;
    }
  }

  Session& session_;
  GpuWatch& gpus_;
};

}  // namespace

Status RunLocal(Session& session, GpuWatch& gpus) { return LocalEngine(session, gpus).Run(); }

Status RecoverLocal(Session& session) {
  GpuWatch gpus;
  return LocalEngine(session, gpus).Recover();
}

}  // namespace nl::queue
