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
// The files of a capture are read as its folder, which is one recording (docs/formats/nlcap.md).
constexpr char kCaptureSuffix[] = ".nlc", kCaptureFolder[] = "capture.nlcap",
               kCaptureFolderSuffix[] = ".nlcap";
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

Status Spool::Link(const std::string& from, const std::string& name, const std::string& folder) {
  if (folder.empty()) {
    NL_ASSIGN(const std::string path, PathFor(name));
    if (link(from.c_str(), path.c_str()) != 0) return FileError("create", path);
    files_.push_back(path);
    return {};
  }
  const std::string inside = fmt::format("{}/{}", dir_.path(), folder);
  NL_TRY(MakeDirectories(inside));
  const std::string path = fmt::format("{}/{}", inside, CleanName(name));
  if (link(from.c_str(), path.c_str()) != 0) {
    if (errno == EEXIST)
      return InvalidInput(fmt::format("two of the files have the name '{}'", CleanName(name)));
    return FileError("create", path);
  }
  if (files_.empty()) files_.push_back(inside);
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

Status UploadStore::WriteInfo(const UploadInfo& info) const {
  return WriteFileAtomically(InfoPath(info.id), DumpJson(Json{{"name", info.name}, {"length", info.length}}));
}

Result<UploadInfo> UploadStore::Create(std::string_view name, int64_t length) {
  NL_TRY(MakeDirectories(folder_));
  UploadInfo out{NewUuidV7(), CleanName(name), 0, length};
  const UniqueFd part(open(PartPath(out.id).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!part.valid()) return FileError("create", PartPath(out.id));
  if (Status written = WriteInfo(out); !written.ok()) {
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

Status UploadStore::TakeLength(UploadInfo& info, int64_t length) const {
  if (info.length == length) return {};
  if (info.has_length())
    return InvalidInput(fmt::format("the upload was announced with {} bytes, not {}", info.length, length));
  if (length < info.offset || length == 0)
    return InvalidInput(
        fmt::format("the upload has {} bytes already, which {} is less than", info.offset, length));
  info.length = length;
  return WriteInfo(info);
}

namespace {

// Ends a lock that a process which is being started at this moment would keep: it has every descriptor until
// it runs its program.
class Unlock {
 public:
  explicit Unlock(int fd) : fd_(fd) {}
  ~Unlock() { flock(fd_, LOCK_UN); }
  Unlock(const Unlock&) = delete;
  Unlock& operator=(const Unlock&) = delete;

 private:
  const int fd_;
};

}  // namespace

Result<UploadInfo> UploadStore::Append(std::string_view id, int64_t offset, int fd,
                                       const std::atomic<bool>& cancelled, std::optional<int64_t> length,
                                       int64_t most_bytes) {
  NL_ASSIGN(UploadInfo info, Find(id));
  const std::string path = PartPath(id);
  const UniqueFd part(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!part.valid()) return NoSuchUpload(id);
  if (flock(part.get(), LOCK_EX | LOCK_NB) != 0) return Limit("another request adds to this upload");
  const Unlock unlock(part.get());
  NL_ASSIGN(info, Find(id));  // as it is with the lock
  if (offset != info.offset)
    return InvalidInput(fmt::format("the upload is at byte {}, not {}", info.offset, offset))
        .Hint("ask for the offset with HEAD and continue there");
  if (length) NL_TRY(TakeLength(info, *length));
  const Status received = ReadPipe(fd, cancelled, [&](std::string_view bytes) -> Status {
    const auto more = static_cast<int64_t>(bytes.size());
    if (!info.has_length() && most_bytes > 0 && info.offset + more > most_bytes)
      return Limit(fmt::format("the upload is larger than {} bytes", most_bytes));
    if (info.has_length() && more > info.length - info.offset)
      return InvalidInput(fmt::format("the upload was announced with {} bytes, and more came", info.length));
    NL_TRY(WriteFully(part.get(), bytes, path));
    info.offset += more;
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
    if (!info.has_length())
      return InvalidInput(fmt::format("the upload {} has no length yet", id))
          .Hint("send its last piece with Upload-Length");
    if (info.offset != info.length)
      return InvalidInput(fmt::format("the upload {} has {} of {} bytes", id, info.offset, info.length))
          .Hint("send the rest first");
  }
  return {};
}

Result<Spool> UploadStore::Gather(const std::vector<std::string>& ids, std::string_view name) {
  NL_TRY(CheckFinished(ids));
  NL_ASSIGN(Spool spool, MakeSpool());
  std::vector<UploadInfo> parts;
  for (const std::string& id : ids) {
    NL_ASSIGN(UploadInfo info, Find(id));
    parts.push_back(std::move(info));
  }
  const auto is_capture = [](const UploadInfo& info) { return info.name.ends_with(kCaptureSuffix); };
  const bool capture = parts.size() > 1 && std::all_of(parts.begin(), parts.end(), is_capture);
  const std::string folder = name.ends_with(kCaptureFolderSuffix) ? CleanName(name) : kCaptureFolder;
  for (const UploadInfo& info : parts)
    NL_TRY(spool.Link(PartPath(info.id), info.name, capture ? folder : ""));
  return spool;
}

Status UploadStore::LinkInto(std::string_view id, const std::string& folder, std::string_view suffix) const {
  NL_ASSIGN(const UploadInfo info, Find(id));
  if (!info.name.ends_with(suffix))
    return InvalidInput(fmt::format("'{}' is not a file of a capture", info.name))
        .Hint(fmt::format("their names end with {}", suffix));
  const std::string path = fmt::format("{}/{}", folder, info.name);
  struct stat now {
  }, part{};
  if (stat(PartPath(id).c_str(), &part) != 0) return NoSuchUpload(id);
  if (stat(path.c_str(), &now) == 0) {
    if (now.st_ino == part.st_ino) return {};
    unlink(path.c_str());  // of an upload that was begun again
  }
  if (link(PartPath(id).c_str(), path.c_str()) != 0) return FileError("create", path);
  return {};
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
