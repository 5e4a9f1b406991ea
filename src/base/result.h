// SPDX-License-Identifier: Apache-2.0
#pragma once
// Result<T> and Error: how every fallible operation of NeuroLens reports failure.
// An Error's code is chosen by what the caller can do about it; one table
// (ExitStatus) maps codes to process exit status, and the faces map the same
// codes to HTTP and MCP. No exceptions cross our own functions.
// Thread rule: values, no shared state.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nl {

enum class ErrorCode {
  kInvalidInput,  // the user's file, flag or query is wrong
  kUnsupported,   // understood, but not something this build or machine can do
  kNotFound,      // the named run, file or table does not exist
  kForbidden,     // the caller may not name or change this; an administrator may allow it
  kIo,            // the operating system refused: permission, full disk, broken pipe
  kLimit,         // a stated limit (rows, time, memory) was reached
  kCancelled,     // the user or a signal stopped the work
  kInternal,      // our own bug
};

// Stable name of a code, as it appears in --json error replies.
std::string_view ErrorCodeName(ErrorCode code);

// Process exit status for a code: 2 bad usage or input, 3 I/O, 4 internal.
int ExitStatus(ErrorCode code);

struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string file;          // the input at fault, if one is
  int64_t byte_offset = -1;  // where in that input; -1 when unknown
  std::string hint;          // what the user can do, one sentence

  // "file:offset: message (hint)" on one line.
  std::string ToString() const;

  Error&& With(std::string_view outer) &&;  // prefixes the message with context
  Error&& At(std::string_view path, int64_t offset = -1) &&;
  Error&& Hint(std::string_view text) &&;
};

Error InvalidInput(std::string message);
Error Unsupported(std::string message);
Error NotFound(std::string message);
Error Forbidden(std::string message);
Error Limit(std::string message);
Error Cancelled();
Error Internal(std::string message);
// Appends the text of `errno_value` (default: the current errno).
Error IoError(std::string message, int errno_value = -1);

// An error on its way up: a pointer, so that a function that can fail carries little code for it. Moved
// from, it is still an error.
class ErrorBox {
 public:
  ErrorBox() = default;  // none
  explicit ErrorBox(Error&& error);
  ErrorBox(const ErrorBox& other);
  ErrorBox(ErrorBox&& other) noexcept
      : error_(std::exchange(other.error_, other.error_ == nullptr ? nullptr : &moved_)) {}
  ErrorBox& operator=(ErrorBox other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~ErrorBox() {
    if (error_ != nullptr) Free();
  }
  bool empty() const { return error_ == nullptr; }
  Error& operator*() const { return *error_; }
  operator Error() && { return std::move(*error_); }  // NOLINT: implicit, for functions that return an Error

 private:
  void Free() noexcept;

  static Error moved_;
  Error* error_ = nullptr;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::in_place, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error&& error) : error_(std::move(error)) {}           // NOLINT: implicit on purpose
  Result(const Error& error) : error_(Error(error)) {}          // NOLINT: implicit on purpose
  Result(ErrorBox&& error) : error_(std::move(error)) {}        // NOLINT: implicit on purpose

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }
  ErrorBox&& failure() && { return std::move(error_); }

 private:
  std::optional<T> value_;
  ErrorBox error_;  // empty where there is a value
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error&& error) : error_(std::move(error)) {}     // NOLINT: implicit on purpose
  Result(const Error& error) : error_(Error(error)) {}    // NOLINT: implicit on purpose
  Result(ErrorBox&& error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return error_.empty(); }
  explicit operator bool() const { return ok(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }
  ErrorBox&& failure() && { return std::move(error_); }

 private:
  ErrorBox error_;
};

using Status = Result<void>;

}  // namespace nl

// Leaves the current function with the error of `expr` (a Result or Status).
#define NL_TRY(expr)                                                    \
  do {                                                                  \
    auto nl_try_result = (expr);                                        \
    if (!nl_try_result.ok()) return std::move(nl_try_result).failure(); \
  } while (0)

#define NL_CONCAT_INNER(a, b) a##b
#define NL_CONCAT(a, b) NL_CONCAT_INNER(a, b)
// NL_ASSIGN(auto x, F()): x = value of F(), or leaves with its error.
#define NL_ASSIGN(decl, expr) NL_ASSIGN_IMPL(NL_CONCAT(nl_result_, __LINE__), decl, expr)
#define NL_ASSIGN_IMPL(tmp, decl, expr)           \
  auto tmp = (expr);                              \
  if (!tmp.ok()) return std::move(tmp).failure(); \
  decl = *std::move(tmp)
