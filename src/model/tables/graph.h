// SPDX-License-Identifier: Apache-2.0
#pragma once
// Table `graph`: one CUDA graph that launched work.

#include "model/table.h"

// clang-format off
#define NL_GRAPH_COLUMNS(X) \
  X(int64_t, graph_id, kDict, "", "Graph id in the source") \
  X(int32_t, device, kDict, "", "Device index") \
  X(int64_t, launches, kDict, "", "Distinct launches seen") \
  X(int64_t, kernels, kDict, "", "Kernels run by it") \
  X(int64_t, first_start_ns, kDelta, "ns", "First start")
// clang-format on

namespace nl {
NL_TABLE(Graph, "graph", graph_id, "One CUDA graph that launched work", NL_GRAPH_COLUMNS)
}  // namespace nl
