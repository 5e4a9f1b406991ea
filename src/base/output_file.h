// SPDX-License-Identifier: Apache-2.0
#pragma once
// OutputFile: an append-only file that knows its size and reports every failure.
// Thread rule: one thread at a time. Ownership: closes its descriptor.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nl {

class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;

  static Result<OutputFile> Create(const std::string& path);
  Status Append(std::string_view bytes);
  int64_t size_bytes() const { return size_bytes_; }
  // Hands the bytes to the kernel and closes; durability is the committer's fsync.
  Status Close();

 private:
  int fd_ = -1;
  int64_t size_bytes_ = 0;
  std::string path_;
};

}  // namespace nl
