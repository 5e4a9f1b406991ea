// SPDX-License-Identifier: Apache-2.0
#pragma once
// WholeFile: an input as a file that can be opened by its name and read in any order, for
// formats that are not streams (databases, archives, what another program must read).
// A plain file is used where it stands, its bytes hashed meanwhile by a thread of its own;
// what is compressed or comes through a pipe is unpacked into a temporary folder first.
// Thread rule: one thread. Ownership: removes the unpacked copy; uses the ImportFile's
// source until Finish or its own end.

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/file_ops.h"
#include "import/adapter.h"

namespace nl {

class WholeFile {
 public:
  // Reports progress for the copy; later progress is the adapter's.
  static Result<std::unique_ptr<WholeFile>> Open(ImportFile& file);
  ~WholeFile();

  const std::string& path() const { return path_; }
  int64_t size_bytes() const { return size_bytes_; }  // decompressed
  bool in_place() const { return !copy_; }
  // Waits until every byte of the source was read, so that its hash is known.
  Status Finish();

 private:
  explicit WholeFile(ImportFile& file) : file_(file) {}
  Status Copy();
  Status Drain();

  ImportFile& file_;
  std::optional<TempDir> copy_;
  std::string path_;
  int64_t size_bytes_ = 0;
  std::thread reader_;
  std::atomic<bool> stop_{false};
  Status read_;
};

}  // namespace nl
