// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

namespace nl {

Result<Json> ParseJson(std::string_view text) {
  // nlohmann reports syntax errors only by exception: wrapped here, and only here.
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::parse_error& e) {
    Error error = InvalidInput(std::string("not valid JSON: ") + e.what());
    error.byte_offset = static_cast<int64_t>(e.byte);
    return error;
  } catch (const nlohmann::json::exception& e) {
    return InvalidInput(std::string("not valid JSON: ") + e.what());
  }
}

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nl
