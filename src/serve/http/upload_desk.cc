// SPDX-License-Identifier: Apache-2.0
#include "serve/http/upload_desk.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <ctime>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/record_json.h"
#include "serve/http/problem.h"
#include "serve/uploads/multipart.h"

namespace nl::http {

namespace {

constexpr char kUploadsPath[] = "/api/v1/uploads/";
constexpr char kPieceType[] = "application/offset+octet-stream";
constexpr size_t kMostFieldBytes = 64 << 10;
constexpr std::string_view kZipStart = "PK\x03\x04";

void AddTusHeaders(const uploads::UploadInfo& info, Response& out) {
  out.headers.emplace_back("Tus-Resumable", "1.0.0");
  out.headers.emplace_back("Upload-Offset", std::to_string(info.offset));
  if (info.has_length()) {
    out.headers.emplace_back("Upload-Length", std::to_string(info.length));
  } else {
    out.headers.emplace_back("Upload-Defer-Length", "1");
  }
  out.headers.emplace_back("Cache-Control", "no-store");
}

Response UploadResponse(int status, const uploads::UploadInfo& info) {
  Response out;
  out.status = status;
  UploadReply reply{info.id, info.name, info.offset, {}};
  if (info.has_length()) reply.length_bytes = info.length;
  if (status != 204) out.body = ToJsonText(reply, 2) + "\n";
  AddTusHeaders(info, out);
  if (status == 201) out.headers.emplace_back("Location", kUploadsPath + info.id);
  return out;
}

// A whole number that is not negative; nothing when it is not one.
std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<std::string> FromBase64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<uint32_t>(digit)) & 0xffffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

// The name in Upload-Metadata: "filename YmFzZS5qc29u,filetype ...".
std::string NameInMetadata(std::string_view metadata) {
  while (!metadata.empty()) {
    const std::string_view pair = metadata.substr(0, metadata.find(','));
    metadata.remove_prefix(std::min(metadata.size(), pair.size() + 1));
    const size_t space = pair.rfind(' ');
    if (space == std::string_view::npos) continue;
    std::string_view key = pair.substr(0, space);
    while (key.starts_with(' ')) key.remove_prefix(1);
    if (key == "filename" || key == "name") return FromBase64(pair.substr(space + 1)).value_or("");
  }
  return "";
}

// The first bytes of a pipe, which stay in it; fewer when it ends before, or the client leaves.
std::string PeekPipe(int fd, size_t bytes, const std::atomic<bool>& cancelled) {
  for (;;) {
    int waiting = 0;
    if (ioctl(fd, FIONREAD, &waiting) != 0) return "";
    pollfd ready{fd, POLLIN, 0};
    const bool ended = poll(&ready, 1, 20) > 0 && (ready.revents & POLLHUP) != 0;
    if (static_cast<size_t>(waiting) < bytes && !ended && !cancelled) {
      if (waiting > 0) usleep(2000);  // readable, and still too little
      continue;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return "";
    const UniqueFd out(ends[0]), in(ends[1]);
    std::string found(bytes, '\0');
    const ssize_t copied = tee(fd, in.get(), bytes, SPLICE_F_NONBLOCK);
    const ssize_t got = copied > 0 ? read(out.get(), found.data(), static_cast<size_t>(copied)) : 0;
    found.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return found;
  }
}

Error BadOffset() {
  return InvalidInput("the header Upload-Offset must be the byte where the piece begins")
      .Hint("ask for the offset with HEAD");
}

}  // namespace

void Describe(Record<UploadReply>& r) {
  r.Name("UploadReply", "A profile that is uploaded in pieces");
  r.Field("upload_id", &UploadReply::upload_id, "Its id, which an import takes as `upload`");
  r.Field("name", &UploadReply::name, "File name");
  r.Field("offset_bytes", &UploadReply::offset_bytes, Unit::kBytes,
          "Bytes received: where the next piece begins");
  r.Field("length_bytes", &UploadReply::length_bytes, Unit::kBytes,
          "Size of the whole file; null: not known yet, as the file still grows");
}

Response UploadDesk::Answer(const Route& route, Call& call) {
  const Request& request = call.request;
  if (route.rest.empty()) return Create(route, request);
  const std::string& id = route.rest[0];
  if (request.method == "PATCH") return Append(id, call);
  if (request.method != "DELETE") return Show(id);
  const Status removed = uploads_.Remove(id);
  if (!removed.ok()) return ProblemOf(removed.error());
  Response out;
  out.status = 204;
  out.headers.emplace_back("Tus-Resumable", "1.0.0");
  return out;
}

Response UploadDesk::Create(const Route& route, const Request& request) {
  std::string name = NameInMetadata(request.Header("upload-metadata"));
  for (const auto& [key, value] : route.query) {
    if (key != "name") return ProblemOf(InvalidInput(fmt::format("unknown parameter '{}'", key)));
    name = value;
  }
  std::optional<int64_t> length = NumberOf(request.Header("upload-length"));
  if (request.Header("upload-length").empty() && request.Header("upload-defer-length") == "1")
    length = uploads::kUnknownLength;  // the file still grows
  if (!length || *length == 0)
    return ProblemOf(InvalidInput("the header Upload-Length must be the size of the file in bytes"));
  if (most_bytes_ > 0 && *length > most_bytes_)
    return ProblemOf(413, Limit(fmt::format("the upload is larger than {} bytes", most_bytes_)));
  const Result<uploads::UploadInfo> made = uploads_.Create(name, *length);
  return made.ok() ? UploadResponse(201, *made) : ProblemOf(made.error());
}

Response UploadDesk::Show(const std::string& id) const {
  const Result<uploads::UploadInfo> info = uploads_.Find(id);
  return info.ok() ? UploadResponse(200, *info) : ProblemOf(info.error());
}

Response UploadDesk::Append(const std::string& id, Call& call) {
  const std::optional<int64_t> offset = NumberOf(call.request.Header("upload-offset"));
  if (!offset) return ProblemOf(BadOffset());
  if (ToLower(call.request.Header("content-type")) != kPieceType)
    return ProblemOf(415, InvalidInput(fmt::format("the Content-Type of a piece must be {}", kPieceType)));
  const std::string_view in_all = call.request.Header("upload-length");
  const std::optional<int64_t> length = NumberOf(in_all);
  if (!in_all.empty() && !length)
    return ProblemOf(InvalidInput("the header Upload-Length must be the size of the file in bytes"));
  const std::optional<int64_t> piece = NumberOf(call.request.Header("content-length"));
  if (most_bytes_ > 0 && piece && *piece > most_bytes_ - *offset)
    return ProblemOf(413, Limit(fmt::format("the upload is larger than {} bytes", most_bytes_)));
  const Result<uploads::UploadInfo> info =
      uploads_.Append(id, *offset, call.upload.get(), call.cancelled, length, most_bytes_);
  call.upload = UniqueFd();
  if (info.ok()) return UploadResponse(204, *info);
  const Result<uploads::UploadInfo> now = uploads_.Find(id);
  const bool conflict = now.ok() && (info.error().code == ErrorCode::kLimit || now->offset != *offset);
  Response out = conflict && info.error().code != ErrorCode::kIo ? ProblemOf(409, info.error())
                                                                 : ProblemOf(info.error());
  if (now.ok()) AddTusHeaders(*now, out);
  return out;
}

Status UploadDesk::ReadForm(const RemoteOp& op, const std::string& boundary, Call& call, Received& out) {
  UniqueFd file;
  std::string field, value, path;
  uploads::PartSink sink;
  sink.begin = [&](const uploads::PartHead& head) -> Status {
    field = head.name;
    value.clear();
    if (!head.is_file) return {};
    NL_ASSIGN(file, out.spool->AddFile(head.filename));
    path = out.spool->files().back();
    return {};
  };
  sink.data = [&](std::string_view bytes) -> Status {
    if (file.valid()) return uploads::WriteFully(file.get(), bytes, path);
    value += bytes;
    if (value.size() > kMostFieldBytes)
      return InvalidInput(fmt::format("the field '{}' is larger than {} bytes", field, kMostFieldBytes));
    return {};
  };
  sink.end = [&]() -> Status {
    if (!file.valid()) return AddField(op, field, value, out.args);
    file = UniqueFd();
    return {};
  };
  uploads::MultipartReader reader(boundary, sink);
  NL_TRY(uploads::ReadPipe(call.upload.get(), call.cancelled,
                           [&](std::string_view bytes) { return reader.Feed(bytes); }));
  NL_TRY(reader.Finish());
  if (out.spool->files().empty())
    return InvalidInput("the form has no file").Hint("send each file as a part with a file name");
  return {};
}

Result<Received> UploadDesk::Receive(const Route& route, Call& call) {
  Received out;
  out.args = route.args;
  if (out.args.contains("upload")) {
    out.upload_ids = out.args["upload"].get<std::vector<std::string>>();
    out.args.erase("upload");
    NL_ASSIGN(out.spool, uploads_.Gather(out.upload_ids, out.args.value("name", std::string())));
    return out;
  }
  NL_ASSIGN(const std::string boundary, uploads::MultipartBoundary(call.request.Header("content-type")));
  if (!boundary.empty()) {
    NL_ASSIGN(out.spool, uploads_.MakeSpool());
    const Status read = ReadForm(*route.op, boundary, call, out);
    if (!read.ok()) return uploads::WithoutFolder(read.error(), out.spool->path());
  } else if (PeekPipe(call.upload.get(), kZipStart.size(), call.cancelled) == kZipStart) {
    // The end of a bundle says what is in it: it must be a file.
    NL_ASSIGN(out.spool, uploads_.MakeSpool());
    NL_ASSIGN(const UniqueFd file, out.spool->AddFile(UploadName(call.request, route.args)));
    NL_TRY(uploads::ReadPipe(call.upload.get(), call.cancelled, [&](std::string_view bytes) {
      return uploads::WriteFully(file.get(), bytes, out.spool->files()[0]);
    }));
  }
  return out;
}

void UploadDesk::Forget(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) static_cast<void>(uploads_.Remove(id));
}

void UploadDesk::Sweep() const { uploads_.Sweep(std::time(nullptr)); }

}  // namespace nl::http
