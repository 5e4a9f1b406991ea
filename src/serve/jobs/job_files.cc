// SPDX-License-Identifier: Apache-2.0
#include "serve/jobs/job_files.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/journal.h"
#include "base/mailbox.h"
#include "base/record_json.h"
#include "base/time_text.h"
#include "base/uuid.h"
#include "serve/jobs/job_table.h"

namespace nl::jobs {

namespace {

std::string RequestsFolder(const std::string& folder) { return folder + "/requests"; }

std::optional<JobRequest> RequestOf(const Message& message) {
  JobRequest out;
  out.path = message.path;
  const Json& json = message.content;
  if (const auto add = json.find("add"); add != json.end()) {
    Result<Job> job = JobFromJson(*add);
    if (!job.ok() || !IsUuidV7(job->job_id)) return std::nullopt;
    out.add = *std::move(job);
    return out;
  }
  const auto cancel = json.find("cancel");
  if (cancel == json.end() || !cancel->is_string()) return std::nullopt;
  out.cancel = cancel->get<std::string>();
  return out;
}

std::optional<JobProgress> ReadProgress(const std::string& path) {
  const Result<std::string> text = ReadWholeFile(path, 1 << 16);
  if (!text.ok()) return std::nullopt;
  const Result<Json> json = ParseJson(*text);
  if (!json.ok() || !json->is_object() || !json->contains("what") || !(*json)["what"].is_string() ||
      !json->contains("done_bytes") || !(*json)["done_bytes"].is_number_integer())
    return std::nullopt;
  JobProgress out{(*json)["what"].get<std::string>(), (*json)["done_bytes"].get<int64_t>(), {}};
  if (json->contains("total_bytes") && (*json)["total_bytes"].is_number_integer())
    out.total_bytes = (*json)["total_bytes"].get<int64_t>();
  return out;
}

}  // namespace

std::string JobsFolder(const std::string& store_path) { return store_path + "/jobs"; }
std::string ResultsFolder(const std::string& folder) { return folder + "/results"; }
std::string ResultPath(const std::string& folder, std::string_view job_id) {
  return fmt::format("{}/{}.json", ResultsFolder(folder), job_id);
}
std::string ResultTextPath(const std::string& folder, std::string_view job_id) {
  return fmt::format("{}/{}.txt", ResultsFolder(folder), job_id);
}
std::string ProgressPath(const std::string& folder, std::string_view job_id) {
  return fmt::format("{}/progress/{}.json", folder, job_id);
}

Result<Job> RequestJob(const std::string& folder, const std::string& op, const Json& params,
                       const std::string& owner) {
  JobTable table([] { return Rfc3339Utc(UnixNowNs()); });
  Job job = table.Add(op, params, owner);
  NL_TRY(LeaveMessage(RequestsFolder(folder), {{"add", ToJson(job)}}));
  return job;
}

Status RequestCancel(const std::string& folder, std::string_view job_id) {
  return LeaveMessage(RequestsFolder(folder), {{"cancel", job_id}});
}

std::vector<JobRequest> PendingRequests(const std::string& folder) {
  std::vector<JobRequest> out;
  for (const Message& message : PendingMessages(RequestsFolder(folder))) {
    if (std::optional<JobRequest> request = RequestOf(message))
      out.push_back(*std::move(request));
    else
      unlink(message.path.c_str());
  }
  return out;
}

// Renamed, so that a reader sees the whole; not synced, as it is worth nothing after a crash.
void WriteProgress(const std::string& folder, std::string_view job_id, const JobProgress& progress) {
  const std::string path = ProgressPath(folder, job_id), fresh = path + ".new";
  {
    std::ofstream file(fresh, std::ios::trunc);
    file << DumpJson(ToDocument(progress));
    if (!file.flush()) return;
  }
  static_cast<void>(std::rename(fresh.c_str(), path.c_str()));
}

Result<std::vector<Job>> ReadJobs(const std::string& folder) {
  // Requests first: one that is taken meanwhile is then in the journal too, and not lost between the two.
  const std::vector<JobRequest> pending = PendingRequests(folder);
  NL_ASSIGN(const JournalContent content, Journal::Read(folder));
  JobTable table([] { return Rfc3339Utc(UnixNowNs()); });
  table.Load(content.records);
  std::vector<Job> jobs = table.All();
  for (Job& job : jobs) {
    if (job.state == JobState::kRunning) job.progress = ReadProgress(ProgressPath(folder, job.job_id));
  }
  for (const JobRequest& request : pending) {
    if (request.add && table.Find(request.add->job_id) == nullptr) jobs.push_back(*request.add);
  }
  return jobs;
}

Result<std::string> ReadResult(const std::string& folder, const Job& job) {
  if (job.error) return ToError(*job.error);
  if (job.state != JobState::kDone)
    return InvalidInput(fmt::format("job {} is {} and has no result yet", job.job_id, NameOf(job.state)))
        .Hint("wait until its state is done");
  return ReadWholeFile(ResultPath(folder, job.job_id));
}

std::string ReadResultText(const std::string& folder, const Job& job) {
  Result<std::string> text = ReadWholeFile(ResultTextPath(folder, job.job_id));
  return text.ok() ? *std::move(text) : "";
}

}  // namespace nl::jobs
