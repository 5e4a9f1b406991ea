// SPDX-License-Identifier: Apache-2.0
#include "capture/launcher/capture_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "capture/launcher/launch.h"

namespace nl::capture {

namespace {

std::vector<std::string> Entries(const std::string& folder) {
  std::vector<std::string> out;
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) return out;
  while (const dirent* entry = readdir(listing)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") out.push_back(name);
  }
  closedir(listing);
  return out;
}

bool IsCaptureFile(std::string_view name) {
  const std::string_view ending = kFileEnding;
  return name == kControlFile ||
         (name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending);
}

bool CopyFile(const std::string& from, const std::string& to) {
  const int in = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (in < 0) return false;
  const int out = open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool good = out >= 0;
  std::vector<char> buffer(1 << 20);
  while (good) {
    const ssize_t got = read(in, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      good = got == 0;
      break;
    }
    for (ssize_t at = 0; at < got && good;) {
      const ssize_t written = write(out, buffer.data() + at, static_cast<size_t>(got - at));
      if (written < 0 && errno == EINTR) continue;
      good = written > 0;
      at += written;
    }
  }
  const int error = errno;
  close(in);
  if (out >= 0) good = close(out) == 0 && good;
  if (!good) errno = error;
  return good;
}

}  // namespace

std::string AbsolutePath(const std::string& path) {
  if (!path.empty() && path[0] == '/') return path;
  char here[4096];
  if (getcwd(here, sizeof(here)) == nullptr) return path;
  return std::string(here) + "/" + path;
}

bool MakeCaptureDirectory(const std::string& path, std::string& why) {
  const std::string whole = AbsolutePath(path);
  for (size_t at = 1; at != std::string::npos;) {
    at = whole.find('/', at);
    const std::string part = whole.substr(0, at);
    if (at != std::string::npos) ++at;
    // A capture holds arguments, paths and stacks: it is for this user alone.
    if (mkdir(part.c_str(), at == std::string::npos ? 0700 : 0755) != 0 && errno != EEXIST) {
      why = "cannot make the folder " + part + ": " + std::strerror(errno);
      return false;
    }
  }
  struct stat info {};
  if (stat(whole.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    why = whole + " is not a folder";
    return false;
  }
  if (info.st_uid != geteuid()) {
    why = "the folder " + path + " belongs to another user, who could change the capture";
    return false;
  }
  if (!Entries(whole).empty()) {
    why = "the folder " + path + " is not empty: a capture is never written over another";
    return false;
  }
  return true;
}

void RemoveCaptureDirectory(const std::string& path) {
  for (const std::string& name : Entries(path)) {
    if (IsCaptureFile(name)) unlink((path + "/" + name).c_str());
  }
  rmdir(path.c_str());
}

bool MoveCapture(const std::string& from, const std::string& to, std::string& why) {
  for (const std::string& name : Entries(from)) {
    const std::string source = from + "/" + name, target = to + "/" + name;
    if (rename(source.c_str(), target.c_str()) == 0) continue;
    if (errno != EXDEV || !CopyFile(source, target)) {
      why = "cannot move " + source + " to " + target + ": " + std::strerror(errno);
      return false;
    }
  }
  RemoveCaptureDirectory(from);
  return true;
}

uint64_t DirectoryBytes(const std::string& path) {
  uint64_t bytes = 0;
  for (const std::string& name : Entries(path)) {
    struct stat info {};
    if (stat((path + "/" + name).c_str(), &info) == 0) bytes += static_cast<uint64_t>(info.st_size);
  }
  return bytes;
}

std::string DefaultDirectory(const std::vector<std::string>& command) {
  std::string name = command.empty() ? "capture" : command[0];
  name = name.substr(name.rfind('/') + 1);
  if (name.empty()) name = "capture";
  const time_t now = time(nullptr);
  struct tm parts {};
  localtime_r(&now, &parts);
  char stamp[32];
  strftime(stamp, sizeof(stamp), "-%Y%m%d-%H%M%S", &parts);
  std::string path = name + stamp + ".nlcap";
  struct stat info {};
  for (int i = 2; stat(path.c_str(), &info) == 0; ++i)
    path = name + stamp + "-" + std::to_string(i) + ".nlcap";
  return path;
}

}  // namespace nl::capture
