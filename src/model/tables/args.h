// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `args`: whatever the source said of an event that has no column of its own.

#include "model/table.h"

// clang-format off
#define NL_ARGS_COLUMNS(X) \
  X(StringId, owner, kDict, "", "Table of the event; run for the file header") \
  X(RowId, owner_id, kDelta, "", "Row of the event in that table") \
  X(StringId, key, kDict, "", "Name in the source") \
  X(StringId, value, kDict, "", "Value, JSON text exactly as written")
// clang-format on

namespace nl {
NL_TABLE(Args, "args", owner, "Whatever the source said of an event that has no column of its own",
         NL_ARGS_COLUMNS)
}  // namespace nl
