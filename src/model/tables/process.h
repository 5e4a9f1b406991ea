// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `process`: one process (or device lane group) as the source numbers it.

#include "model/table.h"

// clang-format off
#define NL_PROCESS_COLUMNS(X) \
  X(int64_t, pid, kDict, "", "Process id; null when the source gave text") \
  X(StringId, pid_text, kDict, "", "Process id as text, when it was not a number") \
  X(StringId, name, kDict, "", "Process name") \
  X(StringId, labels, kDict, "", "Label the source shows for it, for example CPU or GPU 0") \
  X(int64_t, sort_index, kDict, "", "Order the source asks for in a timeline") \
  X(int32_t, rank, kDict, "", "Rank in a distributed run")
// clang-format on

namespace nl {
NL_TABLE(Process, "process", pid, "One process (or device lane group) as the source numbers it",
         NL_PROCESS_COLUMNS)
}  // namespace nl
