// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be wrong with single nodes of a Proton tree, and what it means.

#include "base/counter.h"

namespace nl::adapters::proton {

inline constexpr CounterInfo kTotalsOnly{
    "totals_only", Severity::kNotice,
    "Kernel execution of which Proton kept only its part in a total: drawn end to end with the others, each "
    "as long as their mean",
    "Calls, total and mean times are measured; order, idle time, percentiles and host times are not: record "
    "a timeline (torch.profiler, nsys) for those"};
inline constexpr CounterInfo kExecutionsMerged{
    "executions_merged", Severity::kDataLoss,
    "Execution drawn as one row with its neighbours, because the tree counts more than a million",
    "Total times are right, calls are too few; the counts as written are in args"};
inline constexpr CounterInfo kNodeWithoutTime{
    "node_without_time", Severity::kNotice,
    "Leaf of the tree without a time in nanoseconds (a sampling or instrumentation mode, or a custom metric)",
    "Kept in table range without a duration, its metrics in args"};
inline constexpr CounterInfo kBadMetric{"bad_metric", Severity::kDataLoss,
                                        "Count, time or device that is not a number or out of range",
                                        "Treated as not given, the value as written is in args"};
inline constexpr CounterInfo kBadNode{"bad_node", Severity::kDataLoss,
                                      "Element of the tree that is not a node with a frame and its metrics",
                                      "Left out with what is below it; its text is in import_log"};

}  // namespace nl::adapters::proton
