// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "base/file_ops.h"
#include "base/journal.h"
#include "base/uuid.h"
#include "ops/settings.h"
#include "serve/jobs/job_files.h"
#include "serve/jobs/op_work.h"
#include "serve/jobs/runner.h"

namespace nl::jobs {
namespace {

std::string Fixed() { return "2025-11-15T01:32:00Z"; }

class JobsTest : public testing::Test {
 protected:
  std::string folder() const { return dir_->path() + "/jobs"; }
  std::string journal() const { return folder() + "/journal"; }
  void AppendBytes(const std::string& bytes) const {
    std::ofstream(journal(), std::ios::app | std::ios::binary) << bytes;
  }
  Result<TempDir> dir_ = TempDir::Make("nl_jobs_test");
};

TEST(JobState, OnlyTheStatedChangesAreAllowed) {
  const auto allowed = [](JobState from) {
    std::string out;
    for (size_t to = 0; to < NamesOf(from).size(); ++to) {
      if (MayBecome(from, static_cast<JobState>(to))) out += std::string(NamesOf(from)[to]) + " ";
    }
    return out;
  };
  EXPECT_EQ(allowed(JobState::kQueued), "running failed cancelled ");
  EXPECT_EQ(allowed(JobState::kRunning), "queued done failed cancelled interrupted ");
  for (const JobState over :
       {JobState::kDone, JobState::kFailed, JobState::kCancelled, JobState::kInterrupted}) {
    EXPECT_TRUE(IsOver(over));
    EXPECT_EQ(allowed(over), "");
  }
}

TEST(JobTable, AJobReadsTheSameFromTheJournal) {
  JobTable table(Fixed);
  const std::string id = table.Add("idle", {{"run", "@latest"}, {"limit", 3}}, "local").job_id;
  ASSERT_TRUE(table.Move(id, JobState::kRunning).ok());
  const Error error = InvalidInput("no").At("a.json", 7).Hint("look");
  const Job failed = *table.Move(id, JobState::kFailed, ErrorOf(error));
  const Result<Job> read = JobFromJson(*ParseJson(DumpJson(ToJson(failed))));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(DumpJson(ToJson(*read)), DumpJson(ToJson(failed)));
  EXPECT_EQ(ToError(*read->error).ToString(), error.ToString());
  EXPECT_EQ(ToError(*read->error).code, ErrorCode::kInvalidInput);
  EXPECT_FALSE(table.Move(id, JobState::kRunning).ok());
  for (const char* bad :
       {"[]", "{}", R"({"job_id":1,"op":"x","state":"done"})", R"({"job_id":"a","op":"x","state":"gone"})",
        R"({"job_id":"a","op":"x","state":"done","error":{"code":1}})"})
    EXPECT_FALSE(JobFromJson(*ParseJson(bad)).ok()) << bad;
}

TEST(JobTable, TheOrderIsThatOfTheJournalWhateverTheClockDoes) {
  int hour = 12;
  JobTable table([&] { return "2025-11-15T" + std::to_string(hour--) + ":00:00Z"; });
  std::vector<Json> records;
  // The second id is smaller than the first, as after a step of the clock over a restart.
  for (const char* id : {"019f0000-0000-7000-8000-000000000002", "019f0000-0000-7000-8000-000000000001"})
    records.push_back(ToJson(table.Add("ls", Json::object(), "local", id)));
  JobTable loaded(Fixed);
  loaded.Load(records);
  const JobsReply list = ListJobs(loaded.All(), {});
  EXPECT_EQ(list.jobs[0].job_id.back(), '1');
  EXPECT_EQ(list.jobs[1].job_id.back(), '2');
}

TEST(JobTable, ListsHavePages) {
  JobTable table(Fixed);
  for (int i = 0; i < 7; ++i) table.Add("ls", {{"limit", i}}, "local");
  const std::vector<Job> all = table.All();
  JobsReply page = ListJobs(all, {{}, 0, 3});
  EXPECT_EQ(page.jobs_total, 7);
  EXPECT_EQ(page.jobs[0].params["limit"], 6);
  EXPECT_EQ(page.next_offset, 3);
  page = ListJobs(all, {{}, 6, 3});
  EXPECT_EQ(page.jobs.size(), 1u);
  EXPECT_EQ(page.next_offset, std::nullopt);
  EXPECT_EQ(ListJobs(all, {JobState::kDone, 0, 3}).jobs_total, 0);
  EXPECT_EQ(FindJob(all, all[2].job_id)->params["limit"], 2);
  EXPECT_EQ(FindJob(all, all[2].job_id.substr(0, 4)).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(FindJob(all, "zzzz").error().code, ErrorCode::kNotFound);
}

TEST_F(JobsTest, TheJournalKeepsWholeLinesOnly) {
  {
    auto open = Journal::Open(folder());
    ASSERT_TRUE(open.ok()) << open.error().ToString();
    ASSERT_TRUE((*open)->Append({{"a", 1}}).ok());
    ASSERT_TRUE((*open)->Append({{"a", 2}}).ok());
    EXPECT_TRUE(Journal::IsOpen(folder()));
    EXPECT_EQ(Journal::Open(folder()).error().code, ErrorCode::kLimit) << "one process at a time";
  }
  EXPECT_FALSE(Journal::IsOpen(folder()));
  const std::string third = JournalLine({{"a", 3}});
  const std::string before = *ReadWholeFile(journal());
  for (size_t cut = 1; cut < third.size(); ++cut) {
    ASSERT_TRUE(WriteFileAtomically(journal(), before + third.substr(0, cut)).ok());
    const Result<JournalContent> read = Journal::Read(folder());
    ASSERT_EQ(read->records.size(), 2u);
    EXPECT_TRUE(read->cut_end);
    auto again = Journal::Open(folder());
    ASSERT_TRUE((*again)->Append({{"a", 4}}).ok());
    EXPECT_EQ(DumpJson(Json(Journal::Read(folder())->records)), R"([{"a":1},{"a":2},{"a":4}])");
  }
}

TEST_F(JobsTest, DamagedLinesAreLeftOut) {
  {
    auto open = Journal::Open(folder());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*open)->Append({{"a", i}}).ok());
  }
  std::string bytes = *ReadWholeFile(journal());
  for (size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] == '\n') continue;
    std::string bad = bytes;
    bad[at] = bad[at] == 'x' ? 'y' : 'x';
    ASSERT_TRUE(WriteFileAtomically(journal(), bad).ok());
    const Result<JournalContent> read = Journal::Read(folder());
    EXPECT_EQ(read->records.size(), 2u) << at;
    EXPECT_EQ(read->bad_lines, 1) << at;
  }
}

TEST_F(JobsTest, TenThousandRecordsAreRead) {
  JobTable table(Fixed);
  std::string text;
  for (int i = 0; i < 10'000; ++i)
    text += JournalLine(ToJson(table.Add("idle", {{"run", "@latest"}, {"limit", i}}, "local")));
  ASSERT_TRUE(MakeDirectories(folder()).ok());
  ASSERT_TRUE(WriteFileAtomically(journal(), text).ok());
  const Result<std::vector<Job>> jobs = ReadJobs(folder());
  ASSERT_EQ(jobs->size(), 10'000u);
  EXPECT_EQ(jobs->front().params["limit"], 0);
  EXPECT_EQ(jobs->back().params["limit"], 9'999);
}

// Operations for tests: `echo` gives its parameters, `block` waits until it is let go or cancelled.
class FakeWork final : public JobWork {
 public:
  Status Check(const std::string& op, const Json&, const std::string&) const override {
    if (op == "echo" || op == "block" || op == "write" || op == "fail") return {};
    return NotFound("unknown operation '" + op + "'");
  }
  bool MayRepeat(const std::string& op) const override { return op != "write"; }
  Result<JobOutput> Run(const Job& job, OpContext& context) override {
    if (job.op == "echo") return JobOutput{DumpJson(job.params), "echo\n"};
    if (job.op == "fail") return Unsupported("never").Hint("ask another");
    context.progress("blocking", 1, 2);
    std::unique_lock lock(mutex_);
    ++blocked_;
    changed_.notify_all();
    while (!released_ && !context.Cancelled()) changed_.wait_for(lock, std::chrono::milliseconds(1));
    --blocked_;
    if (context.Cancelled()) return Cancelled();
    return JobOutput{"let go", ""};
  }
  void AwaitBlocked() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return blocked_ > 0; });
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int blocked_ = 0;
  bool released_ = false;
};

class RunnerTest : public JobsTest {
 protected:
  std::unique_ptr<Runner> Open(FakeWork& work, size_t most_finished = 1000, int64_t most_bytes = 1 << 20) {
    RunnerOptions options;
    options.folder = folder();
    options.most_finished = most_finished;
    options.most_result_bytes = most_bytes;
    options.most_active = 20;
    options.result_prefix = "/jobs/";
    Result<std::unique_ptr<Runner>> made = Runner::Open(options, work, [this](const Job& job, bool state) {
      if (before_told_) before_told_(job);
      const std::lock_guard lock(mutex_);
      if (state) seen_[job.job_id].push_back(job.state);
      changed_.notify_all();
    });
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    return *std::move(made);
  }
  Job AwaitEnd(Runner& runner, const std::string& id) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::any_of(seen_[id].begin(), seen_[id].end(), IsOver); });
    lock.unlock();
    return *runner.Get(id);
  }
  std::string States(const std::string& id) {
    const std::lock_guard lock(mutex_);
    std::string out;
    for (const JobState state : seen_[id]) out += std::string(NameOf(state)) + " ";
    return out;
  }
  // A journal as a killed process leaves it.
  void WriteRunning(const std::string& op, int64_t attempts, bool cancel_requested = false) {
    Job job;
    job.job_id = NewUuidV7();
    job.op = op;
    job.state = JobState::kRunning;
    job.attempts = attempts;
    job.cancel_requested = cancel_requested;
    ASSERT_TRUE(MakeDirectories(folder()).ok());
    AppendBytes(JournalLine(ToJson(job)));
    left_ = job.job_id;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<JobState>> seen_;
  std::function<void(const Job&)> before_told_;
  std::string left_;
};

TEST_F(RunnerTest, AJobRunsAndItsResultIsKept) {
  FakeWork work;
  std::string id;
  {
    const auto runner = Open(work);
    id = runner->Submit("echo", {{"x", 1}}, "local")->job_id;
    const Job job = AwaitEnd(*runner, id);
    EXPECT_EQ(job.state, JobState::kDone);
    EXPECT_EQ(job.result, "/jobs/" + id + "/result");
    EXPECT_EQ(States(id), "queued running done ");
    EXPECT_EQ(*ReadResult(folder(), job), R"({"x":1})");
    const Job failed = AwaitEnd(*runner, runner->Submit("fail", {}, "local")->job_id);
    EXPECT_EQ(failed.state, JobState::kFailed);
    EXPECT_EQ(failed.error->hint, "ask another");
    EXPECT_EQ(runner->Submit("nothing", {}, "local").error().code, ErrorCode::kNotFound);
  }
  const auto again = Open(work);
  EXPECT_EQ(*ReadResult(folder(), *again->Get(id)), R"({"x":1})");
  EXPECT_EQ(again->All().size(), 2u);
}

TEST_F(RunnerTest, ChangesAreToldInTheirOrder) {
  FakeWork work;
  const auto runner = Open(work);
  // Who submits is slow to tell, and the job is over before.
  before_told_ = [&, here = std::this_thread::get_id()](const Job& job) {
    if (std::this_thread::get_id() != here || job.state != JobState::kQueued) return;
    while (!IsOver(runner->Get(job.job_id)->state)) std::this_thread::yield();
  };
  const std::string id = runner->Submit("echo", {}, "local")->job_id;
  AwaitEnd(*runner, id);
  EXPECT_EQ(States(id), "queued running done ");
}

TEST_F(RunnerTest, CancelBeforeAndWhileItRuns) {
  FakeWork work;
  const auto runner = Open(work);
  const std::string first = runner->Submit("block", {}, "local")->job_id,
                    second = runner->Submit("block", {}, "local")->job_id;
  work.AwaitBlocked();
  EXPECT_EQ(runner->Cancel(second)->state, JobState::kCancelled);
  EXPECT_TRUE(runner->Cancel(first)->cancel_requested);
  EXPECT_EQ(AwaitEnd(*runner, first).state, JobState::kCancelled);
  EXPECT_EQ(runner->Cancel(first)->state, JobState::kCancelled) << "again changes nothing";
  EXPECT_EQ(runner->Cancel("no").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(runner->running(), 0u);
}

TEST_F(RunnerTest, WhatAKilledServerLeft) {
  FakeWork work;
  work.Release();
  WriteRunning("block", 1);
  const std::string repeated = left_;
  WriteRunning("write", 1);
  const std::string written = left_;
  WriteRunning("block", kMostAttempts);
  const std::string often = left_;
  WriteRunning("block", 1, true);
  const std::string cancelled = left_;
  AppendBytes("0123 {\"half");
  const auto runner = Open(work);
  const Job job = AwaitEnd(*runner, repeated);
  EXPECT_EQ(job.state, JobState::kDone);
  EXPECT_EQ(job.attempts, 2);
  EXPECT_EQ(runner->Get(written)->state, JobState::kInterrupted);
  EXPECT_TRUE(runner->Get(written)->error->hint.has_value());
  EXPECT_EQ(runner->Get(often)->state, JobState::kInterrupted) << "it must not end the server for ever";
  EXPECT_EQ(runner->Get(cancelled)->state, JobState::kCancelled);
}

TEST_F(RunnerTest, AStopLetsJobsGoOnLater) {
  std::string running, waiting, written;
  {
    FakeWork work;
    const auto runner = Open(work);
    running = runner->Submit("block", {}, "local")->job_id;
    waiting = runner->Submit("echo", {}, "local")->job_id;
    work.AwaitBlocked();
    runner->Stop(std::chrono::milliseconds(0));
    EXPECT_EQ(runner->Get(running)->state, JobState::kQueued);
    EXPECT_EQ(runner->Get(waiting)->state, JobState::kQueued);
    EXPECT_EQ(runner->Submit("echo", {}, "local").error().code, ErrorCode::kLimit);
  }
  FakeWork work;
  work.Release();
  const auto runner = Open(work);
  EXPECT_EQ(AwaitEnd(*runner, running).attempts, 1) << "an orderly stop is not an attempt";
  EXPECT_EQ(AwaitEnd(*runner, waiting).state, JobState::kDone);
}

TEST_F(RunnerTest, OldJobsAndResultsAreForgotten) {
  FakeWork work;
  const auto runner = Open(work, 3, 200);
  std::vector<std::string> ids;
  for (int i = 0; i < 6; ++i) {
    ids.push_back(runner->Submit("echo", {{"i", i}}, "local")->job_id);
    AwaitEnd(*runner, ids.back());
  }
  EXPECT_EQ(runner->All().size(), 3u);
  EXPECT_EQ(runner->Get(ids[2]).error().code, ErrorCode::kNotFound);
  const std::string large(150, 'x');
  for (int i = 0; i < 2; ++i) {
    ids.push_back(runner->Submit("echo", {{"x", large}}, "local")->job_id);
    AwaitEnd(*runner, ids.back());
  }
  EXPECT_EQ(runner->All().size(), 1u);
  EXPECT_EQ(AwaitEnd(*runner, runner->Submit("echo", {{"x", large + large}}, "local")->job_id).error->code,
            "limit");
  std::multiset<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(ResultsFolder(folder())))
    files.insert(file.path().extension());
  EXPECT_EQ(files, (std::multiset<std::string>{".json", ".txt"})) << "of one job";
  EXPECT_EQ(ReadJobs(folder())->size(), runner->All().size()) << "the journal says the same";
}

TEST_F(RunnerTest, OthersLeaveRequests) {
  FakeWork work;
  ASSERT_TRUE(MakeDirectories(folder()).ok());
  const Job before = *RequestJob(folder(), "block", Json::object(), "local");
  EXPECT_EQ(FindJob(*ReadJobs(folder()), before.job_id)->state, JobState::kQueued);
  const auto runner = Open(work);
  work.AwaitBlocked();
  const Job wrong = *RequestJob(folder(), "nothing", Json::object(), "local");
  EXPECT_EQ(AwaitEnd(*runner, wrong.job_id).state, JobState::kFailed);
  ASSERT_TRUE(RequestCancel(folder(), before.job_id).ok());
  EXPECT_EQ(AwaitEnd(*runner, before.job_id).state, JobState::kCancelled);
  EXPECT_EQ(FindJob(*ReadJobs(folder()), before.job_id)->state, JobState::kCancelled);
}

TEST_F(RunnerTest, ThereIsALimitOfJobsThatWait) {
  FakeWork work;
  const auto runner = Open(work);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(runner->Submit("block", {}, "local").ok());
  EXPECT_EQ(runner->Submit("block", {}, "local").error().code, ErrorCode::kLimit);
}

TEST(OpWork, ChecksWhatItIsAskedAsTheFacesDo) {
  const RemoteOps ops(AllOps());
  const Settings settings;
  OpWork work(ops, settings);
  EXPECT_TRUE(work.Check("idle", {{"run", "@latest"}}, "nobody").ok());
  EXPECT_EQ(work.Check("idel", {}, "nobody").error().hint, "did you mean 'idle'?");
  EXPECT_FALSE(work.Check("idle", {{"limit", "x"}}, "nobody").ok());
  EXPECT_FALSE(work.Check("query", {{"args", Json::array({"SELECT 1"})}, {"out", "/tmp/x"}}, "nobody").ok())
      << "a path";
  TempDir dir = *TempDir::Make("nl-work-");
  uploads::UploadStore uploads(dir.path());
  const OpWork with_files(ops, settings, &uploads);
  const Json files{{"paths", Json::array({"/tmp/x"})}};
  EXPECT_TRUE(with_files.Check("import", files, kLocalOwner).ok());
  EXPECT_FALSE(with_files.Check("import", {{"paths", Json::array({"x"})}}, kLocalOwner).ok()) << "relative";
  EXPECT_FALSE(with_files.Check("import", files, "nobody").ok()) << "a remote caller names a file";
  EXPECT_FALSE(work.Check("serve", {}, "nobody").ok());
  EXPECT_TRUE(work.MayRepeat("idle"));
  EXPECT_TRUE(work.MayRepeat("tag"));
  EXPECT_FALSE(work.MayRepeat("rm"));
}

TEST(JobOwner, CancelsOwnJobsOnlyUnlessAdmin) {
  JobTable table([] { return std::string("2026-01-01T00:00:00Z"); });
  const Job job = table.Add("idle", Json::object(), "user:ada");
  EXPECT_EQ(JobFromJson(ToJson(job))->owner, "user:ada");
  EXPECT_TRUE(CheckCancel(job, "user:ada", false).ok());
  EXPECT_FALSE(CheckCancel(job, "user:bob", false).ok());
  EXPECT_TRUE(CheckCancel(job, "user:bob", true).ok());
  EXPECT_TRUE(CheckCancel(job, "", false).ok()) << "a command on this machine";
  Json old = ToJson(job);
  old.erase("owner");
  EXPECT_EQ(JobFromJson(old)->owner, "nobody") << "a journal of an older version";
}

}  // namespace
}  // namespace nl::jobs
