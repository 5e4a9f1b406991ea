// SPDX-License-Identifier: Apache-2.0
#pragma once
// What trtexec's exports can lack or contradict, and what it means.

#include "base/counter.h"

namespace nl::adapters::tensorrt {

inline constexpr CounterInfo kBadLayer{"bad_layer", Severity::kDataLoss,
                                       "Entry of the layer profile without a name or a usable time",
                                       "Its text is kept in import_log; the layer is missing"};
inline constexpr CounterInfo kBadQuery{"bad_query", Severity::kDataLoss,
                                       "Entry of the query times without usable start and compute time",
                                       "Its text is kept in import_log; the query is missing"};
inline constexpr CounterInfo kLayerWithoutInfo{
    "layer_without_info", Severity::kNotice, "Profiled layer that the layer information does not name",
    "Its formats, precision and tactic are null; export both files from one engine"};
inline constexpr CounterInfo kLayerNotTimed{"layer_not_timed", Severity::kNotice,
                                            "Layer of the layer information that the profile does not time",
                                            "It has no row; export both files from one engine"};
inline constexpr CounterInfo kLayerNamesOnly{
    "layer_names_only", Severity::kNotice, "Layer information that holds names and nothing else",
    "Build the engine with --profilingVerbosity=detailed to have formats, precision and tactics"};
inline constexpr CounterInfo kLayerTimesAveraged{
    "layer_times_are_averages", Severity::kInfo,
    "Layer whose time is the average over the profiled runs; layers are laid end to end in engine order",
    "Sums and shares are exact; gaps, overlap and variation between runs were not recorded"};
inline constexpr CounterInfo kQueriesAsSamples{
    "queries_as_samples", Severity::kInfo,
    "Timed query of another recording than the layer profile; kept as values of counter 'query'",
    "Their percentiles are in the run document; import the times alone to see them as a timeline"};

}  // namespace nl::adapters::tensorrt
