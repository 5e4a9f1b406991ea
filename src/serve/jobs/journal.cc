// SPDX-License-Identifier: Apache-2.0
#include "serve/jobs/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include <fmt/format.h>
#include <isa-l/crc64.h>

namespace nl::jobs {

namespace {

constexpr size_t kSumDigits = 16;

std::string JournalPath(const std::string& folder) { return folder + "/journal"; }

std::string SumOf(std::string_view text) {
  return fmt::format("{:016x}",
                     crc64_ecma_refl(0, reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

// The record of a line without its end; nothing when the checksum does not match.
std::optional<Json> RecordOfLine(std::string_view line) {
  if (line.size() <= kSumDigits + 1 || line[kSumDigits] != ' ') return std::nullopt;
  const std::string_view text = line.substr(kSumDigits + 1);
  if (SumOf(text) != line.substr(0, kSumDigits)) return std::nullopt;
  Result<Json> json = ParseJson(text);
  if (!json.ok()) return std::nullopt;
  return *std::move(json);
}

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

std::string JournalLine(const Json& record) {
  const std::string text = DumpJson(record);
  return fmt::format("{} {}\n", SumOf(text), text);
}

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& folder) {
  NL_TRY(MakeDirectories(folder));
  const std::string lock_path = folder + "/lock";
  UniqueFd lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return FileError("open", lock_path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FileError("lock", lock_path);
    return Limit("another process runs the jobs of this store");
  }
  std::unique_ptr<Journal> out(new Journal(folder, std::move(lock)));
  NL_TRY(out->OpenFile());
  NL_TRY(out->DropCutEnd());
  return out;
}

bool Journal::IsOpen(const std::string& folder) {
  const UniqueFd lock(open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
  return lock.valid() && flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

Status Journal::OpenFile() {
  const std::string path = JournalPath(folder_);
  file_ = UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file_.valid()) return FileError("open", path);
  struct stat info {};
  if (fstat(file_.get(), &info) != 0) return FileError("open", path);
  bytes_ = info.st_size;
  return SyncDirectory(folder_);
}

// Also possible on a full disk, where Rewrite is not.
Status Journal::DropCutEnd() {
  const std::string path = JournalPath(folder_);
  NL_ASSIGN(const std::string text, ReadWholeFile(path));
  const size_t end = text.rfind('\n');
  const size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole == text.size()) return {};
  if (ftruncate(file_.get(), static_cast<off_t>(whole)) != 0) return FileError("write", path);
  bytes_ = static_cast<int64_t>(whole);
  return {};
}

Result<JournalContent> Journal::Read(const std::string& folder) {
  JournalContent out;
  const Result<std::string> text = ReadWholeFile(JournalPath(folder));
  if (!text.ok() && text.error().code == ErrorCode::kNotFound) return out;
  if (!text.ok()) return text.error();
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      out.cut_end = true;
      break;
    }
    if (std::optional<Json> record = RecordOfLine(rest.substr(0, end)))
      out.records.push_back(*std::move(record));
    else
      ++out.bad_lines;
    rest.remove_prefix(end + 1);
  }
  return out;
}

Status Journal::Append(const Json& record) {
  const std::string line = JournalLine(record);
  const std::string path = JournalPath(folder_);
  Status written = WriteAll(file_.get(), line, path);
  if (written.ok() && fdatasync(file_.get()) != 0) written = FileError("write", path);
  if (!written.ok()) {
    // Half a line would spoil the next one.
    static_cast<void>(!ftruncate(file_.get(), bytes_));
    return written;
  }
  bytes_ += static_cast<int64_t>(line.size());
  return {};
}

Status Journal::Rewrite(const std::vector<Json>& records) {
  std::string text;
  for (const Json& record : records) text += JournalLine(record);
  NL_TRY(WriteFileAtomically(JournalPath(folder_), text));
  return OpenFile();
}

}  // namespace nl::jobs
