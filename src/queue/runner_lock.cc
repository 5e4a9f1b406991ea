// SPDX-License-Identifier: Apache-2.0
#include "queue/runner_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace nl::queue {

namespace {

// Another user may have made the file: it is opened for reading, which is enough for flock, and O_CREAT is
// left out where it exists, as the kernel refuses that for files of others in a shared folder
// (protected_regular).
UniqueFd OpenLockFile(const std::string& path) {
  for (int i = 0; i < 10; ++i) {
    UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (file.valid() || errno != ENOENT) return file;
    file = UniqueFd(open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (file.valid() || errno != EEXIST) return file;
  }
  return UniqueFd();
}

// " (process 4711)" from /proc/locks, by the inode.
std::string HolderText(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return "";
  const std::string wanted =
      fmt::format("{:02x}:{:02x}:{}", major(info.st_dev), minor(info.st_dev), info.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode, pid, place;
    words >> number >> kind >> advisory >> mode >> pid >> place;
    if (kind == "FLOCK" && place == wanted && pid != "-1" && pid != "0")
      return fmt::format(" (process {})", pid);
  }
  return "";
}

}  // namespace

std::string RunnerLockPath() {
  const char* given = std::getenv("NEUROLENS_QUEUE_LOCK");
  if (given != nullptr && given[0] != '\0') return given;
  return IsWritableDirectory("/run/lock") ? "/run/lock/neurolens-queue.lock" : "/tmp/neurolens-queue.lock";
}

Result<RunnerLock> RunnerLock::Take(const std::string& path) {
  UniqueFd file = OpenLockFile(path);
  if (!file.valid()) return FileError("open", path);
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return RunnerLock(std::move(file));
  if (errno != EWOULDBLOCK) return FileError("lock", path);
  return Limit(fmt::format("another queue runner works on this machine{}", HolderText(file.get())))
      .At(path)
      .Hint("it takes new entries by itself if it has the same store; else wait for its end");
}

}  // namespace nl::queue
