// SPDX-License-Identifier: Apache-2.0
#pragma once
// TargetFile and TargetFolder: outputs at a place a person named. Written under a
// temporary name beside it and renamed when whole; without Commit nothing is left.
// What is there already is InvalidInput, unless it may be replaced.
// Thread rule: one thread at a time. Ownership: each removes its temporary.

#include <optional>
#include <string>
#include <string_view>

#include "base/file_ops.h"
#include "base/output_file.h"
#include "base/result.h"

namespace nl::ops::export_run {

class TargetFile {
 public:
  // Only a plain file is ever replaced: no folder, no device.
  static Result<TargetFile> Create(const std::string& path, bool replace);
  TargetFile(TargetFile&& other) noexcept;
  TargetFile& operator=(TargetFile&&) = delete;
  ~TargetFile();

  Status Append(std::string_view bytes) { return file_.Append(bytes); }
  int64_t size_bytes() const { return file_.size_bytes(); }
  Status Commit();

 private:
  TargetFile() = default;
  std::string path_, temporary_;  // temporary_ empty: nothing to remove
  bool replace_ = false;
  OutputFile file_;
};

class TargetFolder {
 public:
  // An empty folder may be there. To replace means: the files written here replace those of
  // the same name, tables that were not written are removed, all else stays.
  static Result<TargetFolder> Create(const std::string& path, bool replace);

  const std::string& path() const { return temporary_.path(); }  // where to write
  Status Commit();

 private:
  TargetFolder(std::string path, TempDir temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}
  Status MoveFiles();

  std::string path_;
  TempDir temporary_;
};

}  // namespace nl::ops::export_run
