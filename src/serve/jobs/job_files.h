// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder of the jobs in a store, and how processes that do not run the jobs speak with the one that does:
//
//   jobs/journal, jobs/lock     base/journal.h
//   jobs/results/ID.json        replies, exactly as the operation gave them
//   jobs/results/ID.txt         the same for a person's eyes
//   jobs/progress/ID.json       how far a running job is; not synced, it may be lost
//   jobs/requests/NAME.json     jobs to add or cancel, left here by a command and taken by the server
//
// Thread rule: free functions; any process.

#include <string>
#include <string_view>
#include <vector>

#include "serve/jobs/job.h"

namespace nl::jobs {

std::string JobsFolder(const std::string& store_path);
std::string ResultPath(const std::string& folder, std::string_view job_id);
std::string ResultTextPath(const std::string& folder, std::string_view job_id);
std::string ProgressPath(const std::string& folder, std::string_view job_id);
std::string ResultsFolder(const std::string& folder);

// Leaves a request: a new job, which has an id from then on, or the end of one.
Result<Job> RequestJob(const std::string& folder, const std::string& op, const Json& params,
                       const std::string& owner);
Status RequestCancel(const std::string& folder, std::string_view job_id);

struct JobRequest {
  std::string path;
  std::optional<Job> add;
  std::string cancel;  // id of a job
};
// In the order they were left. Files that are not requests are removed.
std::vector<JobRequest> PendingRequests(const std::string& folder);

void WriteProgress(const std::string& folder, std::string_view job_id, const JobProgress& progress);

// Every job as of now: the journal, the progress of running jobs, and requests that were not taken yet.
Result<std::vector<Job>> ReadJobs(const std::string& folder);
// The result of a job that is done; else why there is none.
Result<std::string> ReadResult(const std::string& folder, const Job& job);
// The same for a person's eyes; empty where none was kept.
std::string ReadResultText(const std::string& folder, const Job& job);

}  // namespace nl::jobs
