// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `collective`: what a communication op or kernel moved, and between whom.

#include "model/table.h"

// clang-format off
#define NL_COLLECTIVE_COLUMNS(X) \
  X(StringId, owner, kDict, "", "Table of the event: op, kernel or range") \
  X(RowId, owner_id, kDelta, "", "Row of the event in that table") \
  X(StringId, name, kDict, "", "Collective name") \
  X(StringId, dtype, kDict, "", "Element type") \
  X(int64_t, in_elements, kDict, "", "Elements sent") \
  X(int64_t, out_elements, kDict, "", "Elements received") \
  X(int64_t, group_size, kDict, "", "Ranks in the group") \
  X(StringId, group_name, kDict, "", "Process group name") \
  X(StringId, group_description, kDict, "", "Process group description") \
  X(StringId, group_ranks, kDict, "", "Ranks of the group, JSON text") \
  X(StringId, in_split, kDict, "", "Input split sizes, JSON text") \
  X(StringId, out_split, kDict, "", "Output split sizes, JSON text") \
  X(int64_t, rank_start, kDict, "", "First global rank") \
  X(int64_t, rank_stride, kDict, "", "Stride between global ranks") \
  X(int64_t, sequence, kDelta, "", "Sequence number in its group")
// clang-format on

namespace nl {
NL_TABLE(Collective, "collective", owner, "What a communication op or kernel moved, and between whom",
         NL_COLLECTIVE_COLUMNS)
}  // namespace nl
