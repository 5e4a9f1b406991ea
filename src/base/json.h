// SPDX-License-Identifier: Apache-2.0
#pragma once
// Json: the one document type for small JSON (run documents, requests, replies).
// Key order is kept, so what is written first is read first. Event streams never
// pass through it.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace nl {

using Json = nlohmann::ordered_json;

// What one document may hold. Our documents stay far below; members are found by
// walking them, and text is written by recursion.
inline constexpr size_t kMaxJsonMembers = 100'000;  // of one object
inline constexpr size_t kMaxJsonDepth = 500;

// Parses `text` in linear time; the error carries the byte offset. Beyond the limits
// above it is InvalidInput. The last of equal keys counts.
Result<Json> ParseJson(std::string_view text);

// Serialises; bytes that are not UTF-8 become U+FFFD instead of failing.
std::string DumpJson(const Json& json, int indent = -1);

// What is not known is null; so is a text that says nothing.
inline Json TextOrNull(std::string_view text) { return text.empty() ? Json() : Json(text); }

}  // namespace nl
