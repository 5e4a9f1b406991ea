// SPDX-License-Identifier: Apache-2.0
#pragma once
// Store: the folder that holds the ledger.
//   catalog.sqlite                the catalog (ledger/catalog.h)
//   runs/<run_id>/                run.json, <table>.parquet, files/, catalog_entry.json
//   staging/<name>/, <name>.lock  imports under way; the lock is held by their process
//   lost/<name>/                  what doctor --repair moved out of the way; never read
// A run is staged, synced, renamed into runs/ and then entered in the catalog: a
// crash at any instant leaves the whole run or nothing that a reader can see.
// What a crash leaves behind (a staging folder, or a run folder without entry) is
// found and repaired by ledger/doctor.h. catalog_entry.json repeats the catalog
// row, so that a lost catalog can be rebuilt exactly.
// Thread rule: one object, one thread at a time. Any number of processes may work
// on one store.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_ops.h"
#include "base/result.h"
#include "ledger/catalog.h"

namespace nl {

class Store;

// A run folder being written. Unless committed, it is removed with this object.
class StagedRun {
 public:
  StagedRun(StagedRun&& other) noexcept;
  StagedRun& operator=(StagedRun&& other) noexcept;
  ~StagedRun();

  const std::string& path() const { return path_; }

 private:
  friend class Store;
  StagedRun(std::string path, std::string lock_path, UniqueFd lock);
  void Discard();

  std::string path_;
  std::string lock_path_;
  UniqueFd lock_;
};

struct CommitOutcome {
  std::string run_id;  // the committed run, or the one that already holds this content
  bool duplicate = false;
};

class Store {
 public:
  enum class Mode { kReadOnly, kReadWrite };

  // kReadWrite creates what is missing. kReadOnly on a folder without a store is NotFound.
  static Result<std::unique_ptr<Store>> Open(const std::string& path, Mode mode);

  const std::string& path() const { return path_; }
  Catalog& catalog() { return *catalog_; }
  std::string RunPath(std::string_view run_id) const;

  // A fresh folder for one run, on the store's own file system.
  Result<StagedRun> Stage();

  // Makes the staged folder the run `run.run_id`. `run.stored_bytes` is measured
  // here when 0. When another run already has this content, the staged folder is
  // removed and that run is named. `checksums` are those of files that were taken while they were written
  // (RunTables::checksums); the other files are read for theirs. `notes` are entered together with the run.
  Result<CommitOutcome> Commit(StagedRun&& staged, CatalogRun run,
                               const std::map<std::string, uint64_t>& checksums = {},
                               const std::vector<RunNote>& notes = {});

  // Makes a staged folder the folder `path` inside the store, which must not exist: whole
  // or not there. Its parent exists.
  Status Place(StagedRun&& staged, const std::string& path);

  // Called after each step of Commit with its name, in order: entry, synced, renamed,
  // inserted. For tests that end the process there.
  void ObserveCommit(std::function<void(std::string_view step)> observer) { observer_ = std::move(observer); }

  // Takes a run out of the catalog and deletes its files; gives the bytes freed.
  Result<int64_t> Remove(const std::string& run_id);

 private:
  Store(std::string path, std::unique_ptr<Catalog> catalog)
      : path_(std::move(path)), catalog_(std::move(catalog)) {}

  // The run's folder exists already: waits for the process that put it there.
  Result<CommitOutcome> AwaitOther(const std::string& run_id);

  void Reached(std::string_view step) const {
    if (observer_) observer_(step);
  }

  std::string path_;
  std::unique_ptr<Catalog> catalog_;
  std::function<void(std::string_view step)> observer_;
};

// Names inside a store, for those who inspect it without opening it (doctor).
std::string CatalogPath(const std::string& store_path);
std::string RunsPath(const std::string& store_path);
std::string StagingPath(const std::string& store_path);
std::string LostPath(const std::string& store_path);
inline constexpr char kCatalogEntryFile[] = "catalog_entry.json";
inline constexpr char kRunDocumentFile[] = "run.json";
inline constexpr char kStagingLockSuffix[] = ".lock";
inline constexpr char kRemovedMark[] = "-removed-";  // in staging/: a run on its way out

// Takes the lock file without waiting; an invalid descriptor when a living process
// holds it or it is gone.
UniqueFd TryLockFile(const std::string& lock_path);

}  // namespace nl
