// SPDX-License-Identifier: Apache-2.0
#include "ledger/doctor.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/json.h"
#include "base/plural.h"
#include "base/time_text.h"
#include "base/uuid.h"
#include "ledger/attachments.h"
#include "ledger/catalog_sqlite.h"
#include "ledger/derived.h"
#include "ledger/duckdb_library.h"
#include "ledger/live.h"
#include "ledger/run_files.h"
#include "ledger/sql_session.h"
#include "ledger/store.h"
#include "model/schema.h"

namespace nl {

namespace fs = std::filesystem;

namespace {

constexpr double kLowDiskGb = 1.0;

std::vector<std::string> ChildNames(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// First thing wrong with the files of a run; empty: none.
std::string RunFolderDefect(const std::string& folder) {
  Result<std::string> text = ReadWholeFile(fmt::format("{}/{}", folder, kRunDocumentFile));
  if (!text.ok()) return fmt::format("run.json: {}", text.error().message);
  Result<Json> document = ParseJson(*text);
  if (!document.ok()) return fmt::format("run.json is not JSON: {}", document.error().message);
  Result<std::vector<SchemaViolation>> violations = ValidateRunDocument(*document);
  if (!violations.ok()) return fmt::format("run.json: {}", violations.error().message);
  if (!violations->empty())
    return fmt::format("run.json breaks the schema: {}", violations->front().ToString());
  for (const std::string& table : TablesIn(folder)) {
    const std::string defect = ParquetDefect(fmt::format("{}/{}.parquet", folder, table));
    if (!defect.empty()) return fmt::format("{}.parquet {}", table, defect);
  }
  return AttachmentDefect(folder);
}

class Examination {
 public:
  explicit Examination(const DoctorOptions& options) : options_(options), store_(options.store_path) {}

  Result<DoctorReport> Run() {
    if (CheckStore()) {
      CheckDisk();
      CheckStaging();
      CheckCatalog();
      NL_TRY(CheckRuns());
      CheckLost();
      CheckDerived();
      CheckLive();
    }
    CheckDuckDb();
    CheckMachine();
    return std::move(report_);
  }

 private:
  void Add(const char* name, CheckStatus status, std::string detail, bool repaired = false) {
    report_.checks.push_back({name, status, std::move(detail), repaired});
  }
  void Ok(const char* name, std::string detail) { Add(name, CheckStatus::kOk, std::move(detail)); }
  void Warning(const char* name, std::string detail) { Add(name, CheckStatus::kWarning, std::move(detail)); }
  void Problem(const char* name, std::string detail) { Add(name, CheckStatus::kProblem, std::move(detail)); }

  // A defect with a cure: applied when repairing, else told.
  template <class Cure>
  void Curable(const char* name, const std::string& defect, const std::string& cure_text, Cure cure) {
    if (!options_.repair) {
      Problem(name, fmt::format("{}; --repair will {}", defect, cure_text));
      return;
    }
    const Status status = cure();
    if (status.ok()) {
      Add(name, CheckStatus::kOk, fmt::format("{}; repaired: {}", defect, cure_text), true);
    } else {
      Problem(name, fmt::format("{}; cannot {}: {}", defect, cure_text, status.error().message));
    }
  }

  bool CheckStore();
  void CheckDisk();
  void CheckStaging();
  void CheckCatalog();
  void RebuildCatalog(const std::string& reason);
  Status Rebuild(int* restored);
  Status CheckRuns();
  Status CheckRow(const CatalogRun& run);
  Status CheckOrphan(const std::string& run_id);
  Result<std::string> FolderDefects(const std::string& folder);
  Status MoveAside(const std::string& folder);
  void CheckLost();
  void CheckDerived();
  void CheckLive();
  void CheckDuckDb();
  void CheckMachine();

  const DoctorOptions& options_;
  std::string store_;
  std::unique_ptr<Catalog> catalog_;
  int unchecked_runs_ = 0;
  int64_t verified_bytes_ = 0, stored_bytes_ = 0;
  int finishing_ = 0;  // living imports whose folder has left staging: they are about to enter it
  DoctorReport report_;
};

bool Examination::CheckStore() {
  if (!PathExists(store_)) {
    Ok("store", fmt::format("{} does not exist yet; the first import makes it", store_));
    return false;
  }
  if (!IsDirectory(store_)) {
    Problem("store", fmt::format("{} is not a folder", store_));
    return false;
  }
  for (const std::string& folder : {store_, RunsPath(store_), StagingPath(store_)}) {
    if (PathExists(folder) && !IsWritableDirectory(folder)) {
      Warning("store", fmt::format("{} is not writable for this user: imports will fail", folder));
      return true;
    }
  }
  Ok("store", fmt::format("{} is writable", store_));
  return true;
}

void Examination::CheckDisk() {
  struct statvfs info {};
  if (::statvfs(store_.c_str(), &info) != 0) {
    Warning("disk", "the free space cannot be read");
    return;
  }
  const double free_gb = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) / 1e9;
  Add("disk", free_gb < kLowDiskGb ? CheckStatus::kWarning : CheckStatus::kOk,
      fmt::format("{:.1f} GB free", free_gb));
}

void Examination::CheckStaging() {
  const std::string staging = StagingPath(store_);
  const std::vector<std::string> names = ChildNames(staging);
  const std::set<std::string> present(names.begin(), names.end());
  std::set<std::string> bases;
  for (const std::string& name : names) {
    bases.insert(name.ends_with(kStagingLockSuffix)
                     ? name.substr(0, name.size() - std::strlen(kStagingLockSuffix))
                     : name);
  }
  int alive = 0;
  int dead = 0;
  for (const std::string& base : bases) {
    const std::string folder = fmt::format("{}/{}", staging, base);
    const std::string lock_path = folder + kStagingLockSuffix;
    const bool has_lock = present.count(base + kStagingLockSuffix) > 0;
    const UniqueFd lock = has_lock ? TryLockFile(lock_path) : UniqueFd();
    if (has_lock && !lock.valid() && PathExists(lock_path)) {
      ++alive;
      if (!PathExists(folder)) ++finishing_;
      continue;
    }
    ++dead;
    // catalog_entry.json is written last: with it, this is a whole run that was never entered.
    const Result<CatalogRun> run = ReadRunFolder(folder);
    const std::string run_folder =
        run.ok() && IsUuidV7(run->run_id) ? fmt::format("{}/{}", RunsPath(store_), run->run_id) : "";
    if (base.find(kRemovedMark) == std::string::npos && !run_folder.empty() && !PathExists(run_folder) &&
        PathExists(fmt::format("{}/{}", folder, kCatalogEntryFile))) {
      Curable("staging", fmt::format("{} is a run that was written but not entered", base),
              "move it to the runs", [&]() -> Status {
                if (std::rename(folder.c_str(), run_folder.c_str()) != 0) return FileError("move", folder);
                return RemoveTree(lock_path);
              });
      continue;
    }
    Curable("staging", fmt::format("{} is left over from an import that did not finish", base), "remove it",
            [&]() -> Status {
              NL_TRY(RemoveTree(folder));
              return RemoveTree(lock_path);
            });
  }
  if (dead == 0)
    Ok("staging",
       alive == 0 ? "no leftovers" : fmt::format("no leftovers; {} under way", Counted(alive, "import")));
}

Status Examination::Rebuild(int* restored) {
  const std::string path = CatalogPath(store_);
  // Tags given after the import, baselines and notes live only in the catalog: save what can still be read.
  std::map<std::string, std::map<std::string, std::string>> tags;
  std::vector<Baseline> baselines;
  std::vector<RunNote> notes;
  if (auto old = OpenSqliteCatalog(path, CatalogMode::kReadOnly); old.ok()) {
    if (auto runs = (*old)->List({}); runs.ok()) {
      for (const CatalogRun& run : *runs) tags[run.run_id] = run.tags;
    }
    if (auto saved = (*old)->ListBaselines(); saved.ok()) baselines = *std::move(saved);
    if (auto saved = (*old)->ListNotes(""); saved.ok()) notes = *std::move(saved);
  }
  const std::string suffix = fmt::format(".damaged-{}", UnixNowNs() / 1'000'000'000);
  for (const char* part : {"", "-wal", "-shm"}) {
    const std::string from = path + part;
    if (PathExists(from) && std::rename(from.c_str(), (path + suffix + part).c_str()) != 0) {
      return FileError("set aside", from);
    }
  }
  NL_ASSIGN(catalog_, OpenSqliteCatalog(path, CatalogMode::kReadWrite));
  // Ids are UUIDv7: name order is the order the runs were made in.
  for (const std::string& name : ChildNames(RunsPath(store_))) {
    Result<CatalogRun> run = ReadRunFolder(fmt::format("{}/{}", RunsPath(store_), name));
    if (!run.ok() || run->run_id != name) continue;
    if (const auto it = tags.find(name); it != tags.end()) run->tags = it->second;
    NL_ASSIGN(InsertOutcome outcome, catalog_->Insert(*run));
    if (outcome.inserted) ++*restored;
  }
  for (Baseline& baseline : baselines) {
    std::vector<std::string> present;
    for (std::string& run_id : baseline.run_ids) {
      NL_ASSIGN(const auto run, catalog_->Find(run_id));
      if (run) present.push_back(std::move(run_id));
    }
    baseline.run_ids = std::move(present);
    NL_TRY(catalog_->SetBaseline(baseline));
  }
  for (const RunNote& note : notes) {
    NL_ASSIGN(const auto run, catalog_->Find(note.run_id));
    if (run) NL_TRY(catalog_->AddNote(note));
  }
  return {};
}

void Examination::RebuildCatalog(const std::string& reason) {
  int restored = 0;
  Curable("catalog", reason, "set it aside and rebuild it from the run folders",
          [&]() -> Status { return Rebuild(&restored); });
  if (options_.repair && catalog_ != nullptr)
    Ok("catalog", fmt::format("{} entered again", Counted(restored, "run")));
}

void Examination::CheckCatalog() {
  const std::string path = CatalogPath(store_);
  if (!PathExists(path)) {
    if (ChildNames(RunsPath(store_)).empty()) {
      Ok("catalog", "none yet, and no runs");
    } else {
      RebuildCatalog("the catalog is missing although there are run folders");
    }
    return;
  }
  auto opened = OpenSqliteCatalog(path, options_.repair ? CatalogMode::kReadWrite : CatalogMode::kReadOnly);
  if (!opened.ok()) {
    const Error& error = opened.error();
    // Only a damaged file may be replaced: not a newer one, nor one we may not open.
    if (error.hint == kDamagedCatalogHint) {
      RebuildCatalog(error.message);
    } else if (error.code == ErrorCode::kNotFound) {
      Ok("catalog", "still empty");
    } else {
      Problem("catalog", error.ToString());
    }
    return;
  }
  catalog_ = *std::move(opened);
  Result<std::vector<std::string>> problems = catalog_->CheckIntegrity();
  if (!problems.ok() || !problems->empty()) {
    catalog_.reset();
    RebuildCatalog(fmt::format("the catalog {} is damaged: {}", path,
                               problems.ok() ? problems->front() : problems.error().message));
    return;
  }
  Result<int64_t> count = catalog_->Count();
  Ok("catalog", "intact, " + Counted(count.ok() ? *count : 0, "run"));
}

// Every defect of a run's files, most telling first; empty: none.
Result<std::string> Examination::FolderDefects(const std::string& folder) {
  VerifyOptions verify;
  verify.cancelled = options_.cancelled;
  verify.trust_memory = false;
  verify.on_read = [&](int64_t bytes) {
    verified_bytes_ += bytes;
    if (options_.progress) options_.progress(std::min(verified_bytes_, stored_bytes_), stored_bytes_);
  };
  NL_ASSIGN(const RunFilesReport files, VerifyRunFolder(folder, verify));
  if (files.defects.empty()) {
    if (files.unchecked > 0 || !PathExists(fmt::format("{}/{}", folder, kCatalogEntryFile)))
      ++unchecked_runs_;
    return RunFolderDefect(folder);
  }
  std::string defects;
  for (const std::string& defect : files.defects) defects += (defects.empty() ? "" : ", ") + defect;
  return defects;
}

Status Examination::CheckRow(const CatalogRun& run) {
  const std::string folder = fmt::format("{}/{}", RunsPath(store_), run.run_id);
  if (!PathExists(folder)) {
    Curable("run", fmt::format("{} is in the catalog but its folder is gone", run.run_id), "remove the entry",
            [&]() -> Status { return catalog_->Remove(run.run_id); });
    return {};
  }
  NL_ASSIGN(const std::string defect, FolderDefects(folder));
  if (!defect.empty()) {
    Problem("run", fmt::format("{}: {}; import {} again after `neurolens rm {}`", run.run_id, defect,
                               run.source_name.empty() ? "it" : run.source_name, run.run_id));
  }
  return {};
}

// Out of the way, but still there.
Status Examination::MoveAside(const std::string& folder) {
  NL_TRY(MakeDirectories(LostPath(store_)));
  const std::string name = fs::path(folder).filename().string();
  std::string to = fmt::format("{}/{}", LostPath(store_), name);
  if (PathExists(to)) to = fmt::format("{}-{}", to, RandomHex(8));
  if (std::rename(folder.c_str(), to.c_str()) != 0) return FileError("move", folder);
  return SyncDirectory(LostPath(store_));
}

void Examination::CheckLost() {
  const size_t count = ChildNames(LostPath(store_)).size();
  if (count == 0) return;
  Warning("lost", fmt::format("{} holds {} folder{} that --repair moved there; delete what you do not need",
                              LostPath(store_), count, count == 1 ? "" : "s"));
}

// What was derived from runs that are gone. The rest is a cache that repairs itself.
void Examination::CheckDerived() {
  for (const std::string& run_id : ChildNames(DerivedPath(store_))) {
    if (PathExists(fmt::format("{}/{}", RunsPath(store_), run_id))) continue;
    const std::string defect = fmt::format("{}/{} is of a run that is gone", DerivedPath(store_), run_id);
    if (!options_.repair) {
      Warning("derived", defect + "; --repair will delete it");
      continue;
    }
    Curable("derived", defect, "delete it", [&]() -> Status {
      NL_TRY(RemoveDerived(store_, run_id));
      return {};
    });
  }
}

void Examination::CheckLive() {
  for (const std::string& path : LiveLeftovers(store_)) {
    const std::string defect = fmt::format("{} is of a recording whose recorder was killed", path);
    if (!options_.repair) {
      Warning("live", defect + "; --repair will delete it");
      continue;
    }
    Curable("live", defect, "delete it", [&]() -> Status {
      static_cast<void>(ListLive(store_));
      return {};
    });
  }
}

Status Examination::CheckOrphan(const std::string& run_id) {
  const std::string folder = fmt::format("{}/{}", RunsPath(store_), run_id);
  if (finishing_ > 0) {
    Warning("run", fmt::format("{} is not in the catalog; an import is just finishing", run_id));
    return {};
  }
  NL_ASSIGN(std::string defect, FolderDefects(folder));
  Result<CatalogRun> run = ReadRunFolder(folder);
  if (defect.empty() && !run.ok()) defect = run.error().message;
  if (defect.empty() && run->run_id != run_id) defect = fmt::format("its document names run {}", run->run_id);
  if (!defect.empty()) {
    Problem("run",
            fmt::format("{} is not in the catalog and not whole: {}; remove {} by hand if it is not needed",
                        run_id, defect, folder));
    return {};
  }
  Result<std::optional<CatalogRun>> same = std::optional<CatalogRun>();
  if (catalog_ != nullptr) same = catalog_->FindByContent(run->content_sha256);
  if (same.ok() && same->has_value()) {
    Curable("run", fmt::format("{} is not in the catalog and repeats run {}", run_id, (*same)->run_id),
            fmt::format("move its folder to {}", LostPath(store_)),
            [&]() -> Status { return MoveAside(folder); });
    return {};
  }
  Curable("run", fmt::format("{} is whole but not in the catalog", run_id), "enter it", [&]() -> Status {
    if (catalog_ == nullptr) {
      NL_ASSIGN(catalog_, OpenSqliteCatalog(CatalogPath(store_), CatalogMode::kReadWrite));
    }
    NL_ASSIGN(InsertOutcome outcome, catalog_->Insert(*run));
    (void)outcome;
    return {};
  });
  return {};
}

Status Examination::CheckRuns() {
  std::set<std::string> known;
  std::vector<CatalogRun> rows;
  if (catalog_ != nullptr) {
    if (Result<std::vector<CatalogRun>> listed = catalog_->List({}); listed.ok()) rows = *std::move(listed);
  } else if (!report_.Healthy()) {
    return {};  // without a readable catalog every folder would look like an orphan
  }
  for (const CatalogRun& run : rows) stored_bytes_ += run.stored_bytes;
  const size_t before = report_.checks.size();
  for (const CatalogRun& run : rows) {
    known.insert(run.run_id);
    NL_TRY(CheckRow(run));
  }
  for (const std::string& name : ChildNames(RunsPath(store_))) {
    if (known.count(name) == 0) NL_TRY(CheckOrphan(name));
  }
  if (report_.checks.size() == before)
    Ok("run", fmt::format("{}, all files intact", Counted(static_cast<int64_t>(rows.size()), "run")));
  if (unchecked_runs_ > 0) {
    Warning("run",
            fmt::format("{} run{} without checksums, imported by an older version: only file sizes are "
                        "checked",
                        unchecked_runs_, unchecked_runs_ == 1 ? "" : "s"));
  }
  return {};
}

void Examination::CheckDuckDb() {
  Result<const DuckDbApi*> api = LoadDuckDb(options_.duckdb_path);
  if (api.ok()) {
    Ok("duckdb", fmt::format("{} ({})", (*api)->version, (*api)->path));
  } else {
    Problem("duckdb", api.error().ToString());
  }
}

void Examination::CheckMachine() {
  const double memory_gb =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e9;
  Ok("machine", fmt::format("{} CPUs, {:.1f} GB memory", std::thread::hardware_concurrency(), memory_gb));
}

}  // namespace

std::span<const std::string_view> NamesOf(CheckStatus) {
  static constexpr std::string_view kNames[] = {"ok", "warning", "problem"};
  return kNames;
}

void Describe(Record<DoctorCheck>& r) {
  r.Name("DoctorCheck", "Result of one check");
  r.Field("name", &DoctorCheck::name,
          "Topic: store, disk, staging, catalog, run, lost, derived, live, duckdb, machine");
  r.Field("status", &DoctorCheck::status, "Result");
  r.Field("detail", &DoctorCheck::detail, "What was found and, if it was repaired, what was done");
  r.Field("repaired", &DoctorCheck::repaired, "It was a problem and has been repaired");
}

bool DoctorReport::Healthy() const {
  return std::none_of(checks.begin(), checks.end(),
                      [](const DoctorCheck& check) { return check.status == CheckStatus::kProblem; });
}

Result<DoctorReport> RunDoctor(const DoctorOptions& options) { return Examination(options).Run(); }

}  // namespace nl
