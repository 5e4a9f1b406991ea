// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files and folders with the guarantees the ledger needs: a write is whole or
// absent, and what was reported as written survives a power cut (fsync of the
// file and of the folder that names it). Errors are Io and name the path.
// Thread rule: free functions without shared state; TempDir is owned by one thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nl {

// Owns a file descriptor and closes it.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();

 private:
  int fd_ = -1;
};

// An Io error for `path` after a failed system call (reads errno), with a hint
// for the usual causes: full disk, read-only file system, missing permission.
Error FileError(std::string_view action, std::string_view path, int errno_value = -1);

// Whole content; NotFound when absent, Limit when larger than `max_bytes`.
Result<std::string> ReadWholeFile(const std::string& path, int64_t max_bytes = int64_t{1} << 30);

// Writes a temporary file beside `path`, syncs it, renames it over `path`, syncs the folder.
// `mode`: permissions of the file, less the umask.
Status WriteFileAtomically(const std::string& path, std::string_view bytes, unsigned mode = 0666);

// Creates `path` and its parents; an existing folder is fine.
Status MakeDirectories(const std::string& path);

Status SyncFile(const std::string& path);
Status SyncDirectory(const std::string& path);
// Syncs every file and folder below `path`, children first, then `path`.
Status SyncTree(const std::string& path);

// Removes `path` and all below it; absent is fine. Never follows symbolic links.
Status RemoveTree(const std::string& path);

// Sum of the sizes of the regular files below `path`.
Result<int64_t> TreeBytes(const std::string& path);

bool PathExists(const std::string& path);
bool IsDirectory(const std::string& path);
// May this process create files in the folder `path`?
bool IsWritableDirectory(const std::string& path);

// `count` lower-case hexadecimal digits from the system's random source.
std::string RandomHex(int count);

// A fresh folder of our own, removed with its content when this goes out of scope.
class TempDir {
 public:
  // Under `parent`, or under $TMPDIR (default /tmp) when empty.
  static Result<TempDir> Make(std::string_view prefix, const std::string& parent = "");
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();

  const std::string& path() const { return path_; }
  // Hands the folder over: it is no longer removed here.
  std::string Release();

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace nl
