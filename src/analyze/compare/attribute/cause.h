// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cause of a cluster of changes, from what was deleted, inserted and replaced in it.
// Decided by content, never by names of models or traces.
// Thread rule: pure functions.

#include "analyze/compare/attribute/changes.h"
#include "analyze/compare/compare.h"

namespace nl::compare {

// Properties of a changed call, computed once.
struct CallFacts {
  bool fp32 = false, half = false;  // element types of its inputs
  bool cast_to_fp32 = false;        // a copy from 16 bits to fp32
  bool cast = false;                // a copy between any two types
  bool layout_copy = false;         // moves data without changing it
  bool attention = false;           // a fused attention kernel
  bool attention_part = false;      // batched product or softmax
  bool gemm = false;
  std::string copy_kind;    // HtoD, DtoH, DtoD of a copy engine's work
  std::string copy_memory;  // "pageable", "pinned"; "": not recorded or not host memory
};
CallFacts FactsOf(const CallSequence& sequence, uint32_t call);

struct ClusterCause {
  Cause cause = Cause::kNoise;
  std::string detail;  // refines the cause: "HtoD pageable", "allocation"
};
// `layers_changed`: the two models have different numbers of layers.
ClusterCause ClassifyCluster(const CallSequence& a, const CallSequence& b, const Alignment& alignment,
                             const Changes& changes, const Cluster& cluster, bool layers_changed);

}  // namespace nl::compare
