// SPDX-License-Identifier: Apache-2.0
#include "serve/uploads/upload_store.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/json.h"
#include "base/terminal.h"
#include "base/uuid.h"

namespace nl::uploads {

namespace {

constexpr char kSpoolPrefix[] = "import-";
constexpr size_t kMostNameBytes = 255, kPieceBytes = 256 << 10;
constexpr int kLookForCancel_ms = 50, kAttempts = 5;

Error NoSuchUpload(std::string_view id) {
  return NotFound(fmt::format("no such upload: {}", PrintableName(id, 80)))
      .Hint("an upload that nobody continued for a day is removed; start it again");
}

void ReplaceAll(std::string& text, const std::string& from) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
    text.erase(at, from.size());
}

}  // namespace

Error WithoutFolder(Error error, const std::string& folder) {
  if (folder.empty()) return error;
  for (std::string* text : {&error.message, &error.file, &error.hint}) ReplaceAll(*text, folder + "/");
  return error;
}

std::string CleanName(std::string_view given) {
  std::string name(given);
  if (const size_t slash = name.find_last_of("/\\"); slash != std::string::npos) name.erase(0, slash + 1);
  name = PrintableText(name);
  if (name.empty() || name.size() > kMostNameBytes || name == "." || name == ".." || name == "-")
    return "upload";
  return name;
}

Result<std::string> Spool::PathFor(const std::string& name) {
  std::string path = fmt::format("{}/{}", dir_.path(), CleanName(name));
  if (std::find(files_.begin(), files_.end(), path) != files_.end())
    return InvalidInput(fmt::format("two of the files have the name '{}'", CleanName(name)))
        .Hint("give each file its own name");
  return path;
}

Result<UniqueFd> Spool::AddFile(const std::string& name) {
  NL_ASSIGN(const std::string path, PathFor(name));
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return FileError("create", path);
  files_.push_back(path);
  return file;
}

Status Spool::Link(const std::string& from, const std::string& name) {
  NL_ASSIGN(const std::string path, PathFor(name));
  if (link(from.c_str(), path.c_str()) != 0) return FileError("create", path);
  files_.push_back(path);
  return {};
}

Status WriteFully(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status ReadPipe(int fd, const std::atomic<bool>& cancelled,
                const std::function<Status(std::string_view bytes)>& sink) {
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    const int count = poll(&ready, 1, kLookForCancel_ms);
    if (count < 0 && errno != EINTR) return IoError("cannot read the body of the request");
    if (count <= 0) {
      if (cancelled) return Cancelled();
      continue;
    }
    const ssize_t n = read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return IoError("cannot read the body of the request");
    // The flag is set before the pipe ends: an end with the flag is not the end of the body.
    if (n == 0) return cancelled ? Status(Cancelled()) : Status();
    NL_TRY(sink(std::string_view(piece).substr(0, static_cast<size_t>(n))));
  }
}

std::string UploadStore::PartPath(std::string_view id) const {
  return fmt::format("{}/{}.part", folder_, id);
}
std::string UploadStore::InfoPath(std::string_view id) const {
  return fmt::format("{}/{}.json", folder_, id);
}

Result<UploadInfo> UploadStore::Create(std::string_view name, int64_t length) {
  NL_TRY(MakeDirectories(folder_));
  UploadInfo out{NewUuidV7(), CleanName(name), 0, length};
  const UniqueFd part(open(PartPath(out.id).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!part.valid()) return FileError("create", PartPath(out.id));
  const Json info{{"name", out.name}, {"length", out.length}};
  if (Status written = WriteFileAtomically(InfoPath(out.id), DumpJson(info)); !written.ok()) {
    unlink(PartPath(out.id).c_str());
    return std::move(written).error();
  }
  return out;
}

Result<UploadInfo> UploadStore::Find(std::string_view id) const {
  if (!IsUuidV7(id)) return NoSuchUpload(id);  // never part of a path before this
  const Result<std::string> text = ReadWholeFile(InfoPath(id), 1 << 16);
  struct stat part {};
  if (!text.ok() || stat(PartPath(id).c_str(), &part) != 0) return NoSuchUpload(id);
  NL_ASSIGN(const Json info, ParseJson(*text));
  if (!info.is_object() || !info.contains("name") || !info["name"].is_string() || !info.contains("length") ||
      !info["length"].is_number_integer())
    return NoSuchUpload(id);
  return UploadInfo{std::string(id), info["name"].get<std::string>(), part.st_size,
                    info["length"].get<int64_t>()};
}

Result<UploadInfo> UploadStore::Append(std::string_view id, int64_t offset, int fd,
                                       const std::atomic<bool>& cancelled) {
  NL_ASSIGN(UploadInfo info, Find(id));
  const std::string path = PartPath(id);
  const UniqueFd part(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!part.valid()) return NoSuchUpload(id);
  if (flock(part.get(), LOCK_EX | LOCK_NB) != 0) return Limit("another request adds to this upload");
  NL_ASSIGN(info, Find(id));  // as it is with the lock
  if (offset != info.offset)
    return InvalidInput(fmt::format("the upload is at byte {}, not {}", info.offset, offset))
        .Hint("ask for the offset with HEAD and continue there");
  const Status received = ReadPipe(fd, cancelled, [&](std::string_view bytes) -> Status {
    if (static_cast<int64_t>(bytes.size()) > info.length - info.offset)
      return InvalidInput(fmt::format("the upload was announced with {} bytes, and more came", info.length));
    NL_TRY(WriteFully(part.get(), bytes, path));
    info.offset += static_cast<int64_t>(bytes.size());
    return {};
  });
  if (fdatasync(part.get()) != 0) return FileError("write", path);
  if (!received.ok()) return received.error();
  return info;
}

Status UploadStore::Remove(std::string_view id) {
  NL_TRY(Find(id));
  unlink(InfoPath(id).c_str());
  unlink(PartPath(id).c_str());
  return {};
}

Result<Spool> UploadStore::MakeSpool() {
  NL_TRY(MakeDirectories(folder_));
  // Between making the folder and locking it, the Sweep of another process may take it for left over.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    NL_ASSIGN(TempDir dir, TempDir::Make(kSpoolPrefix, folder_));
    UniqueFd lock(open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.valid() && flock(lock.get(), LOCK_EX | LOCK_NB) == 0 && PathExists(dir.path()))
      return Spool(std::move(dir), std::move(lock));
  }
  return IoError(fmt::format("cannot lock a folder in {}", folder_));
}

Status UploadStore::CheckFinished(const std::vector<std::string>& ids) const {
  if (ids.empty()) return InvalidInput("no upload is given");
  for (const std::string& id : ids) {
    NL_ASSIGN(const UploadInfo info, Find(id));
    if (info.offset != info.length)
      return InvalidInput(fmt::format("the upload {} has {} of {} bytes", id, info.offset, info.length))
          .Hint("send the rest first");
  }
  return {};
}

Result<Spool> UploadStore::Gather(const std::vector<std::string>& ids) {
  NL_TRY(CheckFinished(ids));
  NL_ASSIGN(Spool spool, MakeSpool());
  for (const std::string& id : ids) {
    NL_ASSIGN(const UploadInfo info, Find(id));
    NL_TRY(spool.Link(PartPath(id), info.name));
  }
  return spool;
}

int UploadStore::Sweep(int64_t now_s) const {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code ec;
  for (fs::directory_iterator it(folder_, ec), end; !ec && it != end; it.increment(ec))
    paths.push_back(it->path().string());
  int removed = 0;
  for (const std::string& path : paths) {
    const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat info {};
    if (!file.valid() || fstat(file.get(), &info) != 0) continue;
    const bool is_spool = S_ISDIR(info.st_mode);
    // A description goes with its part; alone, it is left over.
    const fs::path part = fs::path(path).replace_extension(".part");
    if (!is_spool && path.ends_with(".json") && fs::exists(part, ec)) continue;
    if (!is_spool && now_s - info.st_mtime < kKept_s) continue;
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;  // in use
    if (!is_spool) unlink(fs::path(path).replace_extension(".json").c_str());
    removed += RemoveTree(path).ok() ? 1 : 0;
  }
  return removed;
}

}  // namespace nl::uploads
