// SPDX-License-Identifier: Apache-2.0
#include "base/file_ops.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace nl {

namespace fs = std::filesystem;

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.Release();
  }
  return *this;
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) ::close(fd_);
}

int UniqueFd::Release() { return std::exchange(fd_, -1); }

Error FileError(std::string_view action, std::string_view path, int errno_value) {
  const int code = errno_value < 0 ? errno : errno_value;
  Error error = IoError(fmt::format("cannot {} {}", action, path), code);
  switch (code) {
    case ENOSPC:
    case EDQUOT: error.hint = "the disk is full: free some space or choose another folder"; break;
    case EROFS: error.hint = "the file system is read-only: choose another folder"; break;
    case EACCES:
    case EPERM: error.hint = "check who owns the folder and its permissions"; break;
    case EMFILE:
    case ENFILE: error.hint = "too many open files: raise the limit with ulimit -n"; break;
    default: break;
  }
  return error;
}

namespace {

std::string ParentOf(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return FileError("write", path);
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Status WriteAndSync(const std::string& path, std::string_view bytes, unsigned mode) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.valid()) return FileError("create", path);
  NL_TRY(WriteAll(fd.get(), bytes, path));
  if (::fsync(fd.get()) != 0) return FileError("sync", path);
  if (::close(fd.Release()) != 0) return FileError("close", path);
  return {};
}

Status SyncPath(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!fd.valid()) return FileError("open", path);
  // Some file systems (FUSE, network) cannot sync a folder and say EINVAL: nothing more can be done there.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return FileError("sync", path);
  return {};
}

}  // namespace

Result<std::string> ReadWholeFile(const std::string& path, int64_t max_bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ENOENT) return NotFound(fmt::format("{} does not exist", path));
    return FileError("open", path);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return FileError("read", path);
  if (S_ISDIR(info.st_mode)) return FileError("read", path, EISDIR);
  std::string out;
  if (info.st_size > 0 && info.st_size <= max_bytes) out.reserve(static_cast<size_t>(info.st_size) + 1);
  std::vector<char> buffer(256 * 1024);
  for (;;) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return FileError("read", path);
    }
    if (count == 0) return out;
    if (static_cast<int64_t>(out.size()) + count > max_bytes) {
      return Limit(fmt::format("{} is larger than {} bytes", path, max_bytes));
    }
    out.append(buffer.data(), static_cast<size_t>(count));
  }
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes, unsigned mode) {
  const std::string temporary = fmt::format("{}.tmp-{}", path, RandomHex(8));
  Status written = WriteAndSync(temporary, bytes, mode);
  if (written.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) written = FileError("rename to", path);
  if (!written.ok()) {
    ::unlink(temporary.c_str());
    return written;
  }
  return SyncDirectory(ParentOf(path));
}

Status MakeDirectories(const std::string& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec) return FileError("create folder", path, ec.value());
  if (!IsDirectory(path)) return FileError("create folder", path, ENOTDIR);
  return {};
}

Status SyncFile(const std::string& path) { return SyncPath(path, 0); }
Status SyncDirectory(const std::string& path) { return SyncPath(path, O_DIRECTORY); }

Status SyncTree(const std::string& path) {
  std::error_code ec;
  fs::directory_iterator it(path, ec);
  if (ec) return FileError("read folder", path, ec.value());
  for (; it != fs::directory_iterator(); it.increment(ec)) {
    const fs::file_status status = it->symlink_status(ec);
    if (ec) break;
    if (fs::is_directory(status)) NL_TRY(SyncTree(it->path().string()));
    if (fs::is_regular_file(status)) NL_TRY(SyncFile(it->path().string()));
  }
  if (ec) return FileError("read folder", path, ec.value());
  return SyncDirectory(path);
}

Status RemoveTree(const std::string& path) {
  std::error_code ec;
  fs::remove_all(path, ec);
  if (ec) return FileError("remove", path, ec.value());
  return {};
}

Result<int64_t> TreeBytes(const std::string& path) {
  std::error_code ec;
  int64_t total = 0;
  fs::recursive_directory_iterator it(path, ec);
  if (ec) return FileError("read folder", path, ec.value());
  for (; it != fs::recursive_directory_iterator(); it.increment(ec)) {
    std::error_code gone;  // a file removed while we walk is simply not counted
    if (!fs::is_regular_file(it->symlink_status(gone))) continue;
    const auto size = fs::file_size(it->path(), gone);
    if (!gone) total += static_cast<int64_t>(size);
  }
  if (ec) return FileError("read folder", path, ec.value());
  return total;
}

bool PathExists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool IsWritableDirectory(const std::string& path) {
  return IsDirectory(path) && ::access(path.c_str(), W_OK | X_OK) == 0;
}

std::string RandomHex(int count) {
  std::string out;
  while (static_cast<int>(out.size()) < count) {
    unsigned char bytes[16];
    const ssize_t got = ::getrandom(bytes, sizeof bytes, 0);
    for (ssize_t i = 0; i < got; ++i) out += fmt::format("{:02x}", bytes[i]);
  }
  out.resize(static_cast<size_t>(count));
  return out;
}

Result<TempDir> TempDir::Make(std::string_view prefix, const std::string& parent) {
  std::string base = parent;
  if (base.empty()) {
    const char* configured = std::getenv("TMPDIR");
    base = configured != nullptr && *configured != '\0' ? configured : "/tmp";
  }
  std::string pattern = fmt::format("{}/{}XXXXXX", base, prefix);
  if (::mkdtemp(pattern.data()) == nullptr) return FileError("create a temporary folder in", base);
  return TempDir(std::move(pattern));
}

TempDir::TempDir(TempDir&& other) noexcept : path_(other.Release()) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  if (this != &other) {
    if (!path_.empty()) (void)RemoveTree(path_);
    path_ = other.Release();
  }
  return *this;
}

TempDir::~TempDir() {
  if (!path_.empty()) (void)RemoveTree(path_);
}

std::string TempDir::Release() { return std::exchange(path_, std::string()); }

}  // namespace nl
