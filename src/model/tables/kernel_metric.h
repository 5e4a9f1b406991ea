// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `kernel_metric`: one value a tool measured of one kernel execution, under the tool's own name.

#include "model/table.h"

// clang-format off
#define NL_KERNEL_METRIC_COLUMNS(X) \
  X(RowId, kernel_id, kDelta, "", "Kernel it was measured of (kernel.id)") \
  X(StringId, section, kDict, "", "Group the tool lists it in") \
  X(StringId, name, kDict, "", "Name as the tool spells it") \
  X(StringId, unit, kDict, "", "Unit of value: ns, byte, Hz and what is built on them are without prefix; others as written") \
  X(double, value, kDict, "", "Value in that unit; null: not measured, or text") \
  X(StringId, text, kDict, "", "What the tool wrote where it is not a number")
// clang-format on

namespace nl {
NL_TABLE(KernelMetric, "kernel_metric", kernel_id,
         "One value a tool measured of one kernel execution, under its own name", NL_KERNEL_METRIC_COLUMNS)
}  // namespace nl
