// SPDX-License-Identifier: Apache-2.0
#include "import/read/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

namespace nl {

namespace {

constexpr size_t kPieceBytes = 1 << 20;

Status WriteAll(int fd, const char* bytes, size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t n = write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("write", path);
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<WholeFile>> WholeFile::Open(ImportFile& file) {
  std::unique_ptr<WholeFile> whole(new WholeFile(file));
  // A file without a name of its own (/proc/self/fd/3) cannot be opened again by its name.
  std::error_code code;
  const std::filesystem::path canonical =
      file.source.is_plain_file() ? std::filesystem::canonical(file.path, code) : std::filesystem::path();
  if (!canonical.empty() && !code && std::filesystem::is_regular_file(canonical, code)) {
    whole->path_ = canonical.string();
    whole->size_bytes_ = file.source.bytes_total();
    whole->reader_ = std::thread([w = whole.get()] { w->read_ = w->Drain(); });
    return whole;
  }
  NL_TRY(whole->Copy());
  return whole;
}

WholeFile::~WholeFile() {
  stop_.store(true, std::memory_order_relaxed);
  if (reader_.joinable()) reader_.join();
}

Status WholeFile::Finish() {
  if (reader_.joinable()) reader_.join();
  return std::move(read_);
}

Status WholeFile::Drain() {
  std::vector<char> piece(kPieceBytes);
  while (!stop_.load(std::memory_order_relaxed)) {
    NL_ASSIGN(const size_t n, file_.source.Read(piece.data(), piece.size()));
    if (n < piece.size()) break;
  }
  return {};
}

Status WholeFile::Copy() {
  NL_ASSIGN(TempDir folder, TempDir::Make("neurolens-unpacked-"));
  path_ = folder.path() + "/input";
  copy_ = std::move(folder);
  const UniqueFd fd(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError("create", path_);
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    if (file_.options.Cancelled()) return Cancelled();
    NL_ASSIGN(const size_t n, file_.source.Read(piece.data(), piece.size()));
    NL_TRY(WriteAll(fd.get(), piece.data(), n, path_));
    size_bytes_ += static_cast<int64_t>(n);
    if (file_.options.progress) file_.options.progress(file_.source.bytes_read(), file_.source.bytes_total());
    if (n < piece.size()) return {};
  }
}

}  // namespace nl
