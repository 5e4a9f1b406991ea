// SPDX-License-Identifier: Apache-2.0
#pragma once
// UTF-8 as the standard defines it: no overlong forms, no surrogates.
// Thread rule: pure functions.

#include <string>
#include <string_view>

namespace nl {

bool IsUtf8(std::string_view text);
// Each byte that is not a part of a valid sequence becomes U+FFFD.
std::string ValidUtf8(std::string_view text);

}  // namespace nl
