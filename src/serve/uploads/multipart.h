// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multipart: a strict reader of multipart/form-data (RFC 7578) that takes the body in pieces of any size and
// hands the content of parts on as it comes, so that memory does not grow with the body. Strict means: no
// text before the first boundary, a Content-Disposition with a name in every part, nothing nested, no
// transfer encodings. Browsers, curl and the common libraries write that. Thread rule: one thread.

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nl::uploads {

// One part, when its header is read.
struct PartHead {
  std::string name;      // of the field
  std::string filename;  // as sent; meaningful when is_file
  bool is_file = false;
};

// What becomes of the parts. An error ends the reading.
struct PartSink {
  std::function<Status(const PartHead& head)> begin;
  std::function<Status(std::string_view bytes)> data;
  std::function<Status()> end;
};

// The boundary of a Content-Type; empty when it is of another type. InvalidInput without a right boundary.
Result<std::string> MultipartBoundary(std::string_view content_type);

class MultipartReader {
 public:
  static constexpr size_t kMostHeaderBytes = 8 << 10;
  static constexpr int kMostParts = 1000;

  MultipartReader(const std::string& boundary, PartSink sink);
  Status Feed(std::string_view bytes);
  // After the last byte: InvalidInput when the end is missing.
  Status Finish() const;

 private:
  enum class State { kFirstLine, kAfterBoundary, kHeaders, kContent, kEnd };
  // True: go on with what is in the buffer.
  Result<bool> Step();
  Result<bool> FirstLine();
  Result<bool> AfterBoundary();
  Result<bool> Headers();
  Result<bool> Content();
  Error Broken(std::string message) const;

  const std::string delimiter_;  // CR LF, two dashes, boundary
  const PartSink sink_;
  State state_ = State::kFirstLine;
  std::string buffer_;
  int64_t consumed_ = 0;  // bytes of the body before the buffer
  int parts_ = 0;
};

}  // namespace nl::uploads
