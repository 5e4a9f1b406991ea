// SPDX-License-Identifier: Apache-2.0
#include "ledger/zip_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>

#include <fmt/format.h>

namespace nl {

namespace {

constexpr size_t kReadBlockBytes = 256 << 10;

std::string TextOf(archive* a) {
  const char* text = archive_error_string(a);
  return text != nullptr ? text : "unknown reason";
}

}  // namespace

Result<std::unique_ptr<ZipWriter>> ZipWriter::Open(const ByteSink& sink) {
  std::unique_ptr<ZipWriter> writer(new ZipWriter(sink));
  writer->archive_ = archive_write_new();
  archive* a = writer->archive_;
  if (a == nullptr) return Limit("not enough memory");
  if (archive_write_set_format_zip(a) != ARCHIVE_OK ||
      archive_write_zip_set_compression_store(a) != ARCHIVE_OK ||
      archive_write_set_bytes_in_last_block(a, 1) != ARCHIVE_OK ||
      archive_write_open(a, writer.get(), nullptr, Write, nullptr) != ARCHIVE_OK) {
    return writer->Failure("open");
  }
  return writer;
}

ZipWriter::~ZipWriter() {
  if (archive_ == nullptr) return;
  archive_write_fail(archive_);  // not to write an end after half a file
  archive_write_free(archive_);
}

ssize_t ZipWriter::Write(archive* a, void* self, const void* bytes, size_t size) {
  auto* writer = static_cast<ZipWriter*>(self);
  Status taken = writer->sink_({static_cast<const char*>(bytes), size});
  if (taken.ok()) return static_cast<ssize_t>(size);
  writer->sink_error_ = std::move(taken).error();
  archive_set_error(a, EIO, "the output took no more");
  return -1;
}

Error ZipWriter::Failure(const char* doing) {
  if (sink_error_) return *sink_error_;
  return IoError(fmt::format("cannot {} the zip: {}", doing, TextOf(archive_)), 0);
}

Status ZipWriter::Begin(const std::string& name, int64_t bytes) {
  archive_entry* entry = archive_entry_new();
  if (entry == nullptr) return Limit("not enough memory");
  archive_entry_set_pathname(entry, name.c_str());
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_size(entry, bytes);
  archive_entry_set_mtime(entry, 0, 0);  // earlier than zip can say: the same in every time zone
  const int outcome = archive_write_header(archive_, entry);
  archive_entry_free(entry);
  if (outcome != ARCHIVE_OK) return Failure("extend");
  return {};
}

Status ZipWriter::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const la_ssize_t written = archive_write_data(archive_, bytes.data(), bytes.size());
    if (written <= 0) return Failure("extend");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status ZipWriter::Finish() {
  if (archive_write_close(archive_) != ARCHIVE_OK) return Failure("finish");
  return {};
}

Result<std::unique_ptr<ZipReader>> ZipReader::Open(const std::string& path) {
  std::unique_ptr<ZipReader> reader(new ZipReader());
  reader->path_ = path;
  reader->archive_ = archive_read_new();
  archive* a = reader->archive_;
  if (a == nullptr) return Limit("not enough memory");
  if (archive_read_support_format_zip_seekable(a) != ARCHIVE_OK ||
      archive_read_open_filename(a, path.c_str(), kReadBlockBytes) != ARCHIVE_OK) {
    return reader->Failure();
  }
  return reader;
}

ZipReader::~ZipReader() {
  if (archive_ != nullptr) archive_read_free(archive_);
}

Error ZipReader::Failure() {
  return InvalidInput(fmt::format("not a zip file that can be read: {}", TextOf(archive_))).At(path_);
}

Result<std::optional<ZipEntry>> ZipReader::Next() {
  archive_entry* entry = nullptr;
  const int outcome = archive_read_next_header(archive_, &entry);
  if (outcome == ARCHIVE_EOF) return std::optional<ZipEntry>();
  if (outcome != ARCHIVE_OK) return Failure();
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) return InvalidInput("an entry of the zip has no readable name").At(path_);
  ZipEntry out;
  out.name = name;
  out.is_file = archive_entry_filetype(entry) == AE_IFREG && archive_entry_symlink(entry) == nullptr &&
                archive_entry_hardlink(entry) == nullptr;
  return std::optional<ZipEntry>(std::move(out));
}

Result<size_t> ZipReader::Read(char* to, size_t size) {
  const la_ssize_t got = archive_read_data(archive_, to, size);
  if (got < 0) return Failure();
  return static_cast<size_t>(got);
}

}  // namespace nl
