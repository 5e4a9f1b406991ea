// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times are whole nanoseconds inside and milliseconds in documents and replies.
// Thread rule: pure functions.

#include <cstdint>

namespace nl {

constexpr double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace nl
