// SPDX-License-Identifier: Apache-2.0
// `neurolens jobs`, and the tool `job` of agents: operations that run by themselves. It reads the journal and
// leaves requests for the process that runs the jobs: `neurolens serve`, or `neurolens mcp`.

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/human.h"
#include "base/journal.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "ops/settings.h"
#include "serve/jobs/job_files.h"
#include "serve/jobs/job_table.h"
#include "serve/jobs/op_work.h"

namespace nl::ops::jobs {

namespace {

using nl::jobs::Job;
using nl::jobs::JobsReply;
using nl::jobs::JobState;

constexpr auto kLookEvery = std::chrono::milliseconds(100);
constexpr char kRow[] = "{:<13}  {:<11}  {:<19}  {:<15}  {}";
constexpr size_t kShortId = 13;  // the milliseconds of a UUIDv7

std::string Now() { return Rfc3339Utc(UnixNowNs()); }

std::vector<std::string> StateNames() {
  const auto names = nl::jobs::NamesOf(JobState{});
  return {names.begin(), names.end()};
}

struct JobsCommandReply : JobsReply {
  Json reply;
};
void Describe(Record<JobsCommandReply>& r) {
  r.Name("JobsCommandReply", "Reply of `neurolens jobs`");
  r.Base<JobsReply>();
  r.Field("reply", &JobsCommandReply::reply, "With result: the reply of the operation; otherwise null");
}

class JobsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "jobs";
    info.summary =
        "Start, list, show, cancel or wait for jobs: operations that a server runs in the background";
    info.choose_when =
        "Choose it for work that takes minutes: start returns at once with the id of a job, which continues "
        "after the client disconnects and after a restart of the server; show gives its progress, result the "
        "reply of the operation. For quick questions call the operation itself.";
    info.example = "neurolens jobs ls --state failed";
    info.writes = true;
    info.exit_status = "wait: 1 when the job ends without a result";
    info.reply = ReplyOf<JobsCommandReply>();
    info.role = ServerRole::kJobs;
    info.tool = {12, "job"};
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("action", action_, "What to do; result prints the reply of the operation")
        .Positional()
        .Choices({"ls", "start", "show", "result", "cancel", "wait"});
    b.Add("job", id_, "The job: its id, or the beginning of it. With start: the operation").Positional();
    b.Add("params", params_, "With start: parameters of the operation, a JSON object");
    b.Add("state", state_, "With ls: only jobs in this state").Choices(StateNames());
    b.Add("limit", filter_.limit, "With ls: at most this many jobs; 0 for all").Range(0, 1e9);
    b.Add("offset", filter_.offset, "With ls: jobs to leave out, newest first").Range(0, 1e9);
  }

  Result<Reply> Run(OpContext& context) override {
    folder_ = nl::jobs::JobsFolder(context.settings->Get("store"));
    if (action_ == "start") return Start(context);
    NL_ASSIGN(const std::vector<Job> all, nl::jobs::ReadJobs(folder_));
    if (action_ == "ls") {
      if (!id_.empty()) return InvalidInput("ls takes no job").Hint("`neurolens jobs show JOB` shows one");
      filter_.state = nl::jobs::StateOfName(state_);
      return Reply::Of(JobsCommandReply{ListJobs(all, filter_), Json()});
    }
    if (action_ == "wait" && context.remote)
      return Unsupported("a remote caller cannot wait for a job")
          .Hint("ask with show until its state is done");
    if (id_.empty())
      return InvalidInput(fmt::format("{} needs a job", action_)).Hint("`neurolens jobs` lists them");
    NL_ASSIGN(Job job, FindJob(all, id_));
    if (action_ == "result") return ResultReply(std::move(job));
    if (action_ == "cancel") {
      NL_TRY(CheckCancel(job, context.actor, context.is_admin));
      NL_TRY(Cancel(context, job));
    }
    if (action_ == "wait") {
      NL_TRY(Wait(context, job));
    }
    Reply reply = One(job);
    reply.answer_is_no = action_ == "wait" && job.state != JobState::kDone;
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle&) const override {
    const auto& reply = any.As<JobsCommandReply>();
    if (action_ != "ls") return JobText(reply.jobs.at(0));
    if (reply.jobs.empty()) return "no jobs\n";
    std::string out = fmt::format(kRow, "JOB", "STATE", "CREATED", "OPERATION", "PROGRESS") + "\n";
    for (const Job& job : reply.jobs) {
      std::string line = fmt::format(kRow, job.job_id.substr(0, kShortId), NameOf(job.state),
                                     job.created_at.substr(0, 19), PrintableText(job.op), ProgressText(job));
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    const auto shown = static_cast<int64_t>(reply.jobs.size());
    if (shown < reply.jobs_total)
      out += fmt::format("{} of {} jobs\n", HumanCount(shown), HumanCount(reply.jobs_total));
    return out;
  }

 private:
  static Reply One(const Job& job, Json result = Json()) {
    JobsCommandReply reply;
    reply.jobs_total = 1;
    reply.jobs.push_back(job);
    reply.reply = std::move(result);
    return Reply::Of(std::move(reply));
  }

  // What only reads, or imports, which takes long: another change of the store is asked for directly, so that
  // its outcome is seen.
  Result<Reply> Start(const OpContext& context) const {
    if (id_.empty()) return InvalidInput("start needs an operation").Hint("such as jobs start compare");
    Json params = Json::object();
    if (!params_.empty()) {
      NL_ASSIGN(params, ParseJson(params_));
    }
    if (!params.is_object()) return InvalidInput("parameter 'params' must be a JSON object");
    const RemoteOps ops(AllOps(), context.roots);
    nl::uploads::UploadStore uploads(context.settings->Get("store"));
    const nl::jobs::OpWork work(ops, *context.settings, &uploads);
    const std::string owner = context.actor.empty() ? nl::jobs::kLocalOwner : context.actor;
    NL_TRY(work.Check(id_, params, owner));
    const bool imports = id_ == ops.upload().info.name;
    if (!imports && !ops.Find(id_)->reads_only())
      return Unsupported(fmt::format("'{}' changes the store and cannot be started here", id_))
          .Hint("call the operation itself");
    // `mcp` and `serve` take over within two seconds; a command has nobody else.
    if (context.actor.empty() && !context.runs_jobs && !nl::Journal::IsOpen(folder_)) return NoServer();
    NL_ASSIGN(const Job job, nl::jobs::RequestJob(folder_, id_, params, owner));
    return One(job);
  }

  static std::string ProgressText(const Job& job) {
    if (!job.progress) return "";
    const std::string what = PrintableText(job.progress->what);
    const int64_t total = job.progress->total_bytes.value_or(0);
    if (total <= 0) return what;
    return fmt::format("{} {}%", what, std::min<int64_t>(100, job.progress->done_bytes * 100 / total));
  }

  static std::string JobText(const Job& job) {
    std::string out =
        fmt::format("job        {}\noperation  {}\nparameters {}\nstate      {}{}\n", job.job_id,
                    PrintableText(job.op), PrintableText(DumpJson(job.params)), NameOf(job.state),
                    job.cancel_requested && !IsOver(job.state) ? ", cancel requested" : "");
    out += fmt::format("owner      {}\n", PrintableText(job.owner));
    out += fmt::format("created    {}\n", job.created_at);
    if (job.started_at) out += fmt::format("started    {}\n", *job.started_at);
    if (job.finished_at) out += fmt::format("finished   {}\n", *job.finished_at);
    if (job.attempts > 1) out += fmt::format("attempts   {}\n", job.attempts);
    if (job.progress) out += fmt::format("progress   {}\n", ProgressText(job));
    if (job.result_bytes) out += fmt::format("result     {} bytes\n", HumanCount(*job.result_bytes));
    if (job.error) out += fmt::format("error      {}\n", PrintableText(ToError(*job.error).ToString()));
    return out;
  }

  Result<Reply> ResultReply(Job job) const {
    NL_ASSIGN(std::string bytes, ReadResult(folder_, job));
    NL_ASSIGN(Json result, ParseJson(bytes));
    Reply reply = One(job, std::move(result));
    reply.raw = std::move(bytes);
    return reply;
  }

  Error NoServer() const {
    return NotFound("no server runs the jobs of this store").Hint("start one: neurolens serve");
  }

  // A look at the job after a while; an error when nobody works on it.
  Status Look(const OpContext& context, Job& job) const {
    std::this_thread::sleep_for(kLookEvery);
    if (context.Cancelled()) return Cancelled();
    const bool served = nl::Journal::IsOpen(folder_);
    NL_ASSIGN(const std::vector<Job> all, nl::jobs::ReadJobs(folder_));
    NL_ASSIGN(job, FindJob(all, job.job_id));
    if (!served && !IsOver(job.state)) return NoServer();
    return {};
  }

  Status Wait(const OpContext& context, Job& job) const {
    while (!IsOver(job.state)) NL_TRY(Look(context, job));
    return {};
  }

  // The server does it; without one the journal is ours.
  Status Cancel(const OpContext& context, Job& job) const {
    if (IsOver(job.state)) return {};
    Result<std::unique_ptr<nl::Journal>> journal = nl::Journal::Open(folder_);
    if (journal.ok()) return CancelAlone(**journal, job);
    if (journal.error().code != ErrorCode::kLimit) return std::move(journal).error();
    NL_TRY(nl::jobs::RequestCancel(folder_, job.job_id));
    while (!IsOver(job.state) && !job.cancel_requested) NL_TRY(Look(context, job));
    return {};
  }

  Status CancelAlone(nl::Journal& journal, Job& job) const {
    NL_ASSIGN(const nl::JournalContent content, nl::Journal::Read(folder_));
    nl::jobs::JobTable table(Now);
    table.Load(content.records);
    if (table.Find(job.job_id) == nullptr)  // still a request, which the next server takes first
      return nl::jobs::RequestCancel(folder_, job.job_id);
    NL_ASSIGN(job, table.Cancel(job.job_id));
    if (job.state == JobState::kRunning) {
      NL_ASSIGN(job, table.Move(job.job_id, JobState::kCancelled, nl::jobs::ErrorOf(Cancelled())));
    }
    return journal.Append(nl::jobs::ToJson(job));
  }

  std::string action_ = "ls", id_, params_, state_, folder_;
  nl::jobs::JobFilter filter_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<JobsOp>(); }

}  // namespace nl::ops::jobs
