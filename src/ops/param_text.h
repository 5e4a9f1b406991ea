// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters that arrive as text: words of a command line, fields of a query string.
// Thread rule: pure functions.

#include <string>

#include "ops/op.h"

namespace nl {

// One value of the parameter's type. `shown` is what errors call the parameter: "--limit", "parameter
// 'limit'".
Result<Json> ValueFromText(const ParamInfo& param, const std::string& shown, const std::string& text);

}  // namespace nl
