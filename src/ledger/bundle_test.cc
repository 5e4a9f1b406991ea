// SPDX-License-Identifier: Apache-2.0
// What tests/suites/bundle.py cannot reach from outside; the hostile zips are there.
#include "ledger/bundle.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::AddRun;
using testing_runs::Must;

class BundleTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Open(const std::string& name) {
    return Must(Store::Open(dir_.path() + "/" + name, Store::Mode::kReadWrite));
  }
  static std::string Bytes(const Store& store, const CatalogRun& run) {
    std::string bytes;
    Must(WriteBundle(store, run, [&bytes](std::string_view part) -> Status {
      bytes.append(part);
      return {};
    }));
    return bytes;
  }
  std::string Save(const std::string& name, std::string_view bytes) {
    const std::string path = dir_.path() + "/" + name;
    Must(WriteFileAtomically(path, bytes));
    return path;
  }
  static size_t Entries(const std::string& folder) {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.exists() ? 1 : 0;
    return count;
  }

  TempDir dir_ = Must(TempDir::Make("nl-bundle-"));
};

TEST_F(BundleTest, RestoredRunIsEqualAndBundlesToTheSameBytes) {
  const auto from = Open("from"), to = Open("to");
  const std::string id = AddRun(*from, "one", {{"name", "baseline"}});
  Must(from->catalog().SetTag(id, "later", "yes"));
  const CatalogRun run = *Must(from->catalog().Find(id));
  const std::string bytes = Bytes(*from, run);
  EXPECT_EQ(bytes, Bytes(*from, run));
  const CommitOutcome outcome = Must(RestoreBundle(*to, Save("a.zip", bytes)));
  EXPECT_EQ(outcome.run_id, id);
  EXPECT_FALSE(outcome.duplicate);
  const CatalogRun restored = *Must(to->catalog().Find(id));
  EXPECT_EQ(CatalogRunToJson(restored), CatalogRunToJson(run));
  for (const char* file : {"run.json", "kernel.parquet"}) {
    EXPECT_EQ(Must(ReadWholeFile(to->RunPath(id) + "/" + file)),
              Must(ReadWholeFile(from->RunPath(id) + "/" + file)));
  }
  EXPECT_EQ(Bytes(*to, restored), bytes);
  EXPECT_TRUE(Must(RestoreBundle(*to, dir_.path() + "/a.zip")).duplicate);
}

TEST_F(BundleTest, FilesBelowFilesTravelToo) {
  const auto from = Open("from"), to = Open("to");
  const std::string id = AddRun(*from, "one");
  Must(MakeDirectories(from->RunPath(id) + "/files/deep"));
  Must(WriteFileAtomically(from->RunPath(id) + "/files/deep/notes.txt", "kept"));
  Must(WriteFileAtomically(from->RunPath(id) + "/files/empty", ""));
  Must(RestoreBundle(*to, Save("a.zip", Bytes(*from, *Must(from->catalog().Find(id))))));
  EXPECT_EQ(Must(ReadWholeFile(to->RunPath(id) + "/files/deep/notes.txt")), "kept");
  EXPECT_EQ(Must(ReadWholeFile(to->RunPath(id) + "/files/empty")), "");
}

TEST_F(BundleTest, SameContentUnderAnotherIdIsADuplicateOfTheRunThere) {
  const auto from = Open("from"), to = Open("to");
  const std::string theirs = AddRun(*from, "same"), ours = AddRun(*to, "same");
  const CommitOutcome outcome =
      Must(RestoreBundle(*to, Save("a.zip", Bytes(*from, *Must(from->catalog().Find(theirs))))));
  EXPECT_TRUE(outcome.duplicate);
  EXPECT_EQ(outcome.run_id, ours);
  EXPECT_EQ(Entries(StagingPath(to->path())), 0u);
}

TEST_F(BundleTest, CancelledRestoreLeavesNothing) {
  const auto from = Open("from"), to = Open("to");
  const std::string id = AddRun(*from, "one");
  const std::string path = Save("a.zip", Bytes(*from, *Must(from->catalog().Find(id))));
  std::atomic<bool> cancelled{false};
  BundleOptions options;
  options.cancelled = &cancelled;
  options.progress = [&](int64_t, int64_t) { cancelled = true; };
  const Result<CommitOutcome> outcome = RestoreBundle(*to, path, options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(Entries(StagingPath(to->path())), 0u);
  EXPECT_EQ(Entries(RunsPath(to->path())), 0u);
}

TEST_F(BundleTest, NotesTravelWithTheirRun) {
  const auto from = Open("from"), to = Open("to");
  const std::string id = AddRun(*from, "one");
  const CatalogRun run = *Must(from->catalog().Find(id));
  const auto bytes_of = [&](Store& store) {
    std::string bytes;
    BundleOptions options;
    options.notes = Must(store.catalog().ListNotes(id));
    Must(WriteBundle(
        store, run,
        [&bytes](std::string_view part) -> Status {
          bytes.append(part);
          return {};
        },
        options));
    return bytes;
  };
  const std::string without = bytes_of(*from);
  EXPECT_NE(without.find("\"version\": 1"), std::string::npos) << "older programs read it";
  Must(from->catalog().AddNote({0, id, 7, "ada", "slow <b>\n\xC3\xBC", 5, 9, "", std::nullopt}));
  Must(from->catalog().AddNote({0, id, 8, "", "this kernel", std::nullopt, std::nullopt, "kernel", 0}));
  const std::string bytes = bytes_of(*from);
  EXPECT_NE(bytes.find("\"version\": 2"), std::string::npos);
  // Another note first: numbers are those of the store.
  Must(to->catalog().AddNote(
      {0, AddRun(*to, "two"), 1, "", "other", std::nullopt, std::nullopt, "", std::nullopt}));
  EXPECT_EQ(Must(RestoreBundle(*to, Save("a.zip", bytes))).run_id, id);
  const std::vector<RunNote> notes = Must(to->catalog().ListNotes(id));
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].author + notes[0].text, "adaslow <b>\n\xC3\xBC");
  EXPECT_EQ(notes[0].from_ns, 5);
  EXPECT_EQ(notes[0].to_ns, 9);
  EXPECT_EQ(notes[1].table, "kernel");
  EXPECT_EQ(notes[1].row_id, 0);
  EXPECT_EQ(notes[1].created_at_ns, 8);
  EXPECT_EQ(bytes_of(*to), bytes);
  EXPECT_TRUE(Must(RestoreBundle(*to, Save("b.zip", bytes))).duplicate);
  EXPECT_EQ(Must(to->catalog().ListNotes(id)).size(), 2u) << "a duplicate adds no notes";
}

TEST_F(BundleTest, FailingSinkEndsTheBundleWithItsOwnError) {
  const auto store = Open("from");
  const CatalogRun run = *Must(store->catalog().Find(AddRun(*store, "one")));
  const Status status = WriteBundle(
      *store, run, [](std::string_view) -> Status { return IoError("the disk is full", ENOSPC); });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_NE(status.error().message.find("the disk is full"), std::string::npos);
}

TEST_F(BundleTest, ForeignFileInTheRunFolderIsNotBundled) {
  const auto store = Open("from");
  const std::string id = AddRun(*store, "one");
  Must(WriteFileAtomically(store->RunPath(id) + "/stray.txt", "x"));
  const Status status =
      WriteBundle(*store, *Must(store->catalog().Find(id)), [](std::string_view) -> Status { return {}; });
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("stray.txt"), std::string::npos);
}

TEST_F(BundleTest, ParallelRestoresOfOneBundleGiveOneRun) {
  const auto from = Open("from"), to = Open("to");
  const std::string id = AddRun(*from, "one");
  const std::string path = Save("a.zip", Bytes(*from, *Must(from->catalog().Find(id))));
  std::atomic<int> restored{0}, duplicates{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto mine = Must(Store::Open(to->path(), Store::Mode::kReadWrite));
      const CommitOutcome outcome = Must(RestoreBundle(*mine, path));
      EXPECT_EQ(outcome.run_id, id);
      ++(outcome.duplicate ? duplicates : restored);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(restored + duplicates, 4);
  EXPECT_GE(restored, 1);
  EXPECT_EQ(Must(to->catalog().Count()), 1);
  EXPECT_TRUE(PathExists(to->RunPath(id) + "/run.json"));
  EXPECT_EQ(Entries(StagingPath(to->path())), 0u);
}

TEST_F(BundleTest, OnlyABundleLooksLikeOne) {
  const auto store = Open("from");
  const std::string bytes = Bytes(*store, *Must(store->catalog().Find(AddRun(*store, "one"))));
  EXPECT_TRUE(LooksLikeBundle(Save("a.zip", bytes)));
  EXPECT_FALSE(LooksLikeBundle(Save("short.zip", bytes.substr(0, 20))));
  EXPECT_FALSE(LooksLikeBundle(Save("empty", "")));
  std::string other = bytes;
  other[30] = 'M';
  EXPECT_FALSE(LooksLikeBundle(Save("other.zip", other)));
  EXPECT_FALSE(LooksLikeBundle(dir_.path()));
  EXPECT_FALSE(LooksLikeBundle(dir_.path() + "/absent"));
}

}  // namespace
}  // namespace nl
