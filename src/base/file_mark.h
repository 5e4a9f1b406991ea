// SPDX-License-Identifier: Apache-2.0
#pragma once
// FileMark: a short text that differs when a file was replaced or written, or when an entry of a folder came
// or went. Thread rule: pure function.

#include <sys/stat.h>

#include <string>

#include <fmt/format.h>

namespace nl {

inline std::string FileMark(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return "none;";
  return fmt::format("{} {} {}.{};", info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

}  // namespace nl
