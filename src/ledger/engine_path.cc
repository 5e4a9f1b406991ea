// SPDX-License-Identifier: Apache-2.0
#include "ledger/engine_path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <map>
#include <mutex>
#include <string_view>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/utf8.h"

namespace nl {

namespace {

bool IsPlain(std::string_view name) {
  return name.find_first_of("*?[]=") == std::string_view::npos && IsUtf8(name);
}

// The descriptor of a folder; another one when a new folder has taken its place.
Result<int> OpenedFolder(const std::string& folder) {
  static std::mutex mutex;
  static std::map<std::string, UniqueFd> open_folders;
  const std::lock_guard<std::mutex> lock(mutex);
  UniqueFd& fd = open_folders[folder];
  struct stat now {
  }, then{};
  const bool same = fd.valid() && ::stat(folder.c_str(), &now) == 0 && ::fstat(fd.get(), &then) == 0 &&
                    now.st_dev == then.st_dev && now.st_ino == then.st_ino;
  if (!same) fd = UniqueFd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FileError("open folder", folder);
  return fd.get();
}

}  // namespace

Result<std::string> EnginePath(const std::string& absolute_path) {
  size_t plain_from = absolute_path.size();
  while (plain_from > 0) {
    const size_t slash = absolute_path.rfind('/', plain_from - 1);
    const size_t name = slash == std::string::npos ? 0 : slash + 1;
    if (!IsPlain(std::string_view(absolute_path).substr(name, plain_from - name))) break;
    if (slash == std::string::npos || slash == 0) return absolute_path;
    plain_from = slash;
  }
  NL_ASSIGN(const int fd, OpenedFolder(absolute_path.substr(0, plain_from)));
  return fmt::format("/proc/self/fd/{}{}", fd, absolute_path.substr(plain_from));
}

}  // namespace nl
