// SPDX-License-Identifier: Apache-2.0
#pragma once
// CaptureSender: sends a capture to a server while it is written (docs/live.md, "To a server"). Each file of
// the capture is an upload in pieces; a recording on the server has them in its list of what is under way,
// and the end imports them there.
//
//   POST /api/v1/recordings              {"command", "started_at"}
//   POST /api/v1/uploads?name=FILE       Upload-Defer-Length: 1, for each file
//   PATCH /api/v1/uploads/ID             whole chunks, as they are written
//   PUT /api/v1/recordings/ID            {"uploads", "state", numbers}, every second
//   POST /api/v1/runs?upload=ID...       at the end
//   DELETE /api/v1/recordings/ID
//
// The capture stays on the disk of this machine, so a server that goes away costs nothing: what it does not
// have is sent when it is back. Thread rule: Begin, Update and Finish on one thread; sending has a thread of
// its own.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "remote/http_client.h"

namespace nl::remote {

struct SenderOptions {
  Url url;
  std::string token;
  std::chrono::milliseconds interval{500};  // between two looks at the files
  std::chrono::milliseconds patience{
      30'000};  // for a server that does not answer, after the program has ended
  const std::atomic<bool>* cancelled = nullptr;
};

// What became of it on the server.
struct SentCapture {
  std::string run_id;
  bool duplicate = false;  // the server had this capture already
  int64_t bytes = 0;
  int64_t outages = 0;  // times the server did not answer
};

class CaptureSender {
 public:
  explicit CaptureSender(SenderOptions options);
  ~CaptureSender();
  CaptureSender(const CaptureSender&) = delete;
  CaptureSender& operator=(const CaptureSender&) = delete;

  // Whether the server takes recordings from this caller. Io: it does not answer, which may change.
  Status Check();
  // Sends what is written to `directory` from now on.
  void Begin(const std::string& directory, const std::vector<std::string>& command);
  bool begun() const { return thread_.joinable() || !directory_.empty(); }
  // What the recorder counts: members of the body of PUT.
  void Update(Json numbers);
  // The capture is whole, and in `directory` now: sends the rest, and has it imported with these fields of
  // `import`. What fails leaves the capture as it is.
  Result<SentCapture> Finish(const std::string& directory,
                             const std::vector<std::pair<std::string, std::string>>& fields);

 private:
  struct File {
    std::string upload_id;  // empty: not begun
    int64_t sent = 0;
    bool ended = false;  // the server knows its length
  };

  void Run();
  Status SendAll(bool whole);
  Status SendFile(const std::string& name, File& file, bool whole);
  Status SendPiece(const std::string& path, File& file, int64_t end, bool is_last);
  Status OpenUpload(const std::string& name, File& file);
  Status Announce(bool whole);
  Status MakeRecording();
  Result<SentCapture> Import(const std::vector<std::pair<std::string, std::string>>& fields);
  Result<HttpAnswer> Ask(const HttpRequest& request);
  void CountOutage(const Status& status);

  const SenderOptions options_;
  HttpClient client_;
  std::string directory_;
  std::vector<std::string> command_;
  int64_t started_at_ns_ = 0;
  std::string recording_id_;  // on the server; empty: it has none
  std::map<std::string, File> files_;
  bool answered_ = true;
  int64_t outages_ = 0, bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  Json numbers_ = Json::object();
  bool stopping_ = false;
  std::thread thread_;
};

// How many bytes from `offset` on are whole chunks, in a file of `size` bytes; everything from the first byte
// that does not begin a chunk.
int64_t SealedEnd(int fd, int64_t offset, int64_t size);

}  // namespace nl::remote
