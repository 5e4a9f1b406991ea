// SPDX-License-Identifier: Apache-2.0
#include "queue/slurm.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/run_program.h"
#include "base/time_text.h"
#include "base/uuid.h"
#include "queue/local.h"
#include "queue/process_tree.h"
#include "queue/queue_files.h"
#include "queue/queue_log.h"
#include "queue/slurm_client.h"
#include "queue/slurm_script.h"

extern char** environ;

namespace nl::queue {

namespace {

using std::chrono::milliseconds;

constexpr auto kLookAtJobsEvery = milliseconds(500);
constexpr auto kLookForSbatchEvery = milliseconds(20);
constexpr size_t kMostTasks = 1000;  // MaxArraySize is 1001 unless the cluster says otherwise
// Looks at a job that is over before its result file is given up: a shared disk may show it late.
constexpr int kLooksForResult = 10;

constexpr char kForgotten[] = "Slurm no longer knows the job, and it left no result";

std::string BatchFolder(const std::string& folder, std::string_view batch) {
  return fmt::format("{}/slurm/{}", folder, batch);
}
std::string JobName(std::string_view batch) { return fmt::format("neurolens-{}", batch); }

std::optional<double> MillisecondsBetween(const std::string& from, const std::string& to) {
  const Result<int64_t> a = ParseTimePoint(from), b = ParseTimePoint(to);
  if (!a.ok() || !b.ok() || *b < *a) return std::nullopt;
  return static_cast<double>(*b - *a) / 1e6;
}

// Jobs get all of it: with any other choice of --export, Slurm 22.05 runs the login shell of the user on the
// node, and that environment comes along. So it is what sbatch itself needs and no more.
std::vector<std::string> EnvironmentOfSbatch() {
  constexpr std::string_view kNeeded[] = {
      "PATH=", "HOME=", "USER=", "LOGNAME=", "SHELL=", "LANG=", "LD_LIBRARY_PATH=", "SLURM_", "SBATCH_"};
  std::vector<std::string> out;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (std::any_of(std::begin(kNeeded), std::end(kNeeded),
                    [&](std::string_view start) { return text.starts_with(start); }))
      out.emplace_back(text);
  }
  return out;
}

class SlurmEngine {
 public:
  SlurmEngine(Session& session, const SlurmOptions& options)
      : session_(session), options_(options), client_(session.options().keep_going) {}

  Status Run() {
    NL_TRY(client_.Check());
    NL_TRY(RecoverLocal(session_));
    NL_TRY(RecoverSubmissions());
    while (KeepGoing()) {
      NL_TRY(session_.TakeRequests());
      NL_TRY(SubmitQueued());
      NL_TRY(Follow());
      const bool idle = Ours().empty() && session_.table().NextQueued() == nullptr;
      if (idle && !session_.options().stay) return {};
      Show(idle ? RunnerPhase::kIdle : RunnerPhase::kFollowing);
      session_.Wait(-1, kLookAtJobsEvery);
    }
    return {};
  }

 private:
  bool KeepGoing() const { return session_.options().keep_going(); }

  void Show(RunnerPhase phase) {
    RunnerProgress progress;
    progress.phase = phase;
    progress.gpu_problem = "not watched: entries run under Slurm";
    progress.waiting_for = KnownText(trouble_);
    session_.Show(std::move(progress));
  }

  // Entries that Slurm has.
  std::vector<std::string> Ours() {
    std::vector<std::string> out;
    for (const EntryState state : {EntryState::kSubmitted, EntryState::kRunning}) {
      for (const Entry* entry : session_.table().InState(state)) {
        if (entry->engine == "slurm") out.push_back(entry->entry_id);
      }
    }
    return out;
  }

  // A runner died between the record of a submission and that of its job id.
  Status RecoverSubmissions() {
    for (const Entry* entry : session_.table().InState(EntryState::kSubmitted)) {
      if (entry->slurm_job || !entry->slurm_batch) continue;
      NL_TRY(WaitForSbatch(*entry->slurm_batch));
      NL_ASSIGN(const std::string job, SubmittedJob(*entry->slurm_batch));
      if (!job.empty())
        NL_TRY(SetJob(entry->entry_id, job));
      else if (HasStarted(*entry))
        NL_TRY(Forgotten(entry->entry_id));
      else
        NL_TRY(TakeBack(entry->entry_id));
    }
    return {};
  }

  // sbatch may still be at work without its runner.
  Status WaitForSbatch(const std::string& batch) {
    const std::string path = BatchFolder(session_.folder(), batch) + "/lock";
    const UniqueFd lock(open(path.c_str(), O_RDWR | O_CLOEXEC));
    while (lock.valid() && flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (!KeepGoing()) return Cancelled();
      std::this_thread::sleep_for(kLookForSbatchEvery);
    }
    return {};
  }

  Result<std::string> SubmittedJob(const std::string& batch) {
    const Result<std::string> printed =
        ReadWholeFile(BatchFolder(session_.folder(), batch) + "/sbatch.out", 1 << 20);
    const std::string job = printed.ok() ? JobIdIn(*printed) : "";
    return job.empty() ? client_.FindByName(JobName(batch)) : Result<std::string>(job);
  }

  bool HasStarted(const Entry& entry) const {
    return PathExists(StartFile(EntryFolder(session_.folder(), entry.entry_id), entry.attempts));
  }

  // It ran, and Slurm has no memory of it: its result if it left one.
  Status Forgotten(const std::string& entry_id) {
    const Entry& entry = *session_.table().Find(entry_id);
    const auto end = ReadEndFile(EndFile(EntryFolder(session_.folder(), entry_id), entry.attempts));
    if (end) return {};  // Follow takes it
    return session_.Ended(session_.table().Interrupt(entry_id, NowRfc3339(), kForgotten), entry_id);
  }

  Status TakeBack(const std::string& entry_id) {
    return session_.Keep(session_.table().Change(entry_id, [](Entry& e) {
      e.state = EntryState::kQueued;
      --e.attempts;
      e.slurm_batch.reset();
      e.slurm_task.reset();
    }));
  }

  Status SetJob(const std::string& entry_id, const std::string& job) {
    return session_.Keep(session_.table().Change(entry_id, [&](Entry& e) {
      e.slurm_job = e.slurm_task ? fmt::format("{}_{}", job, *e.slurm_task) : job;
    }));
  }

  Status SubmitQueued() {
    for (const bool gpu : {true, false}) {
      std::vector<std::string> ids;
      for (const Entry* entry : session_.table().InState(EntryState::kQueued)) {
        if (entry->gpu == gpu) ids.push_back(entry->entry_id);
      }
      const size_t most = options_.arrays ? kMostTasks : 1;
      for (size_t at = 0; at < ids.size(); at += most) {
        const auto from = ids.begin() + static_cast<std::ptrdiff_t>(at);
        const auto to = ids.begin() + static_cast<std::ptrdiff_t>(std::min(at + most, ids.size()));
        NL_TRY(Submit({from, to}, gpu));
      }
    }
    return {};
  }

  Status Submit(const std::vector<std::string>& ids, bool gpu) {
    const std::string batch = NewUuidV7(), folder = BatchFolder(session_.folder(), batch);
    const bool array = ids.size() > 1;
    NL_TRY(MakeDirectories(folder));
    std::vector<Json> records;
    for (size_t task = 0; task < ids.size(); ++task) {
      records.push_back(session_.table().Start(ids[task], "slurm", NowRfc3339()));
      Json& set = records.back()["set"];
      // Start means running; under Slurm it has only been submitted.
      set.update(session_.table().Change(ids[task], [&](Entry& e) {
        e.state = EntryState::kSubmitted;
        e.started_at.reset();
        e.slurm_batch = batch;
        if (array) e.slurm_task = static_cast<int64_t>(task);
      })["set"]);
      NL_TRY(WriteTask(ids[task], fmt::format("{}/{}.sh", folder, task)));
    }
    NL_TRY(WriteFileAtomically(folder + "/batch.sh", BatchScript(folder), 0700));
    NL_TRY(session_.KeepAll(records));
    const Result<std::string> job = Sbatch(batch, array ? static_cast<int64_t>(ids.size()) : 0, gpu);
    if (!job.ok()) {
      // Nothing was submitted: the entries wait for a runner that can.
      for (const std::string& id : ids) NL_TRY(TakeBack(id));
      return job.error();
    }
    for (const std::string& id : ids) NL_TRY(SetJob(id, *job));
    return {};
  }

  Status WriteTask(const std::string& entry_id, const std::string& path) {
    const Entry& entry = *session_.table().Find(entry_id);
    NL_ASSIGN(EntryFiles files, ReadEntryFiles(session_.folder(), entry_id));
    SlurmTask task;
    task.entry_folder = EntryFolder(session_.folder(), entry_id);
    task.working_folder = entry.working_folder;
    task.output_path = OutputPath(session_.folder(), entry_id, entry.attempts);
    task.attempt = entry.attempts;
    task.arguments = ArgumentsOf(files, task.entry_folder + "/script");
    task.environment = std::move(files.environment);
    task.environment.push_back(MarkOf(entry_id, entry.attempts).environment);
    task.environment.push_back(fmt::format("NEUROLENS_QUEUE_ENTRY={}", entry_id));
    return WriteFileAtomically(path, TaskScript(task), 0700);
  }

  // Its output is a file, so that the next runner finds the job id in it.
  Result<std::string> Sbatch(const std::string& batch, int64_t tasks, bool gpu) {
    const std::string folder = BatchFolder(session_.folder(), batch), lock_path = folder + "/lock";
    const UniqueFd lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.valid() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return FileError("lock", lock_path);
    SpawnRequest request;
    request.arguments = SbatchWords(options_, folder, JobName(batch), tasks, gpu);
    request.environment = EnvironmentOfSbatch();
    request.working_folder = "/";
    request.output_path = folder + "/sbatch.out";
    request.kept_open = lock.get();
    NL_ASSIGN(const pid_t pid, SpawnInSession(request));
    int raw = 0;
    while (waitpid(pid, &raw, 0) < 0 && errno == EINTR) {
    }
    NL_ASSIGN(const std::string printed, ReadWholeFile(request.output_path, 1 << 20));
    const std::string job = JobIdIn(printed);
    if (!WIFEXITED(raw) || WEXITSTATUS(raw) != 0 || job.empty())
      return Unsupported(fmt::format("sbatch failed: {}", printed.substr(0, printed.find('\n'))));
    return job;
  }

  Status Follow() {
    const std::vector<std::string> ids = Ours();
    if (ids.empty()) return {};
    const Result<std::map<std::string, SlurmJob>> active = client_.Active();
    // The controller may be away for a while; results are files, so they are still taken.
    trouble_ = active.ok() ? "" : active.error().message;
    for (const std::string& id : ids) {
      NL_TRY(Look(id, active.ok() ? &*active : nullptr));
    }
    return {};
  }

  Status Look(const std::string& entry_id, const std::map<std::string, SlurmJob>* active) {
    const Entry& entry = *session_.table().Find(entry_id);
    const std::string folder = EntryFolder(session_.folder(), entry_id);
    if (entry.state == EntryState::kSubmitted) {
      if (const auto start = ReadStartFile(StartFile(folder, entry.attempts)))
        NL_TRY(Begin(entry_id, *start));
    }
    if (const auto end = ReadEndFile(EndFile(folder, entry.attempts))) return End(entry_id, *end);
    if (active == nullptr || !entry.slurm_job) return {};
    if (active->contains(*entry.slurm_job)) {
      looks_.erase(entry_id);
      return entry.cancel_requested ? CancelJob(*entry.slurm_job) : Status();
    }
    return LookAtEnd(entry_id);
  }

  Status CancelJob(const std::string& job) {
    if (const Status done = client_.Cancel(job); !done.ok()) trouble_ = done.error().message;
    return {};
  }

  Status Begin(const std::string& entry_id, const SlurmStart& start) {
    return session_.Started(session_.table().Change(entry_id,
                                                    [&](Entry& e) {
                                                      e.state = EntryState::kRunning;
                                                      e.started_at = start.at;
                                                      e.node = start.node;
                                                    }),
                            entry_id);
  }

  Status End(const std::string& entry_id, const SlurmEnd& end) {
    AttemptEnd out;
    out.exit_status = end.exit_status;
    if (end.exit_status != 0) out.reason = fmt::format("exit status {}", end.exit_status);
    return Close(entry_id, std::move(out), end.at);
  }

  Status Close(const std::string& entry_id, AttemptEnd end, const std::string& at) {
    looks_.erase(entry_id);
    const Entry& entry = *session_.table().Find(entry_id);
    end.at = at;
    end.overlap_reason = "not watched: the entry ran under Slurm";
    if (entry.started_at) end.duration_ms = MillisecondsBetween(*entry.started_at, at);
    const Json record = session_.table().End(entry_id, end, session_.options().max_attempts);
    return session_.Ended(record, entry_id);
  }

  // Slurm no longer runs the job, and it left no result: it was cancelled or killed, or the disk is late.
  Status LookAtEnd(const std::string& entry_id) {
    const Entry& entry = *session_.table().Find(entry_id);
    const Result<std::optional<SlurmJob>> found = client_.Find(*entry.slurm_job);
    if (!found.ok()) {
      trouble_ = found.error().message;
      return {};
    }
    const int looks = ++looks_[entry_id];
    if (*found && !IsEndOfJob((*found)->state)) return {};
    if ((!*found || (*found)->state == "COMPLETED") && looks < kLooksForResult) return {};
    if (!*found || IsLostJob((*found)->state)) {
      looks_.erase(entry_id);
      const std::string reason =
          *found ? fmt::format("Slurm ended the job: {}", (*found)->state) : std::string(kForgotten);
      return session_.Ended(session_.table().Interrupt(entry_id, NowRfc3339(), reason), entry_id);
    }
    AttemptEnd end;
    end.exit_status = (*found)->exit_status.value_or(1);
    if ((*found)->state != "COMPLETED") {
      if (end.exit_status == 0) end.exit_status = 1;
      end.reason = fmt::format("Slurm ended the job: {}", (*found)->state);
    }
    return Close(entry_id, std::move(end), NowRfc3339());
  }

  Session& session_;
  const SlurmOptions& options_;
  SlurmClient client_;
  std::map<std::string, int> looks_;
  std::string trouble_;
};

}  // namespace

std::vector<std::string> SbatchWords(const SlurmOptions& options, const std::string& batch_folder,
                                     const std::string& name, int64_t tasks, bool gpu) {
  // Slurm must not run a job again by itself: the queue decides that.
  std::vector<std::string> words{"sbatch",       "--parsable",         "--no-requeue",
                                 "--export=ALL", "--job-name=" + name, "--chdir=/"};
  const std::string log = batch_folder + (tasks > 0 ? "/%a.log" : "/0.log");
  words.push_back("--output=" + log);
  if (tasks > 0) {
    std::string range = fmt::format("--array=0-{}", tasks - 1);
    if (options.most_tasks > 0) range += fmt::format("%{}", options.most_tasks);
    words.push_back(std::move(range));
  }
  if (!options.partition.empty()) words.push_back("--partition=" + options.partition);
  if (gpu && (options.gpus > 0 || !options.gpu_type.empty())) {
    const std::string type = options.gpu_type.empty() ? "" : ":" + options.gpu_type;
    words.push_back(fmt::format("--gres=gpu{}:{}", type, std::max<int64_t>(options.gpus, 1)));
  }
  if (options.exclusive) words.push_back("--exclusive");
  if (options.time_min > 0) words.push_back(fmt::format("--time={}", options.time_min));
  words.insert(words.end(), options.more.begin(), options.more.end());
  words.push_back(batch_folder + "/batch.sh");
  return words;
}

Status RunSlurm(Session& session, const SlurmOptions& options) { return SlurmEngine(session, options).Run(); }

}  // namespace nl::queue
