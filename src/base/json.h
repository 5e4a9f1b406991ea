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

// Parses `text`; the error carries the byte offset.
Result<Json> ParseJson(std::string_view text);

// Serialises; bytes that are not UTF-8 become U+FFFD instead of failing.
std::string DumpJson(const Json& json, int indent = -1);

}  // namespace nl
