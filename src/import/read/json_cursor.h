// SPDX-License-Identifier: Apache-2.0
#pragma once
// JsonCursor: walks a JSON file of any size with a window of bounded memory, in any order:
// enter objects and arrays, skip what is not wanted, come back to a place by its offset.
// For formats that are a tree of few big arrays whose order in the file is not fixed.
// Thread rule: one thread. Ownership: keeps the file open; what it gives out is valid until
// the next call.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_ops.h"
#include "import/adapter.h"
#include "import/trace_json/json_text.h"

namespace nl {

class JsonCursor {
 public:
  static constexpr size_t kMaxValueBytes = 64 << 20;  // of one value that must be in memory at once

  // `path` is what is opened, `file` what messages and progress are about.
  static Result<JsonCursor> Open(const std::string& path, const ImportFile& file);

  // First character of what comes next, spaces left out; 0 at the end of the file.
  char Peek();
  // p at '{' or '['; afterwards NextKey or NextElement.
  Status Enter(char bracket);
  // False after the last one, with the bracket taken.
  Result<bool> NextKey(std::string& key);
  Result<bool> NextElement();
  // Leaves one value out, however long.
  Status Skip();
  // The text of one value in one piece, and after it.
  Result<std::string_view> Value();
  // The value as a tree. Bytes that are no UTF-8 are replaced, and the value is counted.
  Result<Json> Parsed();
  int64_t repaired_values() const { return repaired_values_; }

  // For readers of their own: the window from here on, padded as json_text.h wants it.
  const char* begin() const { return bytes_.data() + at_; }
  const char* end() const { return bytes_.data() + size_; }
  size_t window_bytes() const { return size_ - at_; }
  // A longer window; false at the end of the file. Pointers into it change.
  bool More();
  void Advance(const char* to) { at_ = static_cast<size_t>(to - bytes_.data()); }

  int64_t offset() const { return base_ + static_cast<int64_t>(at_); }
  void Seek(int64_t offset);
  // The text ended where something else was expected; reading failed.
  bool truncated() const { return truncated_; }
  // What is wrong here, in one line: cut or no JSON.
  Error Broken(std::string_view expected);

 private:
  explicit JsonCursor(const ImportFile& file) : file_(&file) {}
  Status SkipNested();
  Status SkipString();

  const ImportFile* file_;
  UniqueFd fd_;
  std::vector<char> bytes_;   // with padding after size_
  size_t at_ = 0, size_ = 0;  // of bytes_
  int64_t base_ = 0;          // offset of bytes_[0] in the file
  bool ended_ = false, truncated_ = false;
  int64_t repaired_values_ = 0;
  std::optional<Error> failure_;  // of reading
};

}  // namespace nl
