// SPDX-License-Identifier: Apache-2.0
#include "ledger/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "ledger/catalog_sqlite.h"
#include "ledger/derived.h"
#include "ledger/run_files.h"

namespace nl {

namespace {

constexpr int kStageAttempts = 8;

// An id becomes a folder name: anything that could leave runs/ is refused.
Status CheckRunId(std::string_view run_id) {
  const bool good =
      !run_id.empty() && run_id.size() <= 64 && run_id[0] != '.' && run_id[0] != '-' &&
      run_id.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz-_") == std::string_view::npos;
  if (good) return {};
  return InvalidInput(fmt::format("'{}' cannot be a run id", run_id));
}

// Holds the lock on a file that still has its name, or nothing.
UniqueFd Locked(int raw_fd) {
  UniqueFd fd(raw_fd);
  struct stat info {};
  if (!fd.valid() || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return {};
  // Between open and flock a doctor may have taken and removed the file.
  if (::fstat(fd.get(), &info) != 0 || info.st_nlink == 0) return {};
  return fd;
}

Error AsStoreError(Error error, const std::string& path) {
  if (error.code == ErrorCode::kIo && error.hint.empty()) {
    error.hint = "check the permissions of the store, or choose another with --store";
  }
  return std::move(error).With(fmt::format("store {}", path));
}

}  // namespace

std::string CatalogPath(const std::string& store_path) { return store_path + "/catalog.sqlite"; }
std::string RunsPath(const std::string& store_path) { return store_path + "/runs"; }
std::string StagingPath(const std::string& store_path) { return store_path + "/staging"; }
std::string LostPath(const std::string& store_path) { return store_path + "/lost"; }

UniqueFd TryLockFile(const std::string& lock_path) {
  return Locked(::open(lock_path.c_str(), O_RDONLY | O_CLOEXEC));
}

StagedRun::StagedRun(std::string path, std::string lock_path, UniqueFd lock)
    : path_(std::move(path)), lock_path_(std::move(lock_path)), lock_(std::move(lock)) {}

StagedRun::StagedRun(StagedRun&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      lock_path_(std::exchange(other.lock_path_, {})),
      lock_(std::move(other.lock_)) {}

StagedRun& StagedRun::operator=(StagedRun&& other) noexcept {
  if (this != &other) {
    Discard();
    path_ = std::exchange(other.path_, {});
    lock_path_ = std::exchange(other.lock_path_, {});
    lock_ = std::move(other.lock_);
  }
  return *this;
}

StagedRun::~StagedRun() { Discard(); }

void StagedRun::Discard() {
  if (!path_.empty()) (void)RemoveTree(path_);
  if (!lock_path_.empty()) ::unlink(lock_path_.c_str());
  path_.clear();
  lock_path_.clear();
  lock_ = UniqueFd();
}

Result<std::unique_ptr<Store>> Store::Open(const std::string& given_path, Mode mode) {
  if (given_path.empty())
    return InvalidInput("the store path is empty").Hint("set --store or NEUROLENS_STORE");
  std::string path = given_path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (mode == Mode::kReadOnly) {
    if (!PathExists(CatalogPath(path))) {
      std::error_code ec;
      if (IsDirectory(RunsPath(path)) && !std::filesystem::is_empty(RunsPath(path), ec) && !ec) {
        return IoError(fmt::format("the store {} has runs but no catalog", path), 0)
            .Hint(kDamagedCatalogHint);
      }
      return NotFound(fmt::format("no store at {}", path)).Hint("`neurolens import FILE` creates one");
    }
  } else {
    for (const std::string& folder : {path, RunsPath(path), StagingPath(path)}) {
      Status made = MakeDirectories(folder);
      if (!made.ok()) return AsStoreError(std::move(made).error(), path);
    }
    if (!IsWritableDirectory(RunsPath(path)) || !IsWritableDirectory(StagingPath(path))) {
      return AsStoreError(FileError("write to", path, EACCES), path);
    }
  }
  NL_ASSIGN(std::unique_ptr<Catalog> catalog,
            OpenSqliteCatalog(CatalogPath(path),
                              mode == Mode::kReadOnly ? CatalogMode::kReadOnly : CatalogMode::kReadWrite));
  return std::unique_ptr<Store>(new Store(std::move(path), std::move(catalog)));
}

std::string Store::RunPath(std::string_view run_id) const {
  return fmt::format("{}/{}", RunsPath(path_), run_id);
}

Result<StagedRun> Store::Stage() {
  for (int attempt = 0; attempt < kStageAttempts; ++attempt) {
    const std::string folder = fmt::format("{}/{}-{}", StagingPath(path_), RandomHex(16), ::getpid());
    const std::string lock_path = folder + kStagingLockSuffix;
    const int raw_fd = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (raw_fd < 0) {
      if (errno == EEXIST) continue;
      return AsStoreError(FileError("create", lock_path), path_);
    }
    UniqueFd lock = Locked(raw_fd);
    if (!lock.valid()) continue;
    StagedRun staged(folder, lock_path, std::move(lock));
    if (::mkdir(folder.c_str(), 0777) != 0) return AsStoreError(FileError("create folder", folder), path_);
    return staged;
  }
  return IoError(fmt::format("store {}: cannot lock a staging folder", path_), 0)
      .Hint("the file system may not support flock: choose another store");
}

Result<CommitOutcome> Store::AwaitOther(const std::string& run_id) {
  // Between its rename and its catalog entry another process is a moment away from done.
  for (int tries = 0; tries < 100; ++tries) {
    NL_ASSIGN(const std::optional<CatalogRun> other, catalog_->Find(run_id));
    if (other) return CommitOutcome{run_id, true};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return InvalidInput(fmt::format("the folder of run {} is already there, but no catalog entry", run_id))
      .Hint("neurolens doctor --repair enters it");
}

Result<CommitOutcome> Store::Commit(StagedRun&& staged_in, CatalogRun run,
                                    const std::map<std::string, uint64_t>& checksums,
                                    const std::vector<RunNote>& notes) {
  StagedRun staged = std::move(staged_in);
  NL_TRY(CheckRunId(run.run_id));
  NL_ASSIGN(auto existing, catalog_->FindByContent(run.content_sha256));
  if (existing) return CommitOutcome{existing->run_id, true};

  if (run.stored_bytes == 0) {
    NL_ASSIGN(run.stored_bytes, TreeBytes(staged.path_));
  }
  NL_ASSIGN(const RunFiles files, MeasureRunFiles(staged.path_, kCatalogEntryFile, checksums));
  NL_TRY(WriteFileAtomically(fmt::format("{}/{}", staged.path_, kCatalogEntryFile),
                             SealedText(CatalogRunToJson(run), files)));
  Reached("entry");
  NL_TRY(SyncTree(staged.path_));
  Reached("synced");

  const std::string final_path = RunPath(run.run_id);
  // rename() would silently replace an empty folder and fail on a full one; neither may exist.
  if (PathExists(final_path)) return AwaitOther(run.run_id);
  if (::rename(staged.path_.c_str(), final_path.c_str()) != 0) {
    if (errno == EEXIST || errno == ENOTEMPTY) return AwaitOther(run.run_id);
    return AsStoreError(FileError("rename to", final_path), path_);
  }
  // From here the folder is at its final place; an error takes it away again.
  staged.path_ = final_path;
  Reached("renamed");
  NL_TRY(SyncDirectory(RunsPath(path_)));
  NL_ASSIGN(InsertOutcome inserted, catalog_->Insert(run, notes));
  Reached("inserted");
  const bool ours = inserted.inserted || inserted.run_id == run.run_id;
  if (ours) staged.path_.clear();
  return CommitOutcome{inserted.run_id, !ours};
}

Status Store::Place(StagedRun&& staged_in, const std::string& path) {
  StagedRun staged = std::move(staged_in);
  NL_TRY(SyncTree(staged.path_));
  if (PathExists(path)) return IoError(fmt::format("{} is already there", path), EEXIST);
  if (::rename(staged.path_.c_str(), path.c_str()) != 0)
    return AsStoreError(FileError("rename to", path), path_);
  staged.path_.clear();
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

Result<int64_t> Store::Remove(const std::string& run_id) {
  NL_TRY(CheckRunId(run_id));
  NL_ASSIGN(auto run, catalog_->Find(run_id));
  if (!run) return NotFound(fmt::format("no such run: {}", run_id));
  const std::string folder = RunPath(run_id);
  int64_t freed_bytes = 0;
  // Out of sight first: were the catalog row removed before the folder, a crash in
  // between would look like an unfinished commit and doctor would bring the run back.
  const std::string doomed = fmt::format("{}/{}{}{}", StagingPath(path_), run_id, kRemovedMark, RandomHex(8));
  if (PathExists(folder)) {
    NL_ASSIGN(freed_bytes, TreeBytes(folder));
    if (::rename(folder.c_str(), doomed.c_str()) != 0) {
      return AsStoreError(FileError("remove", folder), path_);
    }
    NL_TRY(SyncDirectory(RunsPath(path_)));
  }
  if (!catalog_->Remove(run_id).ok()) {
    // A full disk has no room for the change of the catalog either, until the files are gone.
    NL_TRY(RemoveTree(doomed));
    NL_TRY(catalog_->Remove(run_id));
  }
  NL_TRY(RemoveTree(doomed));
  NL_ASSIGN(const int64_t derived_bytes, RemoveDerived(path_, run_id));
  return freed_bytes + derived_bytes;
}

}  // namespace nl
