// SPDX-License-Identifier: Apache-2.0
#pragma once
// RootFiles: small files of /proc, /sys, /etc and others, read below a root that a test can replace.
// Everything that describes this machine reads through it. Uses the standard library only: the launcher for
// machines without our libraries is made of it too. Thread rule: nothing changes after construction; any
// thread may read.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nl::machine {

class RootFiles {
 public:
  // Empty: this machine itself.
  explicit RootFiles(std::string root = "");

  bool is_this_machine() const { return root_.empty(); }
  // Paths are absolute and without the root, in and out.
  // Without blanks and ends of lines at its end; nothing when it cannot be read.
  std::optional<std::string> Text(const std::string& path, size_t max_bytes = size_t{1} << 20) const;
  std::optional<int64_t> Number(const std::string& path) const;
  bool Exists(const std::string& path) const;
  bool IsFolder(const std::string& path) const;
  // What a symbolic link says; nothing when `path` is not one.
  std::optional<std::string> LinkTarget(const std::string& path) const;
  // Names in a folder, sorted; empty when it cannot be read.
  std::vector<std::string> Names(const std::string& folder) const;
  // Paths FOLDER/NAME0, FOLDER/NAME1, ..., by number.
  std::vector<std::string> Numbered(const std::string& folder, std::string_view name) const;

 private:
  std::string root_;
};

// The value after "KEY:" (or another separator) at the start of a line, without quotes around it.
std::optional<std::string> ValueOf(std::string_view text, std::string_view key, char separator = ':');
// The number that a text begins with; 0: none.
int64_t WholeNumber(std::string_view text);
// "0-3,8" as numbers.
std::set<int64_t> CpuList(std::string_view text);

}  // namespace nl::machine
