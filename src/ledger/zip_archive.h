// SPDX-License-Identifier: Apache-2.0
#pragma once
// Zip files, streamed both ways: our interface to libarchive, no other file knows it.
// What is written depends on names and bytes only: no times, no owners, stored without
// compression. What is read is untrusted: names come back as they stand in the file, to
// be judged by the caller before anything is done with them.
// Thread rule: one object, one thread at a time. Ownership: each owns its archive.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_sink.h"
#include "base/result.h"

struct archive;

namespace nl {

class ZipWriter {
 public:
  // `sink` outlives the writer.
  static Result<std::unique_ptr<ZipWriter>> Open(const ByteSink& sink);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  // A file of exactly `bytes`, given by the following calls of Append.
  Status Begin(const std::string& name, int64_t bytes);
  Status Append(std::string_view bytes);
  // Writes the directory at the end; without it the file is not a zip.
  Status Finish();

 private:
  explicit ZipWriter(const ByteSink& sink) : sink_(sink) {}
  static ssize_t Write(archive* a, void* self, const void* bytes, size_t size);
  Error Failure(const char* doing);

  const ByteSink& sink_;
  archive* archive_ = nullptr;
  std::optional<Error> sink_error_;
};

struct ZipEntry {
  std::string name;
  bool is_file = false;  // a plain file, neither folder nor link
};

class ZipReader {
 public:
  // Needs a file that can be read at any place: a zip's directory is at its end.
  static Result<std::unique_ptr<ZipReader>> Open(const std::string& path);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  // The next entry in the order of the file; nothing after the last.
  Result<std::optional<ZipEntry>> Next();
  // Up to `size` bytes of the present entry; 0 at its end.
  Result<size_t> Read(char* to, size_t size);

 private:
  ZipReader() = default;
  Error Failure();

  std::string path_;
  archive* archive_ = nullptr;
};

}  // namespace nl
