// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kinds of bytes in texts that are ASCII where it matters; unlike <cctype>, no locale and any char will do.
// Thread rule: pure functions.

namespace nl {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace nl
