// SPDX-License-Identifier: Apache-2.0
#include "ledger/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <isa-l/crc64.h>

#include "base/file_ops.h"
#include "ledger/attachments.h"
#include "ledger/store.h"

namespace nl {

namespace {

constexpr size_t kReadBytesAtOnce = 256 << 10;  // stays in the second-level cache between read and checksum
constexpr std::string_view kSealBegin = "\n  \"checksum\": \"";
constexpr std::string_view kNoSeal = "0000000000000000";

std::string Hex(uint64_t value) { return fmt::format("{:016x}", value); }

std::optional<uint64_t> FromHex(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (ec != std::errc() || end != text.data() + text.size() || Hex(number) != text) return std::nullopt;
  return number;
}

// Files that were read and found whole; anything that writes to a file changes its times.
class WholeFiles {
 public:
  using Key = std::array<uint64_t, 8>;
  static Key KeyOf(const struct stat& info, uint64_t checksum) {
    return {info.st_dev,
            info.st_ino,
            static_cast<uint64_t>(info.st_size),
            static_cast<uint64_t>(info.st_mtim.tv_sec),
            static_cast<uint64_t>(info.st_mtim.tv_nsec),
            static_cast<uint64_t>(info.st_ctim.tv_sec),
            static_cast<uint64_t>(info.st_ctim.tv_nsec),
            checksum};
  }
  // Whether the file is known to be whole. While another thread reads it, this waits for what it finds;
  // whoever gets false reads the file and calls End.
  bool Begin(const Key& key, const std::atomic<bool>* cancelled) {
    std::unique_lock lock(mutex_);
    while (whole_.count(key) == 0) {
      if (reading_.insert(key).second || (cancelled != nullptr && cancelled->load())) return false;
      ended_.wait_for(lock, kLookForCancel);
    }
    return true;
  }
  void End(const Key& key, bool is_whole) {
    const std::lock_guard lock(mutex_);
    if (is_whole) whole_.insert(key);
    reading_.erase(key);
    ended_.notify_all();
  }

 private:
  static constexpr std::chrono::milliseconds kLookForCancel{50};
  std::mutex mutex_;
  std::condition_variable ended_;
  std::set<Key> whole_, reading_;
};

WholeFiles& Whole() {
  static WholeFiles whole;
  return whole;
}

Error Defect(const std::string& name, std::string_view what) {
  return IoError(fmt::format("{} {}", name, what), 0);
}

Result<uint64_t> ChecksumOf(int fd, const std::string& name, const VerifyOptions& options) {
  std::vector<char> block(kReadBytesAtOnce);
  uint64_t checksum = 0;
  for (;;) {
    if (options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed))
      return Cancelled();
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Defect(name, fmt::format("cannot be read: {}", std::generic_category().message(errno)));
    if (got == 0) return checksum;
    checksum = Checksum(checksum, {block.data(), static_cast<size_t>(got)});
    if (options.on_read) options.on_read(got);
  }
}

// The text of a document as it was when its checksum was taken; empty: it has none.
std::string Unsealed(std::string text, uint64_t* seal) {
  const size_t at = text.find(kSealBegin);
  if (at == std::string::npos || at + kSealBegin.size() + kNoSeal.size() > text.size()) return "";
  const std::string digits = text.substr(at + kSealBegin.size(), kNoSeal.size());
  const std::optional<uint64_t> value = FromHex(Json(digits));
  if (!value) return "";
  *seal = *value;
  return text.replace(at + kSealBegin.size(), kNoSeal.size(), kNoSeal);
}

// Collects what VerifyRunFile finds for every file of one folder.
Status VerifyAll(const std::string& folder, const std::string& prefix, const char* document_name,
                 const VerifyOptions& options, std::set<std::string>& seen, RunFilesReport& report) {
  Result<RunFiles> files = ReadRunFiles(folder, document_name);
  if (!files.ok()) {
    report.defects.push_back(prefix + files.error().message);
    return {};
  }
  for (const auto& [name, noted] : *files) {
    // A restored run notes its attachments too, and they note themselves.
    if (!seen.insert(prefix + name).second) continue;
    if (!noted.checksum) ++report.unchecked;
    Status status = VerifyRunFile(folder, name, noted, options);
    if (status.ok()) continue;
    if (status.error().code == ErrorCode::kCancelled) return status;
    report.defects.push_back(prefix + status.error().message);
  }
  return {};
}

}  // namespace

uint64_t Checksum(uint64_t before, std::string_view bytes) {
  return crc64_ecma_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

Result<RunFiles> MeasureRunFiles(const std::string& folder, const std::string& document_name,
                                 const std::map<std::string, uint64_t>& known) {
  RunFiles files;
  std::error_code ec;
  std::filesystem::recursive_directory_iterator it(folder, ec);
  for (; !ec && it != std::filesystem::recursive_directory_iterator(); it.increment(ec)) {
    if (!it->is_regular_file(ec) || ec) continue;
    const std::string name = it->path().lexically_relative(folder).string();
    if (name == document_name) continue;
    const uintmax_t bytes = it->file_size(ec);
    if (ec) break;
    RunFile& file = files[name];
    file.bytes = static_cast<int64_t>(bytes);
    if (const auto found = known.find(name); found != known.end()) {
      file.checksum = found->second;
      continue;
    }
    const UniqueFd fd(::open(it->path().c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return FileError("read", it->path().string());
    NL_ASSIGN(file.checksum, ChecksumOf(fd.get(), name, {}));
  }
  if (ec) return FileError("read folder", folder, ec.value());
  return files;
}

std::string SealedText(Json document, const RunFiles& files) {
  document["files"] = Json::array();
  for (const auto& [name, file] : files) {
    Json item{{"name", name}, {"bytes", file.bytes}};
    if (file.checksum) item["crc64"] = Hex(*file.checksum);
    document["files"].push_back(std::move(item));
  }
  document["checksum"] = kNoSeal;
  std::string text = DumpJson(document, 2) + "\n";
  const size_t at = text.find(kSealBegin) + kSealBegin.size();
  return text.replace(at, kNoSeal.size(), Hex(Checksum(0, text)));
}

Result<RunFiles> ReadRunFiles(const std::string& folder, const std::string& document_name) {
  Result<std::string> text = ReadWholeFile(fmt::format("{}/{}", folder, document_name));
  if (!text.ok()) {
    if (text.error().code == ErrorCode::kNotFound) return RunFiles();
    return Defect(document_name, "cannot be read");
  }
  const Result<Json> document = ParseJson(*text);
  if (!document.ok()) return Defect(document_name, "is not JSON");
  if (!document->is_object()) return Defect(document_name, "is not an object");
  uint64_t seal = 0;
  const std::string unsealed = Unsealed(*std::move(text), &seal);
  if (!unsealed.empty() && Checksum(0, unsealed) != seal)
    return Defect(document_name, "does not match its checksum");
  RunFiles files;
  const auto list = document->find("files");
  if (list == document->end() || !list->is_array()) return files;
  for (const Json& item : *list) {
    if (!item.is_object() || !item.contains("name") || !item["name"].is_string()) continue;
    RunFile& file = files[item["name"].get<std::string>()];
    file.bytes =
        item.contains("bytes") && item["bytes"].is_number_unsigned() ? item["bytes"].get<int64_t>() : -1;
    if (!item.contains("crc64")) continue;
    file.checksum = FromHex(item["crc64"]);
    if (!file.checksum || unsealed.empty()) return Defect(document_name, "has no valid checksum");
  }
  return files;
}

Status VerifyRunFile(const std::string& folder, const std::string& name, const RunFile& noted,
                     const VerifyOptions& options) {
  const UniqueFd fd(::open(fmt::format("{}/{}", folder, name).c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) return Defect(name, "is missing");
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0)
    return Defect(name, fmt::format("cannot be read: {}", std::generic_category().message(errno)));
  if (noted.bytes >= 0 && info.st_size != noted.bytes)
    return Defect(name, fmt::format("has {} bytes instead of {}", info.st_size, noted.bytes));
  if (!noted.checksum) return {};
  const WholeFiles::Key key = WholeFiles::KeyOf(info, *noted.checksum);
  if (options.trust_memory && Whole().Begin(key, options.cancelled)) return {};
  const Result<uint64_t> checksum = ChecksumOf(fd.get(), name, options);
  const bool is_whole = checksum.ok() && *checksum == *noted.checksum;
  Whole().End(key, is_whole);
  if (!checksum.ok()) return checksum.error();
  return is_whole ? Status() : Status(Defect(name, "does not match its checksum"));
}

Result<std::string> ReadRunFile(const std::string& run_folder, const std::string& name) {
  Result<RunFiles> files = ReadRunFiles(run_folder, kCatalogEntryFile);
  const std::string run = std::filesystem::path(run_folder).filename().string();
  if (!files.ok()) return DamagedRun(run, files.error().message);
  Result<std::string> text = ReadWholeFile(fmt::format("{}/{}", run_folder, name));
  const auto noted = files->find(name);
  if (noted == files->end()) return text;
  if (!text.ok() && text.error().code == ErrorCode::kNotFound)
    return DamagedRun(run, fmt::format("{} is missing", name));
  if (text.ok() && noted->second.checksum && Checksum(0, *text) != *noted->second.checksum)
    return DamagedRun(run, fmt::format("{} does not match its checksum", name));
  return text;
}

Result<RunFilesReport> VerifyRunFolder(const std::string& run_folder, const VerifyOptions& options) {
  RunFilesReport report;
  std::set<std::string> seen;
  for (const std::string& folder : AttachmentFolders(run_folder)) {
    const std::string prefix =
        fmt::format("{}/{}/", kAttachedFolder, std::filesystem::path(folder).filename().string());
    NL_TRY(VerifyAll(folder, prefix, kAttachmentFile, options, seen, report));
  }
  NL_TRY(VerifyAll(run_folder, "", kCatalogEntryFile, options, seen, report));
  return report;
}

Error DamagedRun(const std::string& run, const std::string& defect) {
  return IoError(fmt::format("run {} is damaged: {}", run, defect), 0)
      .Hint("import the profile again; neurolens doctor lists every damaged run");
}

}  // namespace nl
