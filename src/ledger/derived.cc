// SPDX-License-Identifier: Apache-2.0
#include "ledger/derived.h"

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include "ledger/parquet_format.h"
#include "ledger/run_files.h"

namespace nl {

namespace {

constexpr char kUnfinished[] = ".tmp-";

std::string DerivedFolder(const std::string& store_path, const std::string& run_id) {
  return fmt::format("{}/{}", DerivedPath(store_path), run_id);
}

// Whether the file `name.<checksum>.parquet` has the checksum of its name.
bool IsWhole(const std::string& folder, const std::string& file, const std::string& name) {
  const std::string digits = file.substr(name.size() + 1, 16);
  char* end = nullptr;
  RunFile noted;
  noted.checksum = std::strtoull(digits.c_str(), &end, 16);
  std::error_code failed;
  noted.bytes = static_cast<int64_t>(std::filesystem::file_size(fmt::format("{}/{}", folder, file), failed));
  return !failed && digits.size() == 16 && *end == '\0' && VerifyRunFile(folder, file, noted).ok();
}

}  // namespace

std::string DerivedPath(const std::string& store_path) { return store_path + "/derived"; }

std::string FindDerived(const Store& store, const std::string& run_id, const std::string& name) {
  const std::string folder = DerivedFolder(store.path(), run_id);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(name + ".") || !file.ends_with(kParquetSuffix)) continue;
    if (IsWhole(folder, file, name)) return entry.path().string();
    ::unlink(entry.path().c_str());  // damaged: it is made again
  }
  return "";
}

Status WriteDerived(const Store& store, const std::string& run_id, const std::string& name,
                    const DerivedWriter& write) {
  const std::string folder = DerivedFolder(store.path(), run_id);
  NL_TRY(MakeDirectories(folder));
  const std::string staged = fmt::format("{}/{}{}{}", folder, name, kUnfinished, RandomHex(8));
  const Result<uint64_t> checksum = write(staged);
  Status done = checksum.ok() ? SyncFile(staged) : Status(checksum.error());
  if (done.ok()) {
    const std::string path = fmt::format("{}/{}.{:016x}{}", folder, name, *checksum, kParquetSuffix);
    if (::rename(staged.c_str(), path.c_str()) != 0) done = FileError("rename", staged);
  }
  if (!done.ok()) ::unlink(staged.c_str());
  // The run was removed meanwhile: nobody else would remove this.
  if (!PathExists(store.RunPath(run_id))) NL_TRY(RemoveTree(folder));
  return done;
}

Result<int64_t> RemoveDerived(const std::string& store_path, const std::string& run_id) {
  const std::string folder = DerivedFolder(store_path, run_id);
  if (!PathExists(folder)) return int64_t{0};
  NL_ASSIGN(const int64_t freed_bytes, TreeBytes(folder));
  NL_TRY(RemoveTree(folder));
  return freed_bytes;
}

}  // namespace nl
