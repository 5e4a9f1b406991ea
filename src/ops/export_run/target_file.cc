// SPDX-License-Identifier: Apache-2.0
#include "ops/export_run/target_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "model/event_batch.h"

namespace nl::ops::export_run {

namespace {

namespace fs = std::filesystem;

constexpr char kForceHint[] = "choose another name, or overwrite it with --force";

Error Exists(const std::string& path) {
  return InvalidInput(fmt::format("{} exists already", path)).Hint(kForceHint);
}

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Where a link leads, so that the file is replaced and not the link.
std::string Followed(const std::string& path) {
  std::error_code ec;
  if (!fs::is_symlink(path, ec)) return path;
  const fs::path real = fs::weakly_canonical(path, ec);
  return ec ? path : real.string();
}

}  // namespace

TargetFile::TargetFile(TargetFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      replace_(other.replace_),
      file_(std::move(other.file_)) {}

TargetFile::~TargetFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<TargetFile> TargetFile::Create(const std::string& path, bool replace) {
  TargetFile target;
  target.path_ = Followed(path);
  target.replace_ = replace;
  std::error_code ec;
  const fs::file_status status = fs::status(target.path_, ec);
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status))
      return InvalidInput(fmt::format("cannot overwrite {}: not a regular file", path));
    if (!replace) return Exists(path);
  }
  std::string temporary = fmt::format("{}.{}.partial", target.path_, RandomHex(8));
  NL_ASSIGN(target.file_, OutputFile::Create(temporary));
  target.temporary_ = std::move(temporary);
  return target;
}

Status TargetFile::Commit() {
  NL_TRY(file_.Close());
  NL_TRY(SyncFile(temporary_));
  if (!replace_) {
    // link() fails when the name was created in the meantime; some file systems have no links.
    if (::link(temporary_.c_str(), path_.c_str()) == 0) return {};
    if (errno == EEXIST) return Exists(path_);
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return FileError("rename to", path_);
  temporary_.clear();
  return {};
}

Result<TargetFolder> TargetFolder::Create(const std::string& given_path, bool replace) {
  std::string path = given_path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::error_code ec;
  if (fs::exists(path, ec)) {
    if (!fs::is_directory(path, ec)) return InvalidInput(fmt::format("{} is not a folder", path));
    if (!replace && !fs::is_empty(path, ec)) return Exists(path);
  }
  const std::string parent = IsDirectory(path) ? path : FolderOf(path);
  NL_ASSIGN(TempDir temporary, TempDir::Make(".neurolens-", parent));
  return TargetFolder(std::move(path), std::move(temporary));
}

Status TargetFolder::Commit() {
  NL_TRY(SyncTree(temporary_.path()));
  if (PathExists(path_)) return MoveFiles();
  std::error_code ec;
  fs::permissions(temporary_.path(), fs::perms(0755), ec);  // a temporary folder is private
  if (std::rename(temporary_.path().c_str(), path_.c_str()) != 0) return FileError("rename to", path_);
  (void)temporary_.Release();
  return SyncDirectory(FolderOf(path_));
}

Status TargetFolder::MoveFiles() {
  for (const TableInfo* table : kAllTables) {
    const std::string name = fmt::format("{}.parquet", table->name);
    const std::string from = temporary_.path() + "/" + name, to = path_ + "/" + name;
    if (!PathExists(from)) {
      if (::unlink(to.c_str()) != 0 && errno != ENOENT) return FileError("remove", to);
    }
  }
  std::error_code ec;
  for (const fs::directory_entry& entry : fs::directory_iterator(temporary_.path(), ec)) {
    const std::string to = path_ + "/" + entry.path().filename().string();
    if (std::rename(entry.path().c_str(), to.c_str()) != 0) return FileError("rename to", to);
  }
  if (ec) return FileError("read folder", temporary_.path(), ec.value());
  return SyncDirectory(path_);
}

}  // namespace nl::ops::export_run
