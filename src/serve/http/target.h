// SPDX-License-Identifier: Apache-2.0
#pragma once
// The target of a request taken apart: "/api/v1/runs/a%20b/idle?limit=5" is the segments api, v1, runs, "a
// b", idle and the field limit=5. Thread rule: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/http/message.h"

namespace nl::http {

struct Target {
  std::vector<std::string> segments;  // decoded one by one: a %2F stays inside its segment
  Fields query;                       // decoded, in the order given
};

// InvalidInput for what is not a path, a bad escape, a control character, or text that is not UTF-8.
Result<Target> ParseTarget(std::string_view target);

}  // namespace nl::http
