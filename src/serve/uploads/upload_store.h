// SPDX-License-Identifier: Apache-2.0
#pragma once
// UploadStore: files on their way into the store, in store/uploads.
//
//   ID.json, ID.part     an upload that may be continued: its name and length, and what came so far
//   import-XXXX/         the files of one import under their own names; locked by the process that uses it
//
// An upload survives a restart of the server. One that nobody continued for a day is removed, and so is what
// a process left that was killed. Thread rule: any thread and process; one Append at a time per upload.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_ops.h"
#include "base/result.h"

namespace nl::uploads {

// A file name without folders and control characters; "upload" when nothing is left of it.
std::string CleanName(std::string_view name);

// The error as a client may see it: without the folder of the server that its files are in.
Error WithoutFolder(Error error, const std::string& folder);

struct UploadInfo {
  std::string id, name;
  int64_t offset = 0, length = 0;  // bytes that came, and bytes in all
  bool has_length() const { return length >= 0; }
};
inline constexpr int64_t kUnknownLength = -1;  // of a file that still grows where it comes from

// Files of one import. The folder is removed with this object.
class Spool {
 public:
  Spool(TempDir dir, UniqueFd lock) : dir_(std::move(dir)), lock_(std::move(lock)) {}
  const std::string& path() const { return dir_.path(); }
  const std::vector<std::string>& files() const { return files_; }

  // A new empty file; InvalidInput when the spool has one of this name.
  Result<UniqueFd> AddFile(const std::string& name);
  // The file of an upload under its own name, without a copy. With `folder` it is a part of that, and the
  // folder is what is imported.
  Status Link(const std::string& path, const std::string& name, const std::string& folder = "");

 private:
  Result<std::string> PathFor(const std::string& name);

  TempDir dir_;
  UniqueFd lock_;
  std::vector<std::string> files_;  // paths
};

// Gives `sink` what comes from a pipe until its end. Cancelled when `cancelled` is set and the pipe is empty.
Status ReadPipe(int fd, const std::atomic<bool>& cancelled,
                const std::function<Status(std::string_view bytes)>& sink);
// All of `bytes`; an Io error names `path`.
Status WriteFully(int fd, std::string_view bytes, const std::string& path);

class UploadStore {
 public:
  static constexpr int64_t kKept_s = 24 * 3600;
  explicit UploadStore(const std::string& store_path) : folder_(store_path + "/uploads") {}

  Result<UploadInfo> Create(std::string_view name, int64_t length);
  Result<UploadInfo> Find(std::string_view id) const;
  // Adds what comes from the pipe at `offset`, which must be where the upload is. What came before an end in
  // between stays. `length`: what the upload has in all, when that is known now. `most_bytes`: of an upload
  // whose length is not known; 0: any. Limit: someone else adds to it now, or there is too much of it.
  Result<UploadInfo> Append(std::string_view id, int64_t offset, int fd, const std::atomic<bool>& cancelled,
                            std::optional<int64_t> length = {}, int64_t most_bytes = 0);
  // The file of an upload under its own name in `folder`, without a copy: it grows with the upload.
  // InvalidInput when the name does not end so.
  Status LinkInto(std::string_view id, const std::string& folder, std::string_view suffix) const;
  Status Remove(std::string_view id);

  Result<Spool> MakeSpool();
  // The finished uploads as files of one import. Files of a capture are its folder, which has this name.
  Result<Spool> Gather(const std::vector<std::string>& ids, std::string_view name = "");
  // All are there and finished; else why not.
  Status CheckFinished(const std::vector<std::string>& ids) const;

  // Removes what is too old at `now_s` (Unix time), and spools without a process. Gives how many things.
  int Sweep(int64_t now_s) const;

 private:
  std::string PartPath(std::string_view id) const;
  std::string InfoPath(std::string_view id) const;
  Status WriteInfo(const UploadInfo& info) const;
  // What Append may still take.
  Status TakeLength(UploadInfo& info, int64_t length) const;

  const std::string folder_;
};

}  // namespace nl::uploads
