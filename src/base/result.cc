// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace nl {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput: return "invalid_input";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kForbidden: return "forbidden";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kLimit: return "limit";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kInternal: return "internal";
  }
  return "internal";
}

int ExitStatus(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
    case ErrorCode::kUnsupported:
    case ErrorCode::kNotFound:
    case ErrorCode::kForbidden:
    case ErrorCode::kLimit: return 2;
    case ErrorCode::kIo: return 3;
    case ErrorCode::kCancelled: return 130;
    case ErrorCode::kInternal: return 4;
  }
  return 4;
}

std::string Error::ToString() const {
  std::string out;
  if (!file.empty()) {
    out = byte_offset >= 0 ? fmt::format("{}: byte {}: ", file, byte_offset) : file + ": ";
  }
  out += message;
  if (!hint.empty()) out += fmt::format(" ({})", hint);
  return out;
}

Error&& Error::With(std::string_view outer) && {
  message = fmt::format("{}: {}", outer, message);
  return std::move(*this);
}

Error&& Error::At(std::string_view path, int64_t offset) && {
  file = path;
  byte_offset = offset;
  return std::move(*this);
}

Error&& Error::Hint(std::string_view text) && {
  hint = text;
  return std::move(*this);
}

Error ErrorBox::moved_;

ErrorBox::ErrorBox(Error&& error) : error_(new Error(std::move(error))) {}

ErrorBox::ErrorBox(const ErrorBox& other)
    : error_(other.error_ == nullptr ? nullptr : new Error(*other.error_)) {}

void ErrorBox::Free() noexcept {
  if (error_ != &moved_) delete error_;
}

namespace {
Error Make(ErrorCode code, std::string message) {
  Error e;
  e.code = code;
  e.message = std::move(message);
  return e;
}
}  // namespace

Error InvalidInput(std::string message) { return Make(ErrorCode::kInvalidInput, std::move(message)); }
Error Unsupported(std::string message) { return Make(ErrorCode::kUnsupported, std::move(message)); }
Error NotFound(std::string message) { return Make(ErrorCode::kNotFound, std::move(message)); }
Error Forbidden(std::string message) { return Make(ErrorCode::kForbidden, std::move(message)); }
Error Limit(std::string message) { return Make(ErrorCode::kLimit, std::move(message)); }
Error Cancelled() {
  return Make(ErrorCode::kCancelled, "stopped before it was finished; nothing was stored");
}
Error Internal(std::string message) { return Make(ErrorCode::kInternal, std::move(message)); }

Error IoError(std::string message, int errno_value) {
  const int code = errno_value < 0 ? errno : errno_value;
  return Make(ErrorCode::kIo,
              code != 0 ? fmt::format("{}: {}", message, std::strerror(code)) : std::move(message));
}

}  // namespace nl
