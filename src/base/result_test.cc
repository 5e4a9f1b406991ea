// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace nl {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidInput("odd");
  return n / 2;
}
Result<int> Quarter(int n) {
  NL_ASSIGN(const int half, Half(n));
  NL_ASSIGN(const int quarter, Half(half));
  return quarter;
}
Status Check(int n) {
  NL_TRY(Quarter(n));
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_EQ(*Half(4), 2);
  EXPECT_FALSE(Half(3).ok());
  EXPECT_EQ(Half(3).error().code, ErrorCode::kInvalidInput);
}

TEST(Result, TryAndAssignLeaveWithTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).error().message, "odd");
  EXPECT_TRUE(Check(8).ok());
  EXPECT_FALSE(Check(7).ok());
}

TEST(Result, MovesWhatCannotBeCopied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(5); };
  std::unique_ptr<int> p = *make();
  EXPECT_EQ(*p, 5);
}

TEST(Error, TextNamesThePlaceTheContextAndTheHint) {
  const Error e = InvalidInput("is broken").With("reading events").At("a.json", 12).Hint("record it again");
  EXPECT_EQ(e.ToString(), "a.json: byte 12: reading events: is broken (record it again)");
  EXPECT_EQ(InvalidInput("x").At("f").ToString(), "f: x");
  EXPECT_EQ(Internal("x").ToString(), "x");
}

TEST(Error, IoErrorSaysWhatTheSystemSaid) {
  EXPECT_EQ(IoError("cannot write", ENOSPC).ToString(), "cannot write: No space left on device");
  errno = EACCES;
  EXPECT_EQ(IoError("cannot open").ToString(), "cannot open: Permission denied");
}

TEST(Error, EveryCodeHasItsNameAndExitStatus) {
  struct Row {
    ErrorCode code;
    const char* name;
    int status;
  };
  for (const Row& row :
       {Row{ErrorCode::kInvalidInput, "invalid_input", 2}, Row{ErrorCode::kUnsupported, "unsupported", 2},
        Row{ErrorCode::kForbidden, "forbidden", 2}, Row{ErrorCode::kNotFound, "not_found", 2},
        Row{ErrorCode::kIo, "io", 3}, Row{ErrorCode::kLimit, "limit", 2},
        Row{ErrorCode::kCancelled, "cancelled", 130}, Row{ErrorCode::kInternal, "internal", 4}}) {
    EXPECT_EQ(ErrorCodeName(row.code), row.name);
    EXPECT_EQ(ExitStatus(row.code), row.status) << row.name;
  }
}

}  // namespace
}  // namespace nl
