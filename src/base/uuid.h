// SPDX-License-Identifier: Apache-2.0
#pragma once
// UUID version 7 (RFC 9562): 48 bits of Unix milliseconds, then random bits, so
// ids sort by creation. Ids of one process are strictly increasing, also within
// one millisecond and when the wall clock steps back.
// Thread rule: any thread.

#include <string>
#include <string_view>

namespace nl {

// 36 characters, lower-case hex.
std::string NewUuidV7();

// True for the canonical lower-case text of a version 7 UUID.
bool IsUuidV7(std::string_view text);

}  // namespace nl
