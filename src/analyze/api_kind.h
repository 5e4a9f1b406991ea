// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a runtime or driver API call is for, told by its name (CUDA and HIP spellings).
// Thread rule: pure function.

#include <string_view>

namespace nl {

enum class ApiKind : unsigned char { kLaunch, kGraphLaunch, kSync, kCopy, kAlloc, kOther };
inline constexpr size_t kApiKinds = 6;

ApiKind ClassifyApi(std::string_view name);
// "launch", "graph launch", "sync", "copy", "alloc", "other".
std::string_view ApiKindName(ApiKind kind);
// Copies that return only when they are done, whatever the memory.
bool IsBlockingCopy(std::string_view name);

}  // namespace nl
