// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "base/file_ops.h"
#include "base/record_json.h"
#include "base/run_program.h"
#include "queue/entry_table.h"
#include "queue/process_tree.h"
#include "queue/queue_files.h"
#include "queue/queue_log.h"
#include "queue/runner_lock.h"
#include "queue/slurm.h"
#include "queue/slurm_client.h"
#include "queue/slurm_script.h"

namespace nl::queue {
namespace {

constexpr char kAt[] = "2025-11-15T01:32:00Z";

Entry Named(const std::string& id) {
  Entry entry;
  entry.entry_id = id;
  entry.command = {"true"};
  return entry;
}

// Every member with a value that is not its default, by way of the journal and back.
TEST(Entry, EveryDescribedMemberIsReadBack) {
  Entry full;
  full.entry_id = "e";
  full.name = "n";
  full.state = EntryState::kFailed;
  full.command = {"a", "b"};
  full.script_bytes = 3;
  full.working_folder = "/w";
  full.gpu = false;
  full.max_attempts = 4;
  full.max_interruptions = 5;
  full.imports = {"i"};
  full.position = 6;
  full.cancel_requested = true;
  full.attempts = 7, full.failures = 8, full.overlaps = 9, full.interruptions = 10;
  full.created_at = "c", full.started_at = "s", full.finished_at = "f";
  full.duration_ms = 1.5;
  full.exit_status = 11;
  full.overlap = true;
  full.overlap_reason = "o", full.reason = "r", full.engine = "slurm", full.slurm_batch = "sb";
  full.slurm_job = "12_3", full.node = "no";
  full.slurm_task = 3;
  full.run_ids = {"run"};
  full.import_problem = "ip";
  const Json document = ToDocument(full), empty = ToDocument(Entry());
  for (const auto& [name, value] : document.items()) EXPECT_NE(value, empty.at(name)) << name;
  Entry read;
  ASSERT_TRUE(Apply(document, read).ok());
  EXPECT_EQ(ToDocument(read), document);
  ASSERT_TRUE(Apply(empty, read).ok());
  EXPECT_EQ(ToDocument(read), empty) << "null empties a member";
  for (const auto& [name, value] : document.items()) {
    Json wrong = {{name, Json::object()}};
    EXPECT_FALSE(Apply(wrong, read).ok()) << name;
  }
}

TEST(EntryTable, FailuresAndOverlapsAreRepeatedWithinTheirLimits) {
  EntryTable table;
  table.Add(Named("a"));
  table.Add(Named("b"));
  const auto attempt = [&](int status, std::optional<bool> overlap, int64_t most) {
    table.Start("a", "local", kAt);
    AttemptEnd end;
    end.exit_status = status;
    end.overlap = overlap;
    end.at = kAt;
    table.End("a", end, most);
    return table.Find("a")->state;
  };
  EXPECT_EQ(attempt(0, true, 1), EntryState::kQueued);
  EXPECT_EQ(table.NextQueued()->entry_id, "b") << "queued again means after the others";
  EXPECT_EQ(attempt(0, true, 1), EntryState::kQueued);
  EXPECT_EQ(attempt(0, true, 1), EntryState::kDone) << "at most twice because of an overlap";
  EXPECT_EQ(table.Find("a")->overlap, true);
  ASSERT_TRUE(table.Retry("a").ok());
  EXPECT_EQ(attempt(3, false, 2), EntryState::kQueued);
  EXPECT_EQ(attempt(3, std::nullopt, 2), EntryState::kFailed);
  ASSERT_TRUE(table.Retry("a").ok());
  table.Change("a", [](Entry& e) { e.max_attempts = 1; });
  EXPECT_EQ(attempt(3, std::nullopt, 9), EntryState::kFailed) << "the limit of the entry counts first";
  EXPECT_EQ(table.Find("a")->attempts, 6);
}

TEST(EntryTable, AnInterruptedEntryKeepsItsPlaceUntilItsLimit) {
  EntryTable table;
  table.Add(Named("a"));
  table.Add(Named("b"));
  table.Change("a", [](Entry& e) { e.max_interruptions = 2; });
  for (int i = 0; i < 2; ++i) {
    table.Start("a", "local", kAt);
    table.Interrupt("a", kAt, "died");
    ASSERT_NE(table.NextQueued(), nullptr);
    EXPECT_EQ(table.NextQueued()->entry_id, "a");
  }
  table.Start("a", "local", kAt);
  table.Interrupt("a", kAt, "died");
  EXPECT_EQ(table.Find("a")->state, EntryState::kInterrupted);
}

TEST(EntryTable, CancelEndsWhatWaitsAndMarksWhatRuns) {
  EntryTable table;
  table.Add(Named("a"));
  table.Add(Named("b"));
  table.Cancel("a", kAt);
  EXPECT_EQ(table.Find("a")->state, EntryState::kCancelled);
  EXPECT_TRUE(table.Cancel("a", kAt).is_null());
  table.Start("b", "local", kAt);
  table.Cancel("b", kAt);
  EXPECT_EQ(table.Find("b")->state, EntryState::kRunning);
  EXPECT_FALSE(table.Retry("b").ok());
  AttemptEnd end;
  end.exit_status = 143;
  end.at = kAt;
  table.End("b", end, 5);
  EXPECT_EQ(table.Find("b")->state, EntryState::kCancelled);
  EXPECT_EQ(table.Find("b")->failures, 0);
}

// Random changes: the table that is read from the records is the one that made them, at every cut.
TEST(EntryTable, TheRecordsGiveTheTableBack) {
  std::mt19937 random(7);
  EntryTable table;
  std::vector<Json> records;
  for (int i = 0; i < 2000; ++i) {
    const std::string id = "e" + std::to_string(random() % 20);
    const Entry* entry = table.Find(id);
    Json record;
    if (entry == nullptr) {
      record = table.Add(Named(id));
      if (random() % 2 == 0) record["set"]["position"] = 0;  // as a command that adds leaves it
    } else if (entry->state == EntryState::kQueued) {
      record = random() % 4 == 0 ? table.Cancel(id, kAt) : table.Start(id, "local", kAt);
    } else if (entry->state == EntryState::kRunning) {
      AttemptEnd end;
      end.exit_status = static_cast<int>(random() % 2);
      end.overlap = random() % 3 == 0;
      end.at = kAt;
      record = random() % 4 == 0 ? table.Interrupt(id, kAt, "died") : table.End(id, end, 2);
    } else {
      record = random() % 5 == 0 ? table.Remove(id) : *table.Retry(id);
    }
    records.push_back(std::move(record));
    if (i % 97 != 0) continue;
    EntryTable again;
    EXPECT_EQ(again.Load(records), 0);
    EXPECT_EQ(Json(again.Records()), Json(table.Records()));
  }
  EntryTable damaged;
  EXPECT_EQ(damaged.Load({Json::object(), {{"entry", "x"}}, {{"entry", "x"}, {"set", {{"state", "lost"}}}}}),
            3);
  EXPECT_EQ(damaged.size(), 0u);
}

class QueueFolderTest : public testing::Test {
 protected:
  QueueFolderTest() : scratch_(*TempDir::Make("queue-test-")) {}
  std::string folder() const { return scratch_.path() + "/queue"; }
  std::string path(const std::string& name) const { return scratch_.path() + "/" + name; }

 private:
  TempDir scratch_;
};

TEST_F(QueueFolderTest, BytesAreKeptWithAndWithoutARunner) {
  EntryFiles files;
  files.command = {"a\xff\n'\"", "", " x "};
  files.script = std::string("#!/bin/sh\r\n\0\xfe no end", 20);
  files.environment = {"A=1\n2", "B=", "\xff=x"};
  std::vector<std::string> ids;
  for (const bool runner : {false, true}) {
    Result<std::unique_ptr<Journal>> journal =
        runner ? Journal::Open(folder()) : Result<std::unique_ptr<Journal>>(nullptr);
    ASSERT_TRUE(journal.ok());
    const Result<Entry> added = AddEntry(folder(), Entry(), files);
    ASSERT_TRUE(added.ok());
    ids.push_back(added->entry_id);
    const Result<EntryFiles> read = ReadEntryFiles(folder(), added->entry_id);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->command, files.command);
    EXPECT_EQ(read->script, files.script);
    EXPECT_EQ(read->environment, files.environment);
  }
  const Result<std::vector<Entry>> all = ReadEntries(folder());
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u) << "one is in the journal, one is a request";
  EXPECT_EQ((*all)[0].entry_id, ids[0]);
  EXPECT_EQ((*all)[1].entry_id, ids[1]);
  ASSERT_TRUE(ChangeEntry(folder(), ids[1], "cancel").ok());
  EXPECT_EQ((*ReadEntries(folder()))[1].state, EntryState::kCancelled);
}

TEST_F(QueueFolderTest, LinesThatACrashKeptFromTheLogAreAddedOnce) {
  EntryTable table;
  table.Add(Named("a"));
  table.Start("a", "local", kAt);
  ASSERT_TRUE(MakeDirectories(folder()).ok());
  ASSERT_TRUE(CompleteLog(folder(), table.All()).ok());  // it runs: only its start is missing
  std::ofstream(LogPath(folder()), std::ios::app) << "2025 END a attem";  // cut
  AttemptEnd end;
  end.at = kAt;
  end.overlap = false;
  table.End("a", end, 1);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(CompleteLog(folder(), table.All()).ok());
  const std::string text = *ReadWholeFile(LogPath(folder()));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_NE(text.find("END a attempt=1 status=0 overlap=no"), std::string::npos) << text;
}

TEST_F(QueueFolderTest, OneRunnerAtATime) {
  const std::string lock = path("lock");
  Result<RunnerLock> first = RunnerLock::Take(lock);
  ASSERT_TRUE(first.ok());
  const Result<RunnerLock> second = RunnerLock::Take(lock);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kLimit);
}

TEST_F(QueueFolderTest, TheProcessesOfAnAttemptAreFoundWhateverTheyDid) {
  AttemptMark mark = MarkOf("e", 1);
  SpawnRequest request;
  // One child left the session, one dropped its environment; the third is the shell itself.
  request.arguments = {"sh", "-c", "setsid sleep 600 & env -i sleep 600 & echo ready; wait"};
  request.environment = {"PATH=/usr/bin:/bin", mark.environment};
  request.working_folder = "/";
  request.output_path = path("out");
  const Result<pid_t> pid = SpawnInSession(request);
  ASSERT_TRUE(pid.ok()) << pid.error().ToString();
  WriteSession(path("process"), *pid);
  ReadSession(path("process"), mark);
  EXPECT_EQ(mark.session, *pid);
  while (ProcessesOf(mark).size() != 3) usleep(1000);
  EXPECT_TRUE(BelongsTo(*pid, mark));
  EXPECT_FALSE(BelongsTo(getpid(), mark));
  EXPECT_FALSE(BelongsTo(*pid, MarkOf("e", 2)));
  EXPECT_TRUE(EndProcesses(mark, std::chrono::minutes(1), [] { return true; }));
  EXPECT_TRUE(ProcessesOf(mark).empty());
  int raw = 0;
  EXPECT_EQ(waitpid(*pid, &raw, 0), *pid);
  EXPECT_TRUE(WIFSIGNALED(raw));
}

TEST_F(QueueFolderTest, WhatCannotStartSaysWhy) {
  SpawnRequest request;
  request.environment = {"PATH=/usr/bin:/bin"};
  request.output_path = path("out");
  request.working_folder = "/";
  request.arguments = {"no-such-program"};
  EXPECT_NE(SpawnInSession(request).error().message.find("command not found"), std::string::npos);
  request.arguments = {"true"};
  request.working_folder = path("gone");
  EXPECT_NE(SpawnInSession(request).error().message.find("does not exist"), std::string::npos);
}

// A real shell reads what was quoted.
TEST_F(QueueFolderTest, TheScriptForSlurmKeepsBytes) {
  SlurmTask task;
  task.entry_folder = path("it's here");
  ASSERT_TRUE(MakeDirectories(task.entry_folder).ok());
  task.working_folder = task.entry_folder;
  task.output_path = task.entry_folder + "/out";
  task.attempt = 2;
  task.arguments = {"sh",
                    "-c",
                    "printf '%s|' \"$A\" \"$@\" \"$CUDA_VISIBLE_DEVICES\"; pwd; exit 7",
                    "x",
                    "a'b\"c\\$(d)`e`\n\xff",
                    ""};
  task.environment = {"A=1 '2'\n3", "odd%name=v", "PATH=/usr/bin:/bin", "CUDA_VISIBLE_DEVICES=wrong"};
  ASSERT_TRUE(WriteFileAtomically(path("0.sh"), TaskScript(task), 0700).ok());
  ASSERT_TRUE(WriteFileAtomically(path("batch.sh"), BatchScript(path("")), 0700).ok());
  const Result<ProgramResult> done = RunProgram({"/bin/sh", path("batch.sh")}, [] { return true; });
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->status, 7) << done->err;
  EXPECT_EQ(*ReadWholeFile(task.output_path), "1 '2'\n3|a'b\"c\\$(d)`e`\n\xff|||" + task.entry_folder + "\n");
  EXPECT_TRUE(ReadStartFile(StartFile(task.entry_folder, 2)).has_value());
  const auto end = ReadEndFile(EndFile(task.entry_folder, 2));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_status, 7);
  EXPECT_FALSE(ReadEndFile(EndFile(task.entry_folder, 1)).has_value());
  // A shell drops names that it cannot have as variables; the program itself gets them.
  task.arguments = {"grep", "-c", "odd%name=v", "/proc/self/environ"};
  ASSERT_TRUE(WriteFileAtomically(path("0.sh"), TaskScript(task), 0700).ok());
  ASSERT_TRUE(RunProgram({"/bin/sh", path("batch.sh")}, [] { return true; }).ok());
  EXPECT_EQ(*ReadWholeFile(task.output_path), "1\n");
}

TEST(Slurm, ItsAnswersAreRead) {
  const auto failed = JobOfScontrol(
      "JobId=3 JobName=x JobState=FAILED Reason=NonZeroExitCode Dependency=(null) "
      "ExitCode=3:0 ReqNodeList=(null) NodeList=n1 BatchHost=n1");
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->state, "FAILED");
  EXPECT_EQ(failed->exit_status, 3);
  EXPECT_EQ(failed->node, "n1");
  EXPECT_FALSE(JobOfScontrol("JobState=RUNNING ExitCode=0:0")->exit_status.has_value());
  EXPECT_FALSE(JobOfScontrol("slurm_load_jobs error").has_value());
  EXPECT_EQ(JobOfSacct("CANCELLED by 0|0:15|n2\n")->state, "CANCELLED");
  EXPECT_EQ(JobOfSacct("CANCELLED by 0|0:15|n2\n")->exit_status, 128 + 15);
  EXPECT_FALSE(JobOfSacct("").has_value());
  EXPECT_EQ(JobIdIn("sbatch: warning\n42;cluster\n"), "42");
  EXPECT_EQ(JobIdIn("sbatch: error: 42\n"), "");
}

TEST(Slurm, OptionsBecomeWordsOfSbatch) {
  SlurmOptions options;
  options.gpu_type = "h200";
  options.exclusive = true;
  options.most_tasks = 4;
  options.more = {"--account=x"};
  const auto has = [](const std::vector<std::string>& words, const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const auto array = SbatchWords(options, "/b", "n", 10, true);
  EXPECT_TRUE(has(array, "--gres=gpu:h200:1") && has(array, "--exclusive") && has(array, "--array=0-9%4"));
  EXPECT_TRUE(has(array, "--account=x") && array.back() == "/b/batch.sh");
  const auto single = SbatchWords(options, "/b", "n", 0, false);
  EXPECT_FALSE(has(single, "--gres=gpu:h200:1"));
  EXPECT_TRUE(has(single, "--output=/b/0.log"));
}

}  // namespace
}  // namespace nl::queue
