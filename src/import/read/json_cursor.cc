// SPDX-License-Identifier: Apache-2.0
#include "import/read/json_cursor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/utf8.h"

namespace nl {

using trace_json::IsSpace;
using trace_json::JsonValue;
using trace_json::kPadding;
using trace_json::Scan;

Result<JsonCursor> JsonCursor::Open(const std::string& path, const ImportFile& file) {
  JsonCursor cursor(file);
  cursor.fd_ = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!cursor.fd_.valid()) return FileError("open", path);
  cursor.bytes_.resize(kPadding);
  if (cursor.Peek() == '\xef') {  // a byte order mark
    while (cursor.window_bytes() < 3 && cursor.More()) {
    }
    if (std::string_view(cursor.begin(), cursor.window_bytes()).starts_with("\xef\xbb\xbf")) cursor.at_ += 3;
  }
  if (cursor.failure_) return *cursor.failure_;
  return cursor;
}

bool JsonCursor::More() {
  if (ended_ || failure_) return false;
  if (file_->options.Cancelled()) {
    failure_ = Cancelled();
    return false;
  }
  if (at_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + at_, size_ - at_);
    base_ += static_cast<int64_t>(at_);
    size_ -= at_;
    at_ = 0;
  }
  const size_t want = std::max<size_t>(file_->options.chunk_bytes, 1);
  bytes_.resize(std::max(bytes_.size(), size_ + want + kPadding));
  ssize_t n = 0;
  do {
    n = pread(fd_.get(), bytes_.data() + size_, want, base_ + static_cast<int64_t>(size_));
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    failure_ = FileError("read", file_->path);
    n = 0;
  }
  size_ += static_cast<size_t>(n);
  std::memset(bytes_.data() + size_, 0, kPadding);
  ended_ = n == 0;
  if (file_->options.progress)
    file_->options.progress(base_ + static_cast<int64_t>(size_), file_->source.bytes_total());
  return n > 0;
}

void JsonCursor::Seek(int64_t offset) {
  if (offset >= base_ && offset - base_ <= static_cast<int64_t>(size_)) {
    at_ = static_cast<size_t>(offset - base_);
    return;
  }
  base_ = offset;
  at_ = size_ = 0;
  ended_ = false;
}

Error JsonCursor::Broken(std::string_view expected) {
  if (failure_) return *failure_;
  if (at_ >= size_ && !More()) {
    if (failure_) return *failure_;
    truncated_ = true;
    return InvalidInput(fmt::format("the file is truncated: it ends where {} should be", expected))
        .At(file_->path, offset())
        .Hint("import --allow-truncated keeps the events before the cut");
  }
  std::string found;
  for (const char c : std::string_view(begin(), std::min<size_t>(window_bytes(), 16)))
    found += c >= ' ' && c < 0x7f ? c : '.';
  return InvalidInput(fmt::format("broken JSON: expected {}, found '{}'", expected, found))
      .At(file_->path, offset());
}

char JsonCursor::Peek() {
  for (;;) {
    while (at_ < size_ && IsSpace(bytes_[at_])) ++at_;
    if (at_ < size_) return bytes_[at_];
    if (!More()) return 0;
  }
}

Status JsonCursor::Enter(char bracket) {
  if (Peek() != bracket) return Broken(bracket == '{' ? "an object" : "an array");
  ++at_;
  return {};
}

Result<bool> JsonCursor::NextKey(std::string& key) {
  while (Peek() == ',') ++at_;
  const char c = Peek();
  if (c == '}') {
    ++at_;
    return false;
  }
  if (c != '"') return Broken("a key");
  NL_ASSIGN(const std::string_view text, Value());
  bool bad_utf8 = false;
  key = trace_json::Unescape(text.substr(1, text.size() - 2), bad_utf8);
  if (Peek() != ':') return Broken("a colon");
  ++at_;
  return true;
}

Result<bool> JsonCursor::NextElement() {
  while (Peek() == ',') ++at_;
  const char c = Peek();
  if (c == 0) return Broken("the end of an array");
  if (c != ']') return true;
  ++at_;
  return false;
}

Status JsonCursor::SkipString() {
  ++at_;
  for (;;) {
    const char* p = trace_json::FindQuoteOrBackslash(begin(), end());
    Advance(std::min(p, end()));
    if (at_ >= size_) {
      if (!More()) return Broken("the end of a text");
      continue;
    }
    const bool quote = bytes_[at_] == '"';
    if (!quote && at_ + 1 >= size_ && !More()) {
      at_ = size_;
      return Broken("the end of a text");
    }
    at_ += quote ? 1 : 2;
    if (quote) return {};
  }
}

Status JsonCursor::SkipNested() {
  int64_t depth = 0;
  for (;;) {
    if (at_ >= size_ && !More()) return Broken("the end of an object or array");
    const char c = bytes_[at_];
    if (c == '"') {
      NL_TRY(SkipString());
      continue;
    }
    ++at_;
    if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      if (--depth == 0) return {};
    }
  }
}

Status JsonCursor::Skip() {
  const char c = Peek();
  if (c == '"') return SkipString();
  if (c == '{' || c == '[') return SkipNested();
  NL_ASSIGN(const std::string_view word, Value());
  (void)word;
  return {};
}

Result<std::string_view> JsonCursor::Value() {
  if (Peek() == 0) return Broken("a value");
  for (;;) {
    const char* p = begin();
    JsonValue value;
    const Scan scan = trace_json::ScanValue(p, end(), value);
    if (scan == Scan::kNeedMore && window_bytes() < kMaxValueBytes && More()) continue;
    if (scan == Scan::kOk) {
      Advance(p);
      return value.json();
    }
    if (scan == Scan::kNeedMore && ended_) at_ = size_;
    return Broken("a value");
  }
}

Result<Json> JsonCursor::Parsed() {
  const int64_t place = offset();
  NL_ASSIGN(const std::string_view text, Value());
  const bool good = IsUtf8(text);
  if (!good) ++repaired_values_;
  Result<Json> json = good ? ParseJson(text) : ParseJson(ValidUtf8(text));
  if (!json.ok()) return InvalidInput("broken JSON").At(file_->path, place);
  return json;
}

}  // namespace nl
