// SPDX-License-Identifier: Apache-2.0
// The reader of multipart bodies: whatever comes, and however it is cut into pieces, it gives the same parts
// or the same error, and never more content than came.

#include <cstdio>
#include <cstdlib>

#include "serve/uploads/multipart.h"

namespace {

using namespace nl::uploads;

// Parts and error as one text.
std::string Read(const std::string& boundary, std::string_view body, size_t piece) {
  std::string out;
  size_t content = 0;
  PartSink sink;
  sink.begin = [&](const PartHead& head) -> nl::Status {
    out += "<" + head.name + "|" + head.filename + ">";
    return {};
  };
  sink.data = [&](std::string_view bytes) -> nl::Status {
    out += bytes;
    content += bytes.size();
    return {};
  };
  sink.end = [&]() -> nl::Status {
    out += "</>";
    return {};
  };
  MultipartReader reader(boundary, sink);
  nl::Status status;
  for (size_t at = 0; at < body.size() && status.ok(); at += piece)
    status = reader.Feed(body.substr(at, piece));
  if (status.ok()) status = reader.Finish();
  if (content > body.size()) std::abort();
  if (status.ok()) return out;
  // Content before an error may be cut elsewhere; the error may not differ.
  return status.error().message;
}

}  // namespace

// The first line is the Content-Type, the rest the body.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t line = all.find('\n');
  const nl::Result<std::string> boundary = MultipartBoundary(all.substr(0, line));
  if (!boundary.ok() || line == std::string_view::npos) return 0;
  const std::string used = boundary->empty() ? "b" : *boundary;
  const std::string_view body = all.substr(line + 1);
  const std::string whole = Read(used, body, body.size() + 1);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{64}}) {
    if (Read(used, body, piece) == whole) continue;
    std::fprintf(stderr, "pieces of %zu bytes give another result\n", piece);
    std::abort();
  }
  return 0;
}
