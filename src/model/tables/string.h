// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `string`: every distinct string of the run.

#include "model/table.h"

// clang-format off
#define NL_STRING_COLUMNS(X) \
  X(StringId, value, kDict, "", "Text")
// clang-format on

namespace nl {
NL_TABLE(String, "string", value, "Every distinct string of the run", NL_STRING_COLUMNS)
}  // namespace nl
