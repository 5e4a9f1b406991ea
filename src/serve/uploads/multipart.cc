// SPDX-License-Identifier: Apache-2.0
#include "serve/uploads/multipart.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/terminal.h"

namespace nl::uploads {

namespace {

constexpr std::string_view kMultipart = "multipart/form-data";
constexpr size_t kMostBoundary = 70;  // RFC 2046
constexpr std::string_view kLineEnd = "\r\n", kHeadersEnd = "\r\n\r\n";

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes `; key=value` or `; key="value"` off the front of `rest`. False at the end, or when it is neither.
bool TakeParameter(std::string_view& rest, std::string& key, std::string& value) {
  rest = Trim(rest);
  if (rest.empty() || rest.front() != ';') return false;
  rest = Trim(rest.substr(1));
  const size_t equals = rest.find('=');
  if (equals == std::string_view::npos) return false;
  key = ToLower(Trim(rest.substr(0, equals)));
  rest.remove_prefix(equals + 1);
  value.clear();
  if (rest.empty() || rest.front() != '"') {
    const size_t end = std::min(rest.find(';'), rest.size());
    value = Trim(rest.substr(0, end));
    rest.remove_prefix(end);
    return true;
  }
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return true;
    }
    // A path of Windows has single backslashes; before anything but a quote or itself they are not escapes.
    const bool escape = rest[i] == '\\' && i + 1 < rest.size() && (rest[i + 1] == '"' || rest[i + 1] == '\\');
    if (escape) ++i;
    value += rest[i];
  }
  return false;
}

bool IsBoundaryChar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("'()+_,-./:=? ").find(c) != std::string_view::npos;
}

// The value of Content-Disposition; false when it does not name a field.
bool ReadDisposition(std::string_view value, PartHead& head) {
  const size_t end = std::min(value.find(';'), value.size());
  if (ToLower(Trim(value.substr(0, end))) != "form-data") return false;
  value.remove_prefix(end);
  bool named = false;
  for (std::string key, text; TakeParameter(value, key, text);) {
    if (key == "name") {
      if (named) return false;
      named = true;
      head.name = text;
    } else if (key == "filename") {
      if (head.is_file) return false;
      head.is_file = true;
      head.filename = text;
    }
  }
  return named && Trim(value).empty();
}

}  // namespace

Result<std::string> MultipartBoundary(std::string_view content_type) {
  const size_t end = std::min(content_type.find(';'), content_type.size());
  if (ToLower(Trim(content_type.substr(0, end))) != kMultipart) return std::string();
  std::string_view rest = content_type.substr(end);
  std::string boundary;
  for (std::string key, value; TakeParameter(rest, key, value);) {
    if (key == "boundary" && boundary.empty()) boundary = value;
  }
  if (boundary.empty() || boundary.size() > kMostBoundary || boundary.back() == ' ' ||
      !std::all_of(boundary.begin(), boundary.end(), IsBoundaryChar))
    return InvalidInput("the Content-Type has no boundary that separates the parts")
        .Hint("multipart/form-data needs a boundary of 1 to 70 characters");
  return boundary;
}

MultipartReader::MultipartReader(const std::string& boundary, PartSink sink)
    : delimiter_("\r\n--" + boundary), sink_(std::move(sink)) {}

Error MultipartReader::Broken(std::string message) const {
  Error error = InvalidInput("the multipart body is broken: " + std::move(message));
  error.byte_offset = consumed_;
  return error;
}

Status MultipartReader::Feed(std::string_view bytes) {
  buffer_.append(bytes);
  for (;;) {
    NL_ASSIGN(const bool more, Step());
    if (!more) return {};
  }
}

Result<bool> MultipartReader::Step() {
  switch (state_) {
    case State::kFirstLine: return FirstLine();
    case State::kAfterBoundary: return AfterBoundary();
    case State::kHeaders: return Headers();
    case State::kContent: return Content();
    case State::kEnd: break;
  }
  // Clients may end the last line; anything more is not ours.
  if (buffer_.find_first_not_of("\r\n") != std::string::npos) return Broken("there is text after its end");
  consumed_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
  return false;
}

Result<bool> MultipartReader::FirstLine() {
  const std::string_view first = std::string_view(delimiter_).substr(kLineEnd.size());
  const size_t known = std::min(first.size(), buffer_.size());
  if (buffer_.compare(0, known, first, 0, known) != 0) return Broken("it does not begin with its boundary");
  if (buffer_.size() < first.size()) return false;
  buffer_.erase(0, first.size());
  consumed_ += static_cast<int64_t>(first.size());
  state_ = State::kAfterBoundary;
  return true;
}

Result<bool> MultipartReader::AfterBoundary() {
  if (buffer_.size() < 2) return false;
  const bool next = buffer_.compare(0, 2, kLineEnd) == 0, last = buffer_.compare(0, 2, "--") == 0;
  if (!next && !last) return Broken("there is text after a boundary");
  buffer_.erase(0, 2);
  consumed_ += 2;
  if (last && parts_ == 0) return Broken("it has no parts");
  if (next && ++parts_ > kMostParts) return Broken(fmt::format("it has more than {} parts", kMostParts));
  state_ = last ? State::kEnd : State::kHeaders;
  return true;
}

Result<bool> MultipartReader::Headers() {
  if (buffer_.starts_with(kLineEnd)) return Broken("a part has no Content-Disposition");
  const size_t end = buffer_.find(kHeadersEnd);
  if (std::min(end, buffer_.size()) > kMostHeaderBytes)
    return Broken(fmt::format("the header of a part is larger than {} bytes", kMostHeaderBytes));
  if (end == std::string::npos) return false;
  PartHead head;
  bool disposed = false;
  for (std::string_view rest(buffer_.data(), end + kLineEnd.size()); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find(kLineEnd));
    rest.remove_prefix(line.size() + kLineEnd.size());
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || line.front() == ' ' || line.front() == '\t')
      return Broken("a line of the header of a part is not NAME: VALUE");
    const std::string name = ToLower(line.substr(0, colon));
    const std::string_view value = Trim(line.substr(colon + 1));
    if (name == "content-disposition") {
      if (disposed || !ReadDisposition(value, head))
        return Broken("a part has no proper Content-Disposition");
      disposed = true;
    } else if (name == "content-type" && ToLower(value).starts_with("multipart/")) {
      return Broken("a part is multipart itself");
    } else if (const std::string coding = ToLower(value); name == "content-transfer-encoding" &&
                                                          coding != "binary" && coding != "8bit" &&
                                                          coding != "7bit") {
      return Broken(fmt::format("the transfer encoding {} is not known", PrintableName(value, 40)));
    }
  }
  if (!disposed) return Broken("a part has no Content-Disposition");
  NL_TRY(sink_.begin(head));
  buffer_.erase(0, end + kHeadersEnd.size());
  consumed_ += static_cast<int64_t>(end + kHeadersEnd.size());
  state_ = State::kContent;
  return true;
}

Result<bool> MultipartReader::Content() {
  const size_t found = buffer_.find(delimiter_);
  const bool last = found != std::string::npos;
  // Without the delimiter, what may be its beginning stays.
  const size_t keep = delimiter_.size() - 1;
  const size_t upto = last ? found : buffer_.size() - std::min(buffer_.size(), keep);
  if (upto > 0) {
    NL_TRY(sink_.data(std::string_view(buffer_).substr(0, upto)));
  }
  const size_t used = last ? found + delimiter_.size() : upto;
  buffer_.erase(0, used);
  consumed_ += static_cast<int64_t>(used);
  if (!last) return false;
  NL_TRY(sink_.end());
  state_ = State::kAfterBoundary;
  return true;
}

Status MultipartReader::Finish() const {
  if (state_ == State::kEnd) return {};
  return Broken("it ends before its last boundary");
}

}  // namespace nl::uploads
