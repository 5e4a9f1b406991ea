// SPDX-License-Identifier: Apache-2.0
#include "remote/capture_sender.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/terminal.h"
#include "base/time_text.h"
#include "capture/format/chunk_format.h"

namespace nl::remote {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int64_t kPieceBytes = 4 << 20;
constexpr milliseconds kImportPatience{15 * 60'000}, kRetryEvery{1000};
constexpr char kFileSuffix[] = ".nlc";
constexpr std::pair<const char*, const char*> kJsonType{"Content-Type", "application/json"};

std::optional<int64_t> NumberIn(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

Result<std::string> TextIn(const HttpAnswer& answer, const char* name) {
  NL_ASSIGN(const Json json, ParseJson(answer.body));
  if (!json.is_object() || !json.contains(name) || !json[name].is_string())
    return IoError(fmt::format("the answer of the server has no '{}'", name), 0);
  return json[name].get<std::string>();
}

// A server that is too old for this, or none of ours.
Error NotOffered(const Url& url) {
  return Unsupported(fmt::format("{} does not take recordings", url.Text()))
      .Hint("it must be a `neurolens serve` of this version or a newer one");
}

}  // namespace

int64_t SealedEnd(int fd, int64_t offset, int64_t size) {
  while (offset + static_cast<int64_t>(sizeof(capture::ChunkHeader)) <= size) {
    capture::ChunkHeader header{};
    if (pread(fd, &header, sizeof header, offset) != static_cast<ssize_t>(sizeof header)) return offset;
    if (header.magic != capture::kChunkMagic || header.payload_bytes > capture::kMaxPayloadBytes) return size;
    const auto end =
        offset + static_cast<int64_t>(sizeof header + capture::PaddedBytes(header.payload_bytes));
    if (end > size) return offset;
    offset = end;
  }
  return offset;
}

CaptureSender::CaptureSender(SenderOptions options)
    : options_(std::move(options)), client_(options_.url, options_.token, options_.cancelled) {}

CaptureSender::~CaptureSender() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// 404 is an answer: whoever asks knows what to make again.
Result<HttpAnswer> CaptureSender::Ask(const HttpRequest& request) {
  NL_ASSIGN(HttpAnswer answer, client_.Send(request));
  if (answer.status == 503) return ErrorOf(answer);
  return answer;
}

Status CaptureSender::Check() {
  NL_ASSIGN(const HttpAnswer me, client_.Send({.method = "GET", .path = "/api/v1/me"}));
  if (me.status == 404) return NotOffered(options_.url);
  if (!me.ok()) {
    Error error = ErrorOf(me);
    if (me.status == 401)
      std::move(error).Hint("set NEUROLENS_TOKEN to a token of the role editor (`neurolens auth token-add`)");
    return error;
  }
  const Result<std::string> role = TextIn(me, "role");
  if (!role.ok()) return NotOffered(options_.url);
  if (*role == "viewer")
    return InvalidInput(
               fmt::format("{} takes recordings from the role editor, and this token has the role viewer",
                           options_.url.Text()))
        .Hint("make one with `neurolens auth token-add NAME --role editor`");
  return {};
}

void CaptureSender::Begin(const std::string& directory, const std::vector<std::string>& command) {
  directory_ = directory;
  command_ = command;
  started_at_ns_ = UnixNowNs();
  thread_ = std::thread([this] { Run(); });
}

void CaptureSender::Update(Json numbers) {
  const std::lock_guard lock(mutex_);
  numbers_ = std::move(numbers);
}

void CaptureSender::CountOutage(const Status& status) {
  if (!status.ok() && answered_) ++outages_;
  answered_ = status.ok();
}

void CaptureSender::Run() {
  milliseconds pause = options_.interval;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, pause, [this] { return stopping_; });
      if (stopping_) return;
    }
    const Status sent = SendAll(false);
    CountOutage(sent);
    // The program does not wait for the server, so neither does it help to ask often.
    constexpr int kMostIntervals = 10;
    pause = sent.ok() ? options_.interval : std::min(pause * 2, options_.interval * kMostIntervals);
  }
}

Status CaptureSender::SendAll(bool whole) {
  namespace fs = std::filesystem;
  if (recording_id_.empty()) NL_TRY(MakeRecording());
  std::error_code bad;
  for (fs::directory_iterator it(directory_, bad), end; !bad && it != end; it.increment(bad)) {
    const std::string name = it->path().filename().string();
    if (name.ends_with(kFileSuffix)) files_[name];
  }
  for (auto& [name, file] : files_) NL_TRY(SendFile(name, file, whole));
  return Announce(whole);
}

Status CaptureSender::MakeRecording() {
  const std::string body = DumpJson(Json{{"command", command_}, {"started_at", Rfc3339Utc(started_at_ns_)}});
  NL_ASSIGN(const HttpAnswer answer,
            Ask({.method = "POST", .path = "/api/v1/recordings", .headers = {kJsonType}, .body = body}));
  if (answer.status == 404) return NotOffered(options_.url);
  if (!answer.ok()) return ErrorOf(answer);
  NL_ASSIGN(recording_id_, TextIn(answer, "live_id"));
  return {};
}

Status CaptureSender::OpenUpload(const std::string& name, File& file) {
  NL_ASSIGN(const HttpAnswer answer, Ask({.method = "POST",
                                          .path = "/api/v1/uploads?name=" + PercentEncoded(name),
                                          .headers = {{"Upload-Defer-Length", "1"}}}));
  if (!answer.ok()) return ErrorOf(answer);
  file = File();
  NL_ASSIGN(file.upload_id, TextIn(answer, "upload_id"));
  return {};
}

Status CaptureSender::SendFile(const std::string& name, File& file, bool whole) {
  const std::string path = directory_ + "/" + name;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return FileError("read", path);
  if (file.upload_id.empty()) NL_TRY(OpenUpload(name, file));
  // A writer that ran out of disk cuts its file back to the last whole chunk: only those are sent before the
  // end.
  const int64_t end = whole ? info.st_size : SealedEnd(fd.get(), file.sent, info.st_size);
  while (file.sent < end || (whole && !file.ended)) {
    NL_TRY(SendPiece(path, file, std::min(end, file.sent + kPieceBytes),
                     whole && file.sent + kPieceBytes >= end));
    if (file.upload_id.empty()) NL_TRY(OpenUpload(name, file));
  }
  return {};
}

Status CaptureSender::SendPiece(const std::string& path, File& file, int64_t end, bool is_last) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return FileError("read", path);
  std::string bytes(static_cast<size_t>(std::max<int64_t>(end - file.sent, 0)), '\0');
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n =
        pread(fd.get(), bytes.data() + got, bytes.size() - got, file.sent + static_cast<int64_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FileError("read", path);
    got += static_cast<size_t>(n);
  }
  HttpRequest request{.method = "PATCH",
                      .path = "/api/v1/uploads/" + file.upload_id,
                      .headers = {{"Content-Type", "application/offset+octet-stream"},
                                  {"Upload-Offset", std::to_string(file.sent)}},
                      .body = bytes};
  if (is_last) request.headers.emplace_back("Upload-Length", std::to_string(end));
  NL_ASSIGN(const HttpAnswer answer, Ask(request));
  if (answer.status == 404) {  // the server forgot it: from the start
    file = File();
    return {};
  }
  const std::optional<int64_t> now = NumberIn(answer.Header("upload-offset"));
  if (answer.ok() && now) {
    bytes_ += *now - file.sent;
    file.sent = *now;
    file.ended = is_last;
    return {};
  }
  // Pieces that came before a connection broke are kept: continue after them.
  const bool elsewhere = answer.status == 409 && now && *now != file.sent;
  if (!elsewhere) return ErrorOf(answer);
  file.sent = *now;
  if (*now > end) file = File();  // not of this file
  return {};
}

Status CaptureSender::Announce(bool whole) {
  Json body;
  {
    const std::lock_guard lock(mutex_);
    body = numbers_;
  }
  body["state"] = whole ? "importing" : "recording";
  body["uploads"] = Json::array();
  for (const auto& [name, file] : files_) body["uploads"].push_back(file.upload_id);
  const std::string text = DumpJson(body);
  NL_ASSIGN(const HttpAnswer answer, Ask({.method = "PUT",
                                          .path = "/api/v1/recordings/" + recording_id_,
                                          .headers = {kJsonType},
                                          .body = text}));
  if (answer.ok()) return {};
  if (answer.status != 404) return ErrorOf(answer);
  // The server was started again, or lost an upload: the next round makes what is missing.
  recording_id_.clear();
  for (auto& [name, file] : files_) {
    NL_ASSIGN(const HttpAnswer found, Ask({.method = "HEAD", .path = "/api/v1/uploads/" + file.upload_id}));
    if (found.status == 404) file = File();
  }
  return IoError("the server does not know the recording any more", 0);
}

Result<SentCapture> CaptureSender::Import(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string query;
  for (const auto& [name, file] : files_)
    query += fmt::format("{}upload={}", query.empty() ? "?" : "&", file.upload_id);
  const std::filesystem::path folder(directory_);
  query +=
      "&name=" + PercentEncoded((folder.has_filename() ? folder : folder.parent_path()).filename().string());
  for (const auto& [name, value] : fields) query += fmt::format("&{}={}", name, PercentEncoded(value));
  NL_ASSIGN(const HttpAnswer answer,
            Ask({.method = "POST", .path = "/api/v1/runs" + query, .patience = kImportPatience}));
  if (answer.status == 404) {
    for (auto& [name, file] : files_) file = File();
    return IoError("the server lost what was sent", 0);
  }
  if (!answer.ok()) return ErrorOf(answer);
  NL_ASSIGN(const Json reply, ParseJson(answer.body));
  const auto runs = reply.find("runs");
  if (runs == reply.end() || !runs->is_array() || runs->empty() || !(*runs)[0].contains("run_id"))
    return InvalidInput("the capture contains no run");
  SentCapture out;
  out.run_id = (*runs)[0].value("run_id", "");
  out.duplicate = (*runs)[0].value("duplicate", false);
  return out;
}

Result<SentCapture> CaptureSender::Finish(const std::string& directory,
                                          const std::vector<std::pair<std::string, std::string>>& fields) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  directory_ = directory;
  if (started_at_ns_ == 0) started_at_ns_ = UnixNowNs();
  if (command_.empty()) command_ = {"(sent from " + directory + ")"};
  auto last_answer = steady_clock::now();
  for (;;) {
    const int64_t before = bytes_;
    const Status sent = SendAll(true);
    CountOutage(sent);
    if (sent.ok() && files_.empty()) return InvalidInput("the capture has no files");
    Result<SentCapture> run = sent.ok() ? Import(fields) : Result<SentCapture>(sent.error());
    if (run.ok()) {
      static_cast<void>(client_.Send({.method = "DELETE", .path = "/api/v1/recordings/" + recording_id_}));
      run->bytes = bytes_;
      run->outages = outages_;
      return run;
    }
    // What the server refuses it refuses again; what did not reach it may, later.
    const ErrorCode code = run.error().code;
    if (code != ErrorCode::kIo && code != ErrorCode::kLimit) return run;
    if (bytes_ > before) last_answer = steady_clock::now();
    if (steady_clock::now() - last_answer >= options_.patience) return run;
    if (options_.cancelled != nullptr && *options_.cancelled) return Cancelled();
    std::this_thread::sleep_for(std::min(kRetryEvery, options_.interval));
  }
}

}  // namespace nl::remote
