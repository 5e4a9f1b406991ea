// SPDX-License-Identifier: Apache-2.0
#include "queue/session.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/file_mark.h"
#include "base/file_ops.h"
#include "base/record_json.h"
#include "base/time_text.h"
#include "queue/queue_files.h"
#include "queue/queue_log.h"

namespace nl::queue {

namespace {

constexpr auto kWaitForJournal = std::chrono::seconds(10);
constexpr size_t kMostFinished = 10'000;  // older ones are forgotten with their files
constexpr std::time_t kLeftoverAge_s = 3600;

std::string ProgressPath(const std::string& folder) { return folder + "/progress.json"; }

// Folders of entries that were never added: a command was killed between the two.
void RemoveLeftovers(const std::string& folder, const EntryTable& table) {
  std::error_code ec;
  const std::string entries = folder + "/entries";
  for (std::filesystem::directory_iterator it(entries, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string path = it->path().string();
    struct stat info {};
    if (table.Find(it->path().filename().string()) != nullptr || stat(path.c_str(), &info) != 0) continue;
    if (std::time(nullptr) - info.st_mtime > kLeftoverAge_s) static_cast<void>(RemoveTree(path));
  }
}

std::string AbsoluteIn(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : fmt::format("{}/{}", folder, path);
}

}  // namespace

std::string NowRfc3339() { return Rfc3339Utc(UnixNowNs() / 1'000'000 * 1'000'000); }

std::span<const std::string_view> NamesOf(RunnerPhase) {
  static constexpr std::string_view kNames[] = {"idle",      "waiting_for_gpu", "running",
                                                "following", "importing",       "stopping"};
  return kNames;
}

void Describe(Record<RunnerProgress>& r) {
  r.Name("QueueProgress", "What the runner of the queue does now; also the file progress.json");
  r.Field("pid", &RunnerProgress::pid, "Process id of the runner");
  r.Field("engine", &RunnerProgress::engine, "local or slurm");
  r.Field("phase", &RunnerProgress::phase, "What it does");
  r.Field("entry_id", &RunnerProgress::entry_id, "Entry it works on");
  r.Field("title", &RunnerProgress::title, "Name or command of that entry");
  r.Field("waiting_for", &RunnerProgress::waiting_for, "GPU work that it waits for");
  r.Field("entry_pid", &RunnerProgress::entry_pid, "Process id of the entry's program");
  r.Field("finished", &RunnerProgress::finished, "Attempts that ended since the runner started");
  r.Field("remaining", &RunnerProgress::remaining, "Entries that are queued, submitted or running");
  r.Field("percent", &RunnerProgress::percent, Unit::kPercent, "Finished part of finished and remaining");
  r.Field("eta_s", &RunnerProgress::eta_s, Unit::kSeconds,
          "Expected time until the queue is empty, from the mean duration so far");
  r.Field("eta_reason", &RunnerProgress::eta_reason, "Why that is not known");
  r.Field("gpu_looks", &RunnerProgress::gpu_looks, "Times NVML was asked for other work beside the entry");
  r.Field("overlap_seen", &RunnerProgress::overlap_seen, "Other GPU work ran beside the entry");
  r.Field("gpu_problem", &RunnerProgress::gpu_problem, "Why other GPU work is not watched");
  r.Field("updated_at", &RunnerProgress::updated_at, "Time of this (RFC 3339, UTC)");
}

std::string QueueMark(const std::string& folder) {
  namespace fs = std::filesystem;
  std::string out = FileMark(folder + "/journal") + FileMark(RequestsFolder(folder));
  const std::optional<RunnerProgress> runner = ReadProgress(folder);
  if (!runner) return out;  // also of a runner that was killed, which left its progress
  out += FileMark(ProgressPath(folder));
  if (!runner->entry_id) return out;
  std::error_code ec;
  for (fs::directory_iterator it(EntryFolder(folder, *runner->entry_id), ec), end; !ec && it != end;
       it.increment(ec))
    out += it->path().filename().string() + FileMark(it->path().string());
  return out;
}

void Describe(Record<SessionTotals>& r) {
  r.Name("QueueTotals", "What a runner did, in attempts");
  r.Field("attempts", &SessionTotals::attempts, "Attempts that ended");
  r.Field("done", &SessionTotals::done, "Succeeded");
  r.Field("failed", &SessionTotals::failed, "Failed for good");
  r.Field("cancelled", &SessionTotals::cancelled, "Cancelled");
  r.Field("interrupted", &SessionTotals::interrupted, "Interrupted for good");
  r.Field("queued_again", &SessionTotals::queued_again, "Queued again");
}

std::optional<RunnerProgress> ReadProgress(const std::string& folder) {
  const Result<std::string> text = ReadWholeFile(ProgressPath(folder), 1 << 20);
  const Result<Json> json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  if (!json.ok() || !json->is_object()) return std::nullopt;
  RunnerProgress out;
  const auto text_of = [&](const char* name) {
    const auto it = json->find(name);
    return it != json->end() && it->is_string() ? std::optional(it->get<std::string>()) : std::nullopt;
  };
  const auto number_of = [&](const char* name) {
    const auto it = json->find(name);
    return it != json->end() && it->is_number() ? std::optional(it->get<double>()) : std::nullopt;
  };
  out.pid = static_cast<int64_t>(number_of("pid").value_or(0));
  // The file outlives a runner that was killed.
  if (out.pid <= 0 || !PathExists(fmt::format("/proc/{}", out.pid)) || !Journal::IsOpen(folder))
    return std::nullopt;
  out.engine = text_of("engine").value_or("");
  const auto names = NamesOf(RunnerPhase{});
  const auto phase = std::find(names.begin(), names.end(), text_of("phase").value_or(""));
  if (phase != names.end()) out.phase = static_cast<RunnerPhase>(phase - names.begin());
  out.entry_id = text_of("entry_id");
  out.title = text_of("title");
  out.waiting_for = text_of("waiting_for");
  if (const auto pid = number_of("entry_pid")) out.entry_pid = static_cast<int64_t>(*pid);
  out.finished = static_cast<int64_t>(number_of("finished").value_or(0));
  out.remaining = static_cast<int64_t>(number_of("remaining").value_or(0));
  out.percent = number_of("percent").value_or(0);
  out.eta_s = number_of("eta_s");
  out.eta_reason = text_of("eta_reason");
  out.gpu_looks = static_cast<int64_t>(number_of("gpu_looks").value_or(0));
  out.overlap_seen = json->value("overlap_seen", Json()) == Json(true);
  out.gpu_problem = text_of("gpu_problem");
  out.updated_at = text_of("updated_at").value_or("");
  return out;
}

Result<std::unique_ptr<Session>> Session::Open(SessionOptions options, std::string engine) {
  NL_ASSIGN(RunnerLock lock, RunnerLock::Take(options.lock_path));
  std::unique_ptr<Session> out(new Session(std::move(options), std::move(engine), std::move(lock)));
  const std::string& folder = out->folder();
  NL_TRY(MakeDirectories(folder + "/entries"));
  NL_TRY(MakeDirectories(RequestsFolder(folder)));
  // Commands have it for milliseconds. On a shared disk a runner of another machine may have it for long.
  NL_ASSIGN(out->journal_, Journal::Open(folder, kWaitForJournal));
  NL_TRY(out->Load());
  out->requests_watch_ = UniqueFd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (out->requests_watch_.valid())
    inotify_add_watch(out->requests_watch_.get(), RequestsFolder(folder).c_str(),
                      IN_MOVED_TO | IN_CLOSE_WRITE);
  NL_TRY(out->TakeRequests());
  return out;
}

Session::~Session() { unlink(ProgressPath(folder()).c_str()); }

Status Session::Load() {
  NL_ASSIGN(const JournalContent content, Journal::Read(folder()));
  const int64_t bad = content.bad_lines + table_.Load(content.records);
  if (bad > 0) problem_ = fmt::format("{} damaged records of the journal were left out", bad);
  Trim();
  RemoveLeftovers(folder(), table_);
  // On a full disk the long journal remains, which is as good.
  if (content.records.size() > 2 * table_.size() + 100)
    static_cast<void>(journal_->Rewrite(table_.Records()));
  NL_TRY(CompleteLog(folder(), table_.All()));
  return ImportMissed();
}

void Session::Trim() {
  std::vector<std::string> over;
  for (const Entry& entry : table_.All()) {
    if (IsOver(entry.state)) over.push_back(entry.entry_id);
  }
  if (over.size() <= kMostFinished) return;
  over.resize(over.size() - kMostFinished);
  std::vector<Json> records;
  for (const std::string& id : over) records.push_back(table_.Remove(id));
  if (!journal_->AppendAll(records).ok()) return;
  for (const std::string& id : over) static_cast<void>(RemoveTree(EntryFolder(folder(), id)));
}

Status Session::TakeRequests() {
  // Events only wake us up; what counts is in the folder.
  char events[4096];
  while (read(requests_watch_.get(), events, sizeof events) > 0) {
  }
  return queue::TakeRequests(folder(), *journal_, table_);
}

Status Session::Started(const Json& record, std::string_view entry_id) {
  NL_TRY(Keep(record));
  return AppendLog(folder(), StartLine(*table_.Find(entry_id)), false);
}

Status Session::Ended(const Json& record, std::string_view entry_id) {
  NL_TRY(Keep(record));
  const Entry& entry = *table_.Find(entry_id);
  ++totals_.attempts;
  switch (entry.state) {
    case EntryState::kDone: ++totals_.done; break;
    case EntryState::kFailed: ++totals_.failed; break;
    case EntryState::kCancelled: ++totals_.cancelled; break;
    case EntryState::kInterrupted: ++totals_.interrupted; break;
    default: ++totals_.queued_again;
  }
  if (entry.duration_ms) {
    finished_ms_ += *entry.duration_ms;
    ++measured_;
  }
  NL_TRY(AppendLog(folder(), EndLine(entry)));
  return Import(entry_id);
}

Status Session::Import(std::string_view entry_id) {
  const Entry& entry = *table_.Find(entry_id);
  if (entry.state != EntryState::kDone || entry.imports.empty() || !options_.import) return {};
  RunnerProgress progress;
  progress.phase = RunnerPhase::kImporting;
  progress.entry_id = entry.entry_id;
  progress.title = TitleOf(entry);
  Show(progress);
  std::vector<std::string> paths;
  for (const std::string& path : entry.imports) paths.push_back(AbsoluteIn(entry.working_folder, path));
  const Result<std::vector<std::string>> runs = options_.import(paths);
  // Stopped: the next runner imports it, which gives the same runs.
  if (!runs.ok() && runs.error().code == ErrorCode::kCancelled) return {};
  return Keep(table_.Change(entry_id, [&](Entry& e) {
    if (runs.ok())
      e.run_ids = *runs;
    else
      e.import_problem = runs.error().ToString();
  }));
}

// A runner that died after an entry succeeded has not imported what it recorded.
Status Session::ImportMissed() {
  for (const Entry& entry : table_.All()) {
    if (entry.run_ids.empty() && !entry.import_problem) NL_TRY(Import(entry.entry_id));
  }
  return {};
}

void Session::Wait(int fd, std::chrono::milliseconds most) {
  pollfd waiting[] = {{requests_watch_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
  poll(waiting, 2, static_cast<int>(most.count()));
}

void Session::Show(RunnerProgress progress) {
  progress.pid = getpid();
  progress.engine = engine_;
  progress.finished = totals_.attempts;
  progress.remaining = table_.not_over();
  const int64_t all = progress.finished + progress.remaining;
  progress.percent =
      all > 0 ? 100.0 * static_cast<double>(progress.finished) / static_cast<double>(all) : 100;
  if (measured_ > 0)
    progress.eta_s =
        finished_ms_ / 1000 / static_cast<double>(measured_) * static_cast<double>(progress.remaining);
  else
    progress.eta_reason = "no entry has ended yet";
  progress.updated_at = NowRfc3339();
  const std::string path = ProgressPath(folder()), fresh = path + ".new";
  {
    std::ofstream file(fresh, std::ios::trunc);
    file << DumpJson(ToDocument(progress), 2) << "\n";
    if (!file.flush()) return;
  }
  static_cast<void>(std::rename(fresh.c_str(), path.c_str()));
  if (options_.report) options_.report(progress);
}

}  // namespace nl::queue
