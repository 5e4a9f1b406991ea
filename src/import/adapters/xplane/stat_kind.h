// SPDX-License-Identifier: Apache-2.0
#pragma once
// StatKind: the stats that have a place of their own in a run, by the names XLA's
// profiler gives them (seen in JAX 0.8 and 0.11). All others are kept in args.
// Thread rule: pure function.

#include <cstdint>
#include <string_view>

namespace nl::adapters::xplane {

enum class StatKind : uint8_t {
  kOther,
  kCorrelation,
  kContext,
  kGraph,
  kGraphNode,
  kOccupancy,
  kKernelDetails,
  kMemcpyDetails,
  kMemsetDetails,
  kHloOp,
  kHloModule,
  kProgram,
  kFrameworkOp,    // tf_op
  kFrameworkName,  // name: "jit(f)/dot_general"
  kScopeRange,
  kStepNumber,
  kAddress,
  kAllocationBytes,
  kBytesAllocated,
  kBytesReserved,
  kProducer,
  kProducerType,
  kConsumer,
  kConsumerType,
  kCounterValue,
};

inline StatKind StatKindOf(std::string_view name) {
  struct Known {
    std::string_view name;
    StatKind kind;
  };
  static constexpr Known kKnown[] = {
      {"correlation_id", StatKind::kCorrelation},
      {"context_id", StatKind::kContext},
      {"cuda_graph_id", StatKind::kGraph},
      {"cuda_graph_node_id", StatKind::kGraphNode},
      {"theoretical_occupancy_pct", StatKind::kOccupancy},
      {"kernel_details", StatKind::kKernelDetails},
      {"memcpy_details", StatKind::kMemcpyDetails},
      {"Memset_details", StatKind::kMemsetDetails},
      {"memset_details", StatKind::kMemsetDetails},
      {"hlo_op", StatKind::kHloOp},
      {"hlo_module", StatKind::kHloModule},
      {"program_id", StatKind::kProgram},
      {"tf_op", StatKind::kFrameworkOp},
      {"name", StatKind::kFrameworkName},
      {"scope_range_id", StatKind::kScopeRange},
      {"step_num", StatKind::kStepNumber},
      {"addr", StatKind::kAddress},
      {"allocation_bytes", StatKind::kAllocationBytes},
      {"bytes_allocated", StatKind::kBytesAllocated},
      {"bytes_reserved", StatKind::kBytesReserved},
      {"_p", StatKind::kProducer},
      {"_pt", StatKind::kProducerType},
      {"_c", StatKind::kConsumer},
      {"_ct", StatKind::kConsumerType},
      {"counter_value", StatKind::kCounterValue},
  };
  for (const Known& known : kKnown) {
    if (known.name == name) return known.kind;
  }
  return StatKind::kOther;
}

}  // namespace nl::adapters::xplane
