// SPDX-License-Identifier: Apache-2.0
#pragma once
// Points in time as text: RFC 3339 for documents, and what a user may type after
// --since. Times are int64 nanoseconds since 1970-01-01T00:00:00Z, which spans the
// years 1677 to 2262.
// Thread rule: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nl {

int64_t UnixNowNs();

// "2025-11-15T01:32:00Z"; 3, 6 or 9 digits of fraction when there is one.
std::string Rfc3339Utc(int64_t unix_ns);

// Accepts RFC 3339 ("2025-11-15T01:32:00.5+02:00"), a UTC date ("2025-11-15", its
// midnight), or an age before `now_ns`: a whole number with s, m, h, d or w ("7d").
Result<int64_t> ParseTimePoint(std::string_view text, int64_t now_ns);
Result<int64_t> ParseTimePoint(std::string_view text);

}  // namespace nl
