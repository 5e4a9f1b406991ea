// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors as problem documents (RFC 9457): the status of HTTP, and the code, message, place and hint of the
// command line. Thread rule: pure functions.

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "serve/http/message.h"

namespace nl::http {

inline constexpr char kProblemType[] = "application/problem+json";

int StatusOf(ErrorCode code);

Response ProblemOf(int status, const Error& error);
inline Response ProblemOf(const Error& error) { return ProblemOf(StatusOf(error.code), error); }
// For clients to come back after a while.
Response BusyProblem(std::string_view message);

Json ProblemSchema();

}  // namespace nl::http
