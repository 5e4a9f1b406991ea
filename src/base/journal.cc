// SPDX-License-Identifier: Apache-2.0
#include "base/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <isa-l/crc64.h>

namespace nl {

namespace {

constexpr size_t kSumDigits = 16;
constexpr auto kLookForLockEvery = std::chrono::milliseconds(2);
constexpr size_t kTailBytes = 64 << 10;  // read at a time where the last end of a line is looked for

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

Status WriteRecords(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status TakeJournalLock(int fd, const std::string& path, std::chrono::milliseconds wait) {
  const auto until = std::chrono::steady_clock::now() + wait;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return FileError("lock", path);
    if (std::chrono::steady_clock::now() >= until)
      return Limit("another process has the journal open").At(path);
    std::this_thread::sleep_for(kLookForLockEvery);
  }
  return {};
}

}  // namespace

std::string JournalLine(const Json& record) {
  const std::string text = DumpJson(record);
  return fmt::format("{} {}\n", SumOf(text), text);
}

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& folder, std::chrono::milliseconds wait) {
  NL_TRY(MakeDirectories(folder));
  const std::string lock_path = folder + "/lock";
  UniqueFd lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return FileError("open", lock_path);
  NL_TRY(TakeJournalLock(lock.get(), lock_path, wait));
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

// Also possible on a full disk, where Rewrite is not. Reads from the end: a journal may be long.
Status Journal::DropCutEnd() {
  const std::string path = JournalPath(folder_);
  char bytes[kTailBytes];
  int64_t whole = 0;
  for (int64_t end = bytes_; end > 0 && whole == 0;) {
    const int64_t from = std::max<int64_t>(0, end - static_cast<int64_t>(sizeof bytes));
    const ssize_t n = pread(file_.get(), bytes, static_cast<size_t>(end - from), from);
    if (n < 0 && errno == EINTR) continue;
    if (n != end - from) return FileError("read", path);
    const size_t found = std::string_view(bytes, static_cast<size_t>(n)).rfind('\n');
    if (found != std::string_view::npos) whole = from + static_cast<int64_t>(found) + 1;
    end = from;
  }
  if (whole == bytes_) return {};
  if (ftruncate(file_.get(), static_cast<off_t>(whole)) != 0) return FileError("write", path);
  bytes_ = whole;
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

Status Journal::Append(const Json& record) { return AppendText(JournalLine(record)); }

Status Journal::AppendAll(const std::vector<Json>& records) {
  std::string text;
  for (const Json& record : records) text += JournalLine(record);
  return AppendText(text);
}

Status Journal::AppendText(const std::string& text) {
  const std::string path = JournalPath(folder_);
  Status written = WriteRecords(file_.get(), text, path);
  if (written.ok() && fdatasync(file_.get()) != 0) written = FileError("write", path);
  if (!written.ok()) {
    // Half a line would spoil the next one.
    static_cast<void>(!ftruncate(file_.get(), bytes_));
    return written;
  }
  bytes_ += static_cast<int64_t>(text.size());
  return {};
}

Status Journal::Rewrite(const std::vector<Json>& records) {
  std::string text;
  for (const Json& record : records) text += JournalLine(record);
  NL_TRY(WriteFileAtomically(JournalPath(folder_), text));
  return OpenFile();
}

}  // namespace nl
