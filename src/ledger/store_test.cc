// SPDX-License-Identifier: Apache-2.0
#include "ledger/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/uuid.h"
#include "ledger/doctor.h"
#include "model/schema.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::AddRun;
using testing_runs::Entry;
using testing_runs::Must;

size_t Children(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class StoreTest : public ::testing::Test {
 protected:
  std::string path() const { return dir_.path() + "/store"; }
  std::unique_ptr<Store> OpenStore() { return Must(Store::Open(path(), Store::Mode::kReadWrite)); }

  // Runs `body` in a child process; gives its wait status.
  static int InChild(const std::function<void()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      body();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }

  // A child that commits one run and dies by SIGKILL when it reaches `step`.
  int CommitAndDieAt(const std::string& step, const std::string& run_id) {
    return InChild([&] {
      auto store = OpenStore();
      StagedRun staged = Must(store->Stage());
      if (step == "staged") ::raise(SIGKILL);
      (void)WriteFileAtomically(staged.path() + "/run.json",
                                Must(SerializeValid(testing_runs::Document(run_id, "content"))));
      if (step == "written") ::raise(SIGKILL);
      store->ObserveCommit([&](std::string_view reached) {
        if (reached == step) ::raise(SIGKILL);
      });
      (void)store->Commit(std::move(staged), Entry(run_id, "content"));
    });
  }

  TempDir dir_ = Must(TempDir::Make("nl-store-"));
};

TEST_F(StoreTest, CommittedRunIsListedWithItsFilesAndStagingIsEmpty) {
  auto store = OpenStore();
  const std::string id = AddRun(*store, "one");
  const auto run = Must(store->catalog().Find(id));
  ASSERT_TRUE(run.has_value());
  EXPECT_GT(run->stored_bytes, 0);
  EXPECT_TRUE(PathExists(store->RunPath(id) + "/kernel.parquet"));
  EXPECT_EQ(CatalogRunToJson(Must(ReadRunFolder(store->RunPath(id)))), CatalogRunToJson(*run));
  EXPECT_EQ(Children(path() + "/staging"), 0u);
}

TEST_F(StoreTest, AbandonedStageLeavesNothing) {
  auto store = OpenStore();
  {
    StagedRun staged = Must(store->Stage());
    Must(WriteFileAtomically(staged.path() + "/x", "y"));
    StagedRun moved = std::move(staged);
    EXPECT_EQ(Children(path() + "/staging"), 2u) << "the folder and its lock";
  }
  EXPECT_EQ(Children(path() + "/staging"), 0u);
}

TEST_F(StoreTest, SameContentTwiceIsOneRunAndItsFolderOnly) {
  auto store = OpenStore();
  const std::string first = AddRun(*store, "same");
  const std::string second = NewUuidV7();
  StagedRun staged = Must(store->Stage());
  const CommitOutcome outcome = Must(store->Commit(std::move(staged), Entry(second, "same")));
  EXPECT_TRUE(outcome.duplicate);
  EXPECT_EQ(outcome.run_id, first);
  EXPECT_EQ(Children(path() + "/runs"), 1u);
  EXPECT_EQ(Children(path() + "/staging"), 0u);
}

TEST_F(StoreTest, RunIdThatLeavesTheStoreIsRefused) {
  auto store = OpenStore();
  for (const char* id : {"../evil", "", "a/b", ".hidden", "UPPER", "--flag"}) {
    StagedRun staged = Must(store->Stage());
    const auto outcome = store->Commit(std::move(staged), Entry(id, id));
    ASSERT_FALSE(outcome.ok()) << id;
    EXPECT_EQ(outcome.error().code, ErrorCode::kInvalidInput) << id;
  }
  EXPECT_EQ(Children(path() + "/runs"), 0u);
}

TEST_F(StoreTest, KillAtEveryStepLeavesTheWholeRunOrNothingVisible) {
  for (const std::string step : {"staged", "written", "entry", "synced", "renamed", "inserted"}) {
    SCOPED_TRACE(step);
    ASSERT_TRUE(RemoveTree(path()).ok());
    const std::string id = NewUuidV7();
    const int status = CommitAndDieAt(step, id);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    auto store = Must(Store::Open(path(), Store::Mode::kReadOnly));
    const auto run = Must(store->catalog().Find(id));
    EXPECT_EQ(run.has_value(), step == "inserted");
    if (run) {
      EXPECT_TRUE(PathExists(store->RunPath(id) + "/run.json"));
    }

    DoctorOptions options;
    options.store_path = path();
    const bool committed = step == "inserted";
    // Dead after "inserted" leaves only the lock file of the import.
    EXPECT_FALSE(Must(RunDoctor(options)).Healthy());
    options.repair = true;
    EXPECT_TRUE(Must(RunDoctor(options)).Healthy());
    options.repair = false;
    EXPECT_TRUE(Must(RunDoctor(options)).Healthy());
    EXPECT_EQ(Children(path() + "/staging"), 0u);
    // A complete folder that only lacked its entry is a run now; what came earlier is gone.
    const bool expected = committed || step == "entry" || step == "synced" || step == "renamed";
    EXPECT_EQ(Must(store->catalog().Find(id)).has_value(), expected);
    EXPECT_EQ(PathExists(store->RunPath(id)), expected);
  }
}

TEST_F(StoreTest, ImportAfterACrashOfTheSameContentSucceeds) {
  const std::string crashed = NewUuidV7();
  CommitAndDieAt("renamed", crashed);
  auto store = OpenStore();
  const std::string id = AddRun(*store, "content");
  EXPECT_NE(id, crashed);
  DoctorOptions options;
  options.store_path = path();
  options.repair = true;
  EXPECT_TRUE(Must(RunDoctor(options)).Healthy());
  EXPECT_FALSE(PathExists(store->RunPath(crashed))) << "the orphan repeats a run that is there";
  EXPECT_TRUE(PathExists(path() + "/lost/" + crashed + "/run.json"))
      << "and is kept: the other may be damaged";
  EXPECT_EQ(Must(store->catalog().Count()), 1);
}

TEST_F(StoreTest, ManyProcessesImportingTheSameContentMakeOneRun) {
  constexpr int kProcesses = 6;
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(gate[1]);
      char byte;
      (void)!::read(gate[0], &byte, 1);  // all start when the parent closes the gate
      auto store = Store::Open(path(), Store::Mode::kReadWrite);
      if (!store.ok()) ::_exit(10);
      auto staged = (*store)->Stage();
      if (!staged.ok()) ::_exit(11);
      (void)WriteFileAtomically(staged->path() + "/run.json", "{}");
      auto outcome = (*store)->Commit(*std::move(staged), Entry(NewUuidV7(), "content"));
      if (!outcome.ok()) ::_exit(12);
      ::_exit(outcome->duplicate ? 1 : 0);
    }
    children.push_back(child);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  int fresh = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_LE(WEXITSTATUS(status), 1);
    if (WEXITSTATUS(status) == 0) ++fresh;
  }
  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(Children(path() + "/runs"), 1u);
  EXPECT_EQ(Children(path() + "/staging"), 0u);
  EXPECT_EQ(Must(OpenStore()->catalog().Count()), 1);
}

TEST_F(StoreTest, ReadersNeverSeeARunWithoutItsFilesWhileImportsGoOn) {
  OpenStore();
  constexpr int kRuns = 20;
  const pid_t writer = ::fork();
  if (writer == 0) {
    auto store = Store::Open(path(), Store::Mode::kReadWrite);
    for (int i = 0; store.ok() && i < kRuns; ++i) {
      auto staged = (*store)->Stage();
      if (!staged.ok()) ::_exit(1);
      (void)WriteFileAtomically(staged->path() + "/run.json", "{}");
      if (!(*store)->Commit(*std::move(staged), Entry(NewUuidV7(), std::to_string(i))).ok()) ::_exit(2);
    }
    ::_exit(store.ok() ? 0 : 3);
  }
  int64_t seen = 0;
  int status = 0;
  bool finished = false;
  while (!finished) {
    finished = ::waitpid(writer, &status, WNOHANG) == writer;
    auto store = Must(Store::Open(path(), Store::Mode::kReadOnly));
    const auto runs = Must(store->catalog().List({}));
    EXPECT_GE(static_cast<int64_t>(runs.size()), seen);
    seen = static_cast<int64_t>(runs.size());
    for (const CatalogRun& run : runs) ASSERT_TRUE(PathExists(store->RunPath(run.run_id) + "/run.json"));
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(seen, kRuns);
}

TEST_F(StoreTest, LivingImportIsNotALeftover) {
  auto store = OpenStore();
  StagedRun staged = Must(store->Stage());
  DoctorOptions options;
  options.store_path = path();
  options.repair = true;
  EXPECT_TRUE(Must(RunDoctor(options)).Healthy());
  EXPECT_TRUE(PathExists(staged.path()));
}

TEST_F(StoreTest, RemovedRunIsGoneFromCatalogAndDisk) {
  auto store = OpenStore();
  const std::string id = AddRun(*store, "one");
  EXPECT_GT(Must(store->Remove(id)), 0);
  EXPECT_FALSE(PathExists(store->RunPath(id)));
  EXPECT_FALSE(Must(store->catalog().Find(id)).has_value());
  EXPECT_EQ(Children(path() + "/staging"), 0u);
  EXPECT_EQ(store->Remove(id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->Remove("../x").error().code, ErrorCode::kInvalidInput);
}

TEST_F(StoreTest, MissingStoreIsNotFoundForReadersAndNotCreatedByThem) {
  const auto opened = Store::Open(path(), Store::Mode::kReadOnly);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(PathExists(path()));
}

TEST_F(StoreTest, StoreThatCannotBeWrittenIsIoAndNamesThePath) {
  Must(WriteFileAtomically(path(), "a file in the way"));
  const auto opened = Store::Open(path(), Store::Mode::kReadWrite);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kIo);
  EXPECT_NE(opened.error().message.find(path()), std::string::npos);
  EXPECT_FALSE(opened.error().hint.empty());
}

TEST_F(StoreTest, ReadOnlyFolderCanStillBeRead) {
  AddRun(*OpenStore(), "one");
  // Root ignores permission bits, so the reader is another user.
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  const int status = InChild([&] {
    const bool reduced = ::geteuid() == 0 ? ::setuid(65534) == 0 : ::chmod(path().c_str(), 0555) == 0;
    if (!reduced) ::_exit(9);
    auto reader = Store::Open(path(), Store::Mode::kReadOnly);
    if (!reader.ok()) ::_exit(1);
    auto count = (*reader)->catalog().Count();
    if (!count.ok() || *count != 1) ::_exit(2);
    auto writer = Store::Open(path(), Store::Mode::kReadWrite);
    if (writer.ok() || writer.error().code != ErrorCode::kIo) ::_exit(3);
    ::_exit(0);
  });
  ASSERT_EQ(::chmod(path().c_str(), 0755), 0);
  if (WEXITSTATUS(status) == 9) GTEST_SKIP() << "root here cannot become another user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace nl
