// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which names a rule may use, so that a misspelt one is refused when its file is read.
// Thread rule: pure function.

#include "analyze/rules/rule.h"

namespace nl {

// Whether `rule` may use `name` (a parameter, a feature of its scope, a short name) in an
// expression, or also a text when `text_too`; else `problem` says why, at `column`.
bool CheckRuleName(const std::string& name, size_t column, const Rule& rule, bool text_too,
                   TextProblem& problem);

}  // namespace nl
