// SPDX-License-Identifier: Apache-2.0
#include "serve/jobs/job_table.h"

#include <fmt/format.h>

#include "base/terminal.h"
#include "base/uuid.h"

namespace nl::jobs {

namespace {

Error NoSuchJob(std::string_view id) {
  return NotFound(fmt::format("no such job: {}", PrintableName(id, 80))).Hint("GET /api/v1/jobs lists them");
}

}  // namespace

void JobTable::Load(const std::vector<Json>& records) {
  for (const Json& record : records) {
    if (record.is_object() && record.contains("removed")) {
      if (const auto id = record.find("job_id"); id != record.end() && id->is_string())
        Remove(id->get<std::string>());
      continue;
    }
    Result<Job> job = JobFromJson(record);
    if (!job.ok()) continue;  // written by a newer version
    const auto [it, added] = order_of_.try_emplace(job->job_id, last_ + 1);
    if (added) ++last_;
    jobs_[it->second] = *std::move(job);
  }
}

const Job& JobTable::Add(std::string op, Json params, std::string owner, std::string job_id) {
  Job job;
  job.job_id = job_id.empty() ? NewUuidV7() : std::move(job_id);
  job.op = std::move(op);
  job.params = std::move(params);
  job.owner = std::move(owner);
  job.created_at = now_();
  order_of_[job.job_id] = ++last_;
  return jobs_[last_] = std::move(job);
}

Job* JobTable::FindMutable(std::string_view job_id) {
  const auto it = order_of_.find(std::string(job_id));
  return it == order_of_.end() ? nullptr : &jobs_.at(it->second);
}

const Job* JobTable::Find(std::string_view job_id) const {
  return const_cast<JobTable*>(this)->FindMutable(job_id);
}

Result<Job> JobTable::Move(std::string_view job_id, JobState to, const std::optional<JobError>& error) {
  Job* job = FindMutable(job_id);
  if (job == nullptr) return NoSuchJob(job_id);
  if (!MayBecome(job->state, to))
    return InvalidInput(fmt::format("a job that is {} cannot become {}", NameOf(job->state), NameOf(to)));
  job->state = to;
  job->error = error;
  job->progress.reset();
  if (to == JobState::kRunning) {
    ++job->attempts;
    job->started_at = now_();
  }
  if (IsOver(to)) job->finished_at = now_();
  return *job;
}

Result<Job> JobTable::Finish(std::string_view job_id, int64_t result_bytes, std::string result) {
  NL_TRY(Move(job_id, JobState::kDone));
  Job& job = *FindMutable(job_id);
  job.result_bytes = result_bytes;
  job.result = std::move(result);
  return job;
}

Result<Job> JobTable::Cancel(std::string_view job_id) {
  Job* job = FindMutable(job_id);
  if (job == nullptr) return NoSuchJob(job_id);
  if (IsOver(job->state)) return *job;
  job->cancel_requested = true;
  if (job->state == JobState::kQueued) return Move(job_id, JobState::kCancelled, ErrorOf(Cancelled()));
  return *job;
}

void JobTable::SetProgress(std::string_view job_id, JobProgress progress) {
  Job* job = FindMutable(job_id);
  if (job != nullptr && job->state == JobState::kRunning) job->progress = std::move(progress);
}

void JobTable::ForgetAttempt(std::string_view job_id) {
  if (Job* job = FindMutable(job_id); job != nullptr && job->attempts > 0) --job->attempts;
}

void JobTable::Remove(std::string_view job_id) {
  const auto it = order_of_.find(std::string(job_id));
  if (it == order_of_.end()) return;
  jobs_.erase(it->second);
  order_of_.erase(it);
}

Json JobTable::RemovalRecord(std::string_view job_id) { return {{"job_id", job_id}, {"removed", true}}; }

std::vector<Job> JobTable::All() const {
  std::vector<Job> out;
  out.reserve(jobs_.size());
  for (const auto& [order, job] : jobs_) out.push_back(job);
  return out;
}

}  // namespace nl::jobs
